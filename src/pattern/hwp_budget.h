// SPDX-License-Identifier: Apache-2.0
// How much memory a section of a .hwp file may ask for, as a multiple of its size in the file: a file of a megabyte can
// fill some hundred megabytes, never all memory, whatever counts it claims.
#pragma once

#include <cstdint>

namespace headway::pattern::hwp {

class DecodeBudget {
 public:
  // Decoded bytes that `stored` bytes justify. A real rank needs about 13 times its size; a writer whose section would
  // need more than this (all columns constant) pads it.
  [[nodiscard]] static constexpr uint64_t Allowed(uint64_t stored) { return 65536 + 256 * stored; }

  explicit DecodeBudget(uint64_t allowed) : left_(allowed) {}

  // False, from then on always, where `count` times `size` bytes are more than what is left.
  [[nodiscard]] bool Take(uint64_t count, uint64_t size = 1) {
    if (count > left_ / size) left_ = 0, exceeded_ = true;
    if (exceeded_) return false;
    left_ -= count * size;
    return true;
  }
  [[nodiscard]] bool exceeded() const { return exceeded_; }
  [[nodiscard]] uint64_t left() const { return left_; }

 private:
  uint64_t left_;
  bool exceeded_ = false;
};

}  // namespace headway::pattern::hwp
