// SPDX-License-Identifier: Apache-2.0
// Finds where the next event begins without trusting any quote before it: a closing brace, a comma, an opening brace
// and a key that events have. How the reader comes back after a damaged event, whose own quotes lie.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::trace::kineto {

// "ph", "cat", …
[[nodiscard]] bool IsEventKey(std::string_view key);

class BoundaryScan {
 public:
  // `offset`: place of the first byte that Feed will get.
  explicit BoundaryScan(int64_t offset = 0) : offset_(offset) {}

  // Looks at more bytes. True once a boundary is known.
  bool Feed(std::string_view bytes);
  [[nodiscard]] bool found() const { return found_; }
  // Offset of the closing brace in front of the boundary.
  [[nodiscard]] int64_t brace() const { return brace_; }
  // While none is known: where the brace of the next boundary can be at the earliest.
  [[nodiscard]] int64_t earliest_brace() const { return state_ == State::kText ? offset_ : brace_; }
  // Where Feed goes on.
  [[nodiscard]] int64_t offset() const { return offset_; }

 private:
  enum class State : uint8_t {
    kText,
    kBrace,
    kComma,
    kOpen,
    kEventKey,
    kEventColon,
    kBracket,
    kListComma,
    kListKey,
    kListColon
  };
  void Step(char c);

  State state_ = State::kText;
  bool found_ = false;
  int64_t offset_ = 0;
  int64_t brace_ = -1;
  std::string key_;
};

}  // namespace headway::trace::kineto
