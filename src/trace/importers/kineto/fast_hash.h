// SPDX-License-Identifier: Apache-2.0
// A quick 64-bit hash of short text, the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace headway::trace::kineto {

[[nodiscard]] inline uint64_t LoadU64(const char* p) {
  uint64_t x = 0;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

[[nodiscard]] inline uint64_t LoadU32(const char* p) {
  uint32_t x = 0;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

// High and low half of the 128-bit product, folded.
[[nodiscard]] inline uint64_t FoldedProduct(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

[[nodiscard]] inline uint64_t FastHash(std::string_view text, uint64_t seed = 0) {
  constexpr uint64_t kA = 0x9E3779B97F4A7C15ULL;
  constexpr uint64_t kB = 0xD6E8FEB86659FD93ULL;
  const char* p = text.data();
  size_t size = text.size();
  uint64_t hash = seed ^ kA;
  for (; size > 16; size -= 16, p += 16) hash = FoldedProduct(LoadU64(p) ^ kB, LoadU64(p + 8) ^ hash);
  uint64_t a = 0;
  uint64_t b = 0;
  if (size >= 8) {
    a = LoadU64(p);
    b = LoadU64(p + size - 8);
  } else if (size >= 4) {
    a = LoadU32(p);
    b = LoadU32(p + size - 4);
  } else if (size > 0) {
    a = static_cast<unsigned char>(p[0]) | static_cast<uint64_t>(static_cast<unsigned char>(p[size / 2])) << 8 |
        static_cast<uint64_t>(static_cast<unsigned char>(p[size - 1])) << 16;
  }
  return FoldedProduct(FoldedProduct(a ^ kB, b ^ hash), kA ^ text.size());
}

}  // namespace headway::trace::kineto
