// SPDX-License-Identifier: Apache-2.0
// Sorts any number of rows in bounded memory: what does not fit goes to a nameless temporary file.
//
// Made for rows that come nearly in order, as traces do. A full buffer is sorted and its last quarter is not written,
// so that rows up to a quarter of the buffer late still find their place in the same run on disk; a file whose rows are
// never later than that becomes one run, which is read back without merging. Rows that come too late start another run
// (one for each thread or stream that the file lists one after the other); runs are merged at the end, in several
// passes where there are so many that their read buffers would exceed the memory.
//
//   SpillSorter<Event, EarlierEvent> sorter({.memory = 8 << 20});
//   for (…) sorter.Add(event);
//   if (auto done = sorter.Finish(); !done) return …;
//   auto done = sorter.ForEach([&](const Event& event) { … });
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/radix_sort.h"
#include "base/result.h"
#include "base/run_merger.h"
#include "base/temp_file.h"

namespace headway {

struct SpillOptions {
  size_t memory = size_t{8} << 20;  // bytes for everything the sorter holds
  std::string folder;               // for the temporary file; empty = $TMPDIR, else /tmp
};

// What the sorting cost, for logs and tests.
struct SpillStats {
  int64_t rows = 0;
  int64_t bytes_spilled = 0;  // written to disk, merge passes included; 0 = all was done in memory
  int64_t runs = 0;           // on disk before merging
  int64_t merge_passes = 0;   // that wrote merged runs back to disk
};

// A total order over T (a(row, row) -> bool). Rows that it calls equal may come out in any order, so for reproducible
// output no two rows should be. Sorting is several times faster where Less has a member Key(row), or T one called
// Key(), that gives a 64-bit integer (int64_t or uint64_t) which never contradicts the order: Key(a) < Key(b) =>
// Less(a, b).
template <typename T, typename Less>
  requires std::is_trivially_copyable_v<T>
class SpillSorter {
 public:
  explicit SpillSorter(SpillOptions options = {}, Less less = {}) : options_(std::move(options)), less_(less) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    // A row takes its own size and two words of the sort.
    capacity_ = std::max<size_t>((options_.memory - WriteBytes()) / (sizeof(T) + 2 * sizeof(uint64_t)), kLeastRows);
    HEADWAY_CHECK(capacity_ <= uint32_t(-1));
    rows_memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ * sizeof(T));
    rows_ = reinterpret_cast<T*>(rows_memory_.get());
  }
  SpillSorter(SpillSorter&&) noexcept = default;
  SpillSorter& operator=(SpillSorter&&) noexcept = default;

  // Takes a row. A failure of the disk is kept for Finish() and shows in ok(); rows after it are dropped.
  void Add(const T& row) {
    if (size_ == capacity_) [[unlikely]] {
      MakeRoom();
    }
    in_order_ = in_order_ && (size_ == 0 || !less_(row, rows_[size_ - 1]));
    ::new (static_cast<void*>(rows_ + size_)) T(row);
    ++size_;
    ++stats_.rows;
  }
  [[nodiscard]] bool ok() const { return !error_; }

  // No more rows. After it they can be read, once or (with Rewind) several times.
  [[nodiscard]] Result<void> Finish() {
    HEADWAY_CHECK(!finished_);
    finished_ = true;
    Sort();
    if (!error_ && file_ != nullptr) {
      FlushAll();
      while (!error_ && runs_.size() > FanIn()) MergeSome();
    }
    return Rewind();
  }

  // The next rows in order; empty at the end. Valid until the next call.
  [[nodiscard]] Result<std::span<const T>> NextBatch() {
    HEADWAY_CHECK(finished_);
    if (error_) return std::unexpected(*error_);
    if (merger_) return merger_->NextBatch();
    if (in_order_) return std::span<const T>(rows_ + std::exchange(read_, size_), rows_ + size_);
    const size_t count = std::min(size_ - read_, WriteRows());
    T* out = WriteBuffer();
    for (size_t i = 0; i < count; ++i) Place(out + i, read_ + i);
    read_ += count;
    return std::span<const T>(out, count);
  }

  // Calls work(row) for every row, in order, from where reading stands.
  template <typename Work>
  [[nodiscard]] Result<void> ForEach(Work work) {
    while (true) {
      const auto batch = NextBatch();
      if (!batch) return std::unexpected(batch.error());
      if (batch->empty()) return {};
      for (const T& row : *batch) work(row);
    }
  }

  // Reading begins anew.
  [[nodiscard]] Result<void> Rewind() {
    HEADWAY_CHECK(finished_);
    if (error_) return std::unexpected(*error_);
    read_ = 0;
    if (file_ != nullptr) {
      const std::vector<SortedRun> runs(runs_.begin(), runs_.end());
      merger_.reset();
      merger_ =
          std::make_unique<RunMerger<T, Less, KeyOf>>(file_.get(), runs, BlockRows(runs.size()), less_, KeyOf{less_});
    }
    return {};
  }

  [[nodiscard]] const SpillStats& stats() const { return stats_; }

 private:
  static constexpr size_t kLeastRows = 16;

  struct KeyOf {
    Less less;
    uint64_t operator()(const T& row) const {
      if constexpr (requires { less.Key(row); }) {
        return Ordered(less.Key(row));
      } else if constexpr (requires { row.Key(); }) {
        return Ordered(row.Key());
      } else {
        return 0;  // all equal: Less decides everything
      }
    }
    template <std::integral Key>
    static uint64_t Ordered(Key key) {
      static_assert(sizeof(Key) == 8);
      return std::is_signed_v<Key> ? static_cast<uint64_t>(key) ^ (uint64_t{1} << 63) : static_cast<uint64_t>(key);
    }
  };

  // The buffer through which sorted rows leave: a thirty-second of the memory, at most 256 KB.
  [[nodiscard]] size_t WriteRows() const {
    return std::max<size_t>(std::min(options_.memory / 32, size_t{256} << 10) / sizeof(T), 4);
  }
  [[nodiscard]] size_t WriteBytes() const { return std::min(WriteRows() * sizeof(T), options_.memory); }
  T* WriteBuffer() {
    if (!write_memory_) write_memory_ = std::make_unique_for_overwrite<std::byte[]>(WriteRows() * sizeof(T));
    return reinterpret_cast<T*>(write_memory_.get());
  }

  // Runs merged at once: each needs a block of at least 1/64 of the memory.
  [[nodiscard]] size_t FanIn() const { return std::max<size_t>(options_.memory / (BlockRows(62) * sizeof(T)) - 1, 2); }
  [[nodiscard]] size_t BlockRows(size_t runs) const {
    const size_t bytes = std::min(options_.memory / (runs + 1), size_t{1} << 20);
    return std::max<size_t>(bytes / sizeof(T), 4);
  }

  // Copies the row at place `position` of the sorted order.
  void Place(T* to, size_t position) const {
    std::memcpy(static_cast<void*>(to), rows_ + (in_order_ ? position : order_[position]), sizeof(T));
  }
  [[nodiscard]] const T& Sorted(size_t position) const { return rows_[in_order_ ? position : order_[position]]; }

  // Finds the order of the buffered rows; leaves them where they are.
  void Sort() {
    if (in_order_) return;
    if (!words_) words_ = std::make_unique_for_overwrite<uint64_t[]>(2 * capacity_);
    const KeyOf key_of{less_};
    order_ = OrderByKey(
        size_, [&](size_t i) { return key_of(rows_[i]); },
        [&](size_t a, size_t b) { return less_(rows_[a], rows_[b]); }, words_.get(), words_.get() + capacity_);
  }

  // So many rows stay in the buffer when it is full: that much late a row may come.
  [[nodiscard]] size_t Kept() const { return capacity_ / 4; }

  // The buffer is full: writes most of it.
  void MakeRoom() {
    if (error_) {
      Clear();
      return;
    }
    Sort();
    const size_t late = CountLate();
    if (late == 0) {
      Write(0, size_ - Kept());
      Keep(size_ - Kept(), size_);
    } else {
      // Those not late end the current run; the late ones begin the next.
      Write(late, size_);
      run_open_ = false;
      Keep(0, late);
      if (size_ > Kept()) {
        Sort();
        Write(0, size_ - Kept());
        Keep(size_ - Kept(), size_);
      }
    }
    if (error_) Clear();
  }

  void Clear() {
    size_ = 0;
    in_order_ = true;
  }

  void FlushAll() {
    const size_t late = CountLate();
    Write(late, size_);
    if (late > 0) {
      run_open_ = false;
      Write(0, late);
    }
    rows_memory_.reset();
    words_.reset();
    write_memory_.reset();
    rows_ = nullptr;
    size_ = 0;
  }

  // Sorted rows that belong before the last row of the open run.
  [[nodiscard]] size_t CountLate() const {
    if (!run_open_) return 0;
    size_t low = 0;
    size_t high = size_;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (less_(Sorted(middle), last_written_.value())) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Appends sorted rows [first, last) to the open run, or begins one.
  void Write(size_t first, size_t last) {
    if (first == last || error_) return;
    if (file_ == nullptr) {
      auto file = TempFile::Create(options_.folder);
      if (!file) {
        error_ = std::move(file.error());
        return;
      }
      file_ = std::make_unique<TempFile>(std::move(*file));
    }
    if (!run_open_) {
      runs_.push_back(SortedRun{.begin = file_->size(), .end = file_->size()});
      ++stats_.runs;
      run_open_ = true;
    }
    last_written_ = Sorted(last - 1);
    if (in_order_) {
      Append(rows_ + first, last - first);
    } else {
      T* out = WriteBuffer();
      for (size_t at = first; at < last && !error_;) {
        const size_t count = std::min(last - at, WriteRows());
        for (size_t i = 0; i < count; ++i) Place(out + i, at + i);
        Append(out, count);
        at += count;
      }
    }
    runs_.back().end = file_->size();
  }

  void Append(const T* rows, size_t count) {
    if (auto done = file_->Append(rows, count * sizeof(T)); !done) error_ = std::move(done.error());
    stats_.bytes_spilled += static_cast<int64_t>(count * sizeof(T));
  }

  // Keeps the sorted rows [first, last) in the buffer and forgets the others. They stay in the order they came in.
  void Keep(size_t first, size_t last) {
    if (in_order_) {
      std::memmove(static_cast<void*>(rows_), rows_ + first, (last - first) * sizeof(T));
    } else {
      // Marks in the sort's spare words, one bit a row, so that rows only ever move down.
      uint64_t* marks = order_ == words_.get() ? words_.get() + capacity_ : words_.get();
      std::fill_n(marks, size_ / 64 + 1, 0);
      for (size_t i = first; i < last; ++i) marks[order_[i] / 64] |= uint64_t{1} << (order_[i] % 64);
      size_t to = 0;
      for (size_t word = 0; word <= size_ / 64; ++word) {
        for (uint64_t left = marks[word]; left != 0; left &= left - 1, ++to) {
          const size_t from = word * 64 + static_cast<size_t>(std::countr_zero(left));
          if (from != to) std::memcpy(static_cast<void*>(rows_ + to), rows_ + from, sizeof(T));
        }
      }
    }
    size_ = last - first;
  }

  // Merges the oldest runs into a new one at the end of the file: as many as needed to get down to FanIn(), at most
  // that many.
  void MergeSome() {
    const size_t count = std::min(FanIn(), runs_.size() - FanIn() + 1);
    const std::vector<SortedRun> merged(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(count));
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(count));
    RunMerger<T, Less, KeyOf> merger(file_.get(), merged, BlockRows(count), less_, KeyOf{less_});
    SortedRun result{.begin = file_->size(), .end = 0};
    while (!error_) {
      const auto batch = merger.NextBatch();
      if (!batch) {
        error_ = batch.error();
      } else if (batch->empty()) {
        break;
      } else {
        Append(batch->data(), batch->size());
      }
    }
    for (const SortedRun& run : merged) file_->Forget(run.begin, run.end - run.begin);
    result.end = file_->size();
    runs_.push_back(result);
    ++stats_.merge_passes;
  }

  SpillOptions options_;
  Less less_;
  size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> rows_memory_;
  T* rows_ = nullptr;
  size_t size_ = 0;
  bool in_order_ = true;  // the buffered rows came in order: order_ is not used
  std::unique_ptr<uint64_t[]> words_;
  uint64_t* order_ = nullptr;  // into words_
  std::unique_ptr<std::byte[]> write_memory_;

  std::unique_ptr<TempFile> file_;
  std::deque<SortedRun> runs_;
  bool run_open_ = false;  // the last run may still grow
  std::optional<T> last_written_;

  bool finished_ = false;
  size_t read_ = 0;  // rows given out, where all is in memory
  std::unique_ptr<RunMerger<T, Less, KeyOf>> merger_;
  std::optional<Error> error_;
  SpillStats stats_;
};

}  // namespace headway
