// SPDX-License-Identifier: Apache-2.0
// The portable scan: eight bytes at a time in ordinary registers.
#include "trace/importers/kineto/structural_index.h"

#include <cstring>

#include "trace/importers/kineto/structural_masks.h"

namespace headway::trace::kineto {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101ULL;
constexpr uint64_t kHighBits = 0x8080808080808080ULL;

// High bit of each byte that is zero. Exact: no carry between bytes.
uint64_t ZeroBytes(uint64_t x) { return ~(((x & ~kHighBits) + ~kHighBits) | x | ~kHighBits); }

uint64_t EqualBytes(uint64_t x, unsigned char c) { return ZeroBytes(x ^ (kOnes * c)); }

// One bit per byte from its high bit, byte 0 lowest.
uint64_t Gather(uint64_t high_bits) { return ((high_bits >> 7) * 0x0102040810204080ULL) >> 56; }

uint64_t PrefixXor(uint64_t x) {
  for (int shift = 1; shift < 64; shift *= 2) x ^= x << shift;
  return x;
}

uint64_t LoadLittleEndian(const char* text) {
  uint64_t x = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&x, text, sizeof(x));
  } else {
    for (int i = 7; i >= 0; --i) x = x << 8 | static_cast<unsigned char>(text[i]);
  }
  return x;
}

BlockMasks Masks(const char* text) {
  BlockMasks masks;
  for (int i = 0; i < 8; ++i) {
    const uint64_t x = LoadLittleEndian(text + 8 * i);
    const uint64_t folded = x | kOnes * 0x20;  // [ and { alike, ] and } alike
    const int shift = 8 * i;
    masks.quote |= Gather(EqualBytes(x, '"')) << shift;
    masks.backslash |= Gather(EqualBytes(x, '\\')) << shift;
    masks.open_close |= Gather(EqualBytes(folded, '{') | EqualBytes(folded, '}')) << shift;
    masks.control |= Gather(ZeroBytes(x & (kOnes * 0xE0))) << shift;
    masks.high |= Gather(x & kHighBits) << shift;
  }
  return masks;
}

}  // namespace

uint32_t* ScanPortable(const char* text, size_t blocks, uint32_t base, ScanState& state, uint32_t* out,
                       std::vector<OddBlock>& odd) {
  for (size_t i = 0; i < blocks; ++i) {
    out = FinishBlock(Masks(text + i * kBlock), base + static_cast<uint32_t>(i * kBlock), state, out, odd, PrefixXor);
  }
  return out;
}

ScanFunction BestScan() {
  const ScanFunction avx2 = Avx2Scan();
  return avx2 != nullptr ? avx2 : ScanPortable;
}

}  // namespace headway::trace::kineto
