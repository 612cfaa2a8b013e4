// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs of rows that lie in a temporary file: a loser tree over buffered readers. Part of SpillSorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/temp_file.h"

namespace headway {

// Bytes [begin, end) of the file, a whole number of rows in order.
struct SortedRun {
  int64_t begin = 0;
  int64_t end = 0;
};

// `KeyOf` gives a uint64_t that never contradicts `Less`; rows of equal keys are compared with Less, equal rows come in
// the order of their runs. Memory: (runs + 1) x block_rows rows.
template <typename T, typename Less, typename KeyOf>
class RunMerger {
 public:
  // `file` must outlive the merger. block_rows >= 1.
  RunMerger(const TempFile* file, std::span<const SortedRun> runs, size_t block_rows, Less less, KeyOf key_of)
      : file_(file), block_rows_(block_rows), less_(less), key_of_(key_of) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>((runs.size() + 1) * block_rows_ * sizeof(T));
    cursors_.reserve(runs.size());
    for (const SortedRun& run : runs) {
      cursors_.push_back(Cursor{.next = run.begin, .end = run.end});
    }
    for (size_t i = 0; i < cursors_.size(); ++i) Refill(i);
    if (!cursors_.empty()) Build();
  }

  // The next rows in order, at most block_rows of them; empty at the end. Valid until the next call.
  [[nodiscard]] Result<std::span<const T>> NextBatch() {
    if (error_) return std::unexpected(*error_);
    if (cursors_.empty()) return std::span<const T>();
    if (cursors_.size() == 1) return NextOfOnlyRun();
    T* out = Block(cursors_.size());
    size_t count = 0;
    while (count < block_rows_) {
      const uint32_t run = winner_.run;
      Cursor& cursor = cursors_[run];
      if (cursor.row == cursor.rows_end) break;  // the best is an ended run: all are
      std::memcpy(static_cast<void*>(out + count), cursor.row, sizeof(T));
      ++count;
      if (++cursor.row == cursor.rows_end) Refill(run);
      winner_.key = KeyOfRun(run);
      Replay();
    }
    if (error_) return std::unexpected(*error_);
    return std::span<const T>(out, count);
  }

 private:
  struct Cursor {
    const T* row = nullptr;
    const T* rows_end = nullptr;
    int64_t next = 0;  // in the file
    int64_t end = 0;
  };
  struct Entry {
    uint64_t key = 0;
    uint32_t run = 0;
  };
  static constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

  T* Block(size_t index) { return reinterpret_cast<T*>(buffer_.get()) + index * block_rows_; }

  void Refill(size_t index) {
    Cursor& cursor = cursors_[index];
    const int64_t block_bytes = static_cast<int64_t>(block_rows_ * sizeof(T));
    const int64_t bytes = cursor.end - cursor.next < block_bytes ? cursor.end - cursor.next : block_bytes;
    T* block = Block(index);
    cursor.row = cursor.rows_end = block;
    if (bytes == 0 || error_) return;
    if (auto read = file_->Read(cursor.next, block, static_cast<size_t>(bytes)); !read) {
      error_ = std::move(read.error());
      return;
    }
    cursor.next += bytes;
    cursor.rows_end = block + static_cast<size_t>(bytes) / sizeof(T);
    if (cursor.next < cursor.end) file_->WillRead(cursor.next, block_bytes);
  }

  Result<std::span<const T>> NextOfOnlyRun() {
    Cursor& cursor = cursors_[0];
    if (cursor.row == cursor.rows_end) Refill(0);
    if (error_) return std::unexpected(*error_);
    return std::span<const T>(std::exchange(cursor.row, cursor.rows_end), cursor.rows_end);
  }

  [[nodiscard]] bool Ended(uint32_t run) const { return cursors_[run].row == cursors_[run].rows_end; }
  [[nodiscard]] uint64_t KeyOfRun(uint32_t run) const { return Ended(run) ? kLast : key_of_(*cursors_[run].row); }

  [[nodiscard]] bool Beats(const Entry& a, const Entry& b) const {
    if (a.key != b.key) return a.key < b.key;
    if (Ended(a.run) || Ended(b.run)) return !Ended(a.run);
    const T& row_a = *cursors_[a.run].row;
    const T& row_b = *cursors_[b.run].row;
    if (less_(row_a, row_b)) return true;
    return !less_(row_b, row_a) && a.run < b.run;
  }

  // Leaves are runs, at losers_ positions size … 2 x size - 1 in thought; inner position i holds the loser of the match
  // there, and the winner goes up.
  void Build() {
    const auto size = static_cast<uint32_t>(cursors_.size());
    losers_.assign(size, Entry{});
    std::vector<Entry> winners(2 * size_t{size});
    for (uint32_t run = 0; run < size; ++run) winners[size + run] = Entry{KeyOfRun(run), run};
    for (uint32_t at = size - 1; at > 0; --at) {
      const Entry& left = winners[2 * at];
      const Entry& right = winners[2 * at + 1];
      const bool left_wins = Beats(left, right);
      winners[at] = left_wins ? left : right;
      losers_[at] = left_wins ? right : left;
    }
    winner_ = winners[1];
  }

  // The winner's row changed: plays its matches again on the way up.
  void Replay() {
    for (uint32_t at = (winner_.run + static_cast<uint32_t>(losers_.size())) / 2; at > 0; at /= 2) {
      if (Beats(losers_[at], winner_)) std::swap(losers_[at], winner_);
    }
  }

  const TempFile* file_;
  size_t block_rows_;
  Less less_;
  KeyOf key_of_;
  std::unique_ptr<std::byte[]> buffer_;  // one block for each run, and one for the output
  std::vector<Cursor> cursors_;
  std::vector<Entry> losers_;
  Entry winner_;
  std::optional<Error> error_;
};

}  // namespace headway
