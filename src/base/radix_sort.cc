// SPDX-License-Identifier: Apache-2.0
#include "base/radix_sort.h"

#include <array>
#include <utility>

namespace headway {
namespace {

constexpr size_t kFew = 64;  // below this many, counting costs more than inserting
constexpr int kDigitBits = 10;

}  // namespace

uint64_t* RadixSort(uint64_t* words, uint64_t* scratch, size_t count, int low_bit) {
  if (low_bit >= 64 || count < 2) return words;
  if (count < kFew) {
    for (size_t i = 1; i < count; ++i) {
      const uint64_t word = words[i];
      size_t to = i;
      for (; to > 0 && words[to - 1] >> low_bit > word >> low_bit; --to) words[to] = words[to - 1];
      words[to] = word;
    }
    return words;
  }
  const uint64_t first = words[0];
  uint64_t varying = 0;
  for (size_t i = 1; i < count; ++i) varying |= words[i] ^ first;
  const int high_bit = static_cast<int>(std::bit_width(varying));
  const int digits = std::max(0, (high_bit - low_bit + kDigitBits - 1) / kDigitBits);
  if (digits <= 0) return words;
  // Equal digits, as few as reach from the lowest bit to the highest that varies.
  const int bits = (high_bit - low_bit + digits - 1) / digits;
  const size_t buckets = size_t{1} << bits;
  for (int shift = low_bit; shift < high_bit; shift += bits) {
    std::array<uint32_t, size_t{1} << kDigitBits> next;
    std::fill_n(next.begin(), buckets, 0);
    for (size_t i = 0; i < count; ++i) ++next[words[i] >> shift & (buckets - 1)];
    uint32_t sum = 0;
    for (size_t i = 0; i < buckets; ++i) sum += std::exchange(next[i], sum);
    for (size_t i = 0; i < count; ++i) scratch[next[words[i] >> shift & (buckets - 1)]++] = words[i];
    std::swap(words, scratch);
  }
  return words;
}

}  // namespace headway
