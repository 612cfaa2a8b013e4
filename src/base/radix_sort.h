// SPDX-License-Identifier: Apache-2.0
// The order of rows by a 64-bit key, found without moving the rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace headway {

// Sorts `count` words by their bits [low_bit, 64), stably; lower bits are carried along. `scratch` has room for
// `count`. Answers which of the two now holds the result. O(count x significant bits / 8).
[[nodiscard]] uint64_t* RadixSort(uint64_t* words, uint64_t* scratch, size_t count, int low_bit);

// Fills `order` with the indices 0 … count - 1 in the order of key_at(index) (uint64_t); where keys are equal,
// less_at(a, b) decides between two indices, and where that says neither, the lower index comes first. `order` and
// `scratch` have room for `count` <= 2^32 words each. Answers which of the two holds the result.
//
// The key relative to the smallest and the index share one word, so that a pass moves 8 bytes a row. Where both need
// more than 64 bits the lowest bits of the key are left to less_at, which must therefore agree with the key.
template <typename KeyAt, typename LessAt>
[[nodiscard]] uint64_t* OrderByKey(size_t count, KeyAt key_at, LessAt less_at, uint64_t* order, uint64_t* scratch) {
  if (count == 0) return order;
  uint64_t low = std::numeric_limits<uint64_t>::max();
  uint64_t high = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = key_at(i);
    low = std::min(low, key);
    high = std::max(high, key);
  }
  const int index_bits = static_cast<int>(std::bit_width(count - 1));
  const int dropped = std::max(0, static_cast<int>(std::bit_width(high - low)) - (64 - index_bits));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = (key_at(i) - low) >> dropped;
    order[i] = index_bits == 0 ? 0 : (key << index_bits | i);
  }
  order = RadixSort(order, scratch, count, index_bits);
  const uint64_t mask = (uint64_t{1} << index_bits) - 1;
  const auto less = [&](uint64_t a, uint64_t b) {
    if (less_at(a, b)) return true;
    return !less_at(b, a) && a < b;
  };
  for (size_t first = 0; first < count;) {
    const uint64_t key = order[first] >> index_bits;
    size_t last = first;
    do {
      order[last] &= mask;
      ++last;
    } while (last < count && order[last] >> index_bits == key);
    if (last - first > 1) std::sort(order + first, order + last, less);
    first = last;
  }
  return order;
}

}  // namespace headway
