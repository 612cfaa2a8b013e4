// SPDX-License-Identifier: Apache-2.0
// The part of the structural scan that is the same for every instruction set: from one 64-bit mask per character class
// to positions. Included only by the scan's own translation units, which compile it for their instruction set.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "trace/importers/kineto/structural_index.h"

namespace headway::trace::kineto {

struct BlockMasks {
  uint64_t quote = 0;
  uint64_t backslash = 0;
  uint64_t open_close = 0;  // { } [ ]
  uint64_t control = 0;     // below 0x20
  uint64_t high = 0;        // not ASCII
};

// Bits of characters that a backslash escapes. The carry says whether the next block starts escaped.
[[gnu::always_inline]] inline uint64_t EscapedBits(uint64_t backslash, uint64_t& carry) {
  // After simdjson: a run of backslashes escapes what follows it when its length is odd, told by whether it starts and
  // ends on bits of equal parity.
  backslash &= ~carry;
  const uint64_t follows_escape = backslash << 1 | carry;
  constexpr uint64_t kEven = 0x5555555555555555ULL;
  const uint64_t odd_starts = backslash & ~kEven & ~follows_escape;
  uint64_t sum = 0;
  carry = __builtin_add_overflow(odd_starts, backslash, &sum) ? 1 : 0;
  return (kEven ^ (sum << 1)) & follows_escape;
}

[[gnu::always_inline]] inline uint32_t* WritePositions(uint32_t* out, uint32_t base, uint64_t bits) {
  const int count = std::popcount(bits);
  for (int i = 0; i < 8; ++i) {
    out[i] = base + static_cast<uint32_t>(std::countr_zero(bits));
    bits &= bits - 1;
  }
  if (count > 8) [[unlikely]] {
    for (int i = 8; i < count; ++i) {
      out[i] = base + static_cast<uint32_t>(std::countr_zero(bits));
      bits &= bits - 1;
    }
  }
  return out + count;
}

// PrefixXor: bit i of the result = parity of bits 0..i of the argument.
template <typename PrefixXor>
[[gnu::always_inline]] inline uint32_t* FinishBlock(const BlockMasks& masks, uint32_t position, ScanState& state,
                                                    uint32_t* out, std::vector<OddBlock>& odd, PrefixXor prefix_xor) {
  uint64_t quote = masks.quote;
  if ((masks.backslash | state.escaped) != 0) [[unlikely]]
    quote &= ~EscapedBits(masks.backslash, state.escaped);
  const uint64_t in_string = prefix_xor(quote) ^ state.in_string;  // opening quotes in, closing quotes out
  state.in_string = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
  const uint64_t control = masks.control & in_string;
  if ((control | masks.high) != 0) [[unlikely]]
    odd.push_back({position, control, masks.high});
  return WritePositions(out, position, quote | (masks.open_close & ~in_string));
}

}  // namespace headway::trace::kineto
