// SPDX-License-Identifier: Apache-2.0
// Finds the characters that give JSON text its shape, 64 bytes at a time: quotes that open or close a string, and
// braces and brackets outside strings. Everything that follows walks this short list of positions instead of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway::trace::kineto {

inline constexpr size_t kBlock = 64;

// What one block hands to the next.
struct ScanState {
  uint64_t in_string = 0;  // all ones: the block begins inside a string
  uint64_t escaped = 0;    // 1: the block's first byte follows an odd run of backslashes
};

// A block with bytes that JSON does not allow raw, or whose UTF-8 has to be checked. Rare.
struct OddBlock {
  int64_t position = 0;  // signed: a window that moves on may begin inside a block
  uint64_t control = 0;  // bit i: byte position + i is below 0x20 and inside a string
  uint64_t high = 0;     // bit i: byte position + i is not ASCII
};

// Scans `blocks` whole blocks of `text`; positions in the results start at `base`. Writes at most 64 entries a block to
// `out` and may scribble over 8 more. Returns the new end of `out`.
using ScanFunction = uint32_t* (*)(const char* text, size_t blocks, uint32_t base, ScanState& state, uint32_t* out,
                                   std::vector<OddBlock>& odd);

[[nodiscard]] uint32_t* ScanPortable(const char* text, size_t blocks, uint32_t base, ScanState& state, uint32_t* out,
                                     std::vector<OddBlock>& odd);
// Only on a processor with AVX2, BMI and PCLMULQDQ; nullptr where this build has none of it.
[[nodiscard]] ScanFunction Avx2Scan();
// The fastest scan this processor can run. All give the same results.
[[nodiscard]] ScanFunction BestScan();

}  // namespace headway::trace::kineto
