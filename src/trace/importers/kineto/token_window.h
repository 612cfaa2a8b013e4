// SPDX-License-Identifier: Apache-2.0
// A sliding window over the text with the positions of its structural characters. Holds what was fed and not yet
// consumed: normally a slice of the file, never more than the one element that is being read plus a slice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "trace/importers/kineto/structural_index.h"

namespace headway::trace::kineto {

class TokenWindow {
 public:
  // `slice`: bytes held at least, >= kBlock.
  TokenWindow(ScanFunction scan, size_t slice);

  // Takes as many of `bytes` as there is room for (at least one) and indexes the whole blocks among them; the last,
  // partial block waits for more. Returns how many were taken. Views and positions from before become invalid.
  size_t Fill(std::string_view bytes);
  // No more bytes come: indexes the partial block too, as if spaces followed.
  void FillEnd();

  // Everything before `position` and before token number `token` is done with.
  void Consume(size_t position, size_t token);
  // Indexes anew from `position`, which lies outside any string. Tokens restart at number 0.
  void Restart(size_t position);

  // Bytes [begin, limit) are indexed, [limit, end) are not yet. text()[i] is readable to 64 bytes past any position.
  [[nodiscard]] const char* text() const { return text_.get(); }
  [[nodiscard]] size_t begin() const { return begin_; }
  [[nodiscard]] size_t limit() const { return std::min(limit_, end_); }
  [[nodiscard]] size_t end() const { return end_; }
  // Tokens [token(), token_count()) are unconsumed. Behind the last one stand kSentinels more that point to a zero
  // byte, so that a walker may look a few tokens ahead without counting.
  [[nodiscard]] const uint32_t* tokens() const { return tokens_.get(); }
  [[nodiscard]] size_t token() const { return token_; }
  [[nodiscard]] size_t token_count() const { return token_count_; }
  // Place in the stream of a position in the window.
  [[nodiscard]] int64_t Offset(size_t position) const { return offset_ + static_cast<int64_t>(position); }

  // Bytes within [from, to) that JSON forbids raw inside strings, and whether any is not ASCII.
  struct Oddity {
    bool control = false;
    bool high = false;
  };
  [[nodiscard]] bool HasOdd() const { return odd_head_ < odd_.size(); }
  [[nodiscard]] Oddity OddIn(size_t from, size_t to) const;

  static constexpr size_t kSentinels = 4;

 private:
  void Compact();
  void Reserve(size_t capacity);
  void IndexBlocks(size_t blocks);
  void SetSentinels();

  ScanFunction scan_;
  size_t capacity_ = 0;
  std::unique_ptr<char[]> text_;  // capacity_ bytes and padding of zeros
  size_t begin_ = 0;
  size_t limit_ = 0;  // of the indexed blocks; beyond end_ once the last, partial one is indexed
  size_t end_ = 0;
  int64_t offset_ = 0;  // of text_[0] in the stream
  ScanState state_;
  size_t token_capacity_ = 0;
  std::unique_ptr<uint32_t[]> tokens_;
  size_t token_ = 0;
  size_t token_count_ = 0;
  std::vector<OddBlock> odd_;
  size_t odd_head_ = 0;
};

}  // namespace headway::trace::kineto
