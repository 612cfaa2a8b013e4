// SPDX-License-Identifier: Apache-2.0
// The scan for x86-64 processors with AVX2. Only ScanAvx2 itself is compiled for them; it is chosen at run time.
#include "trace/importers/kineto/structural_index.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "trace/importers/kineto/structural_masks.h"

namespace headway::trace::kineto {
namespace {

#define HEADWAY_AVX2 __attribute__((target("avx2,pclmul,bmi,bmi2,popcnt,lzcnt")))

HEADWAY_AVX2 inline uint64_t Bits(__m256i low, __m256i high) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

HEADWAY_AVX2 uint32_t* ScanAvx2(const char* text, size_t blocks, uint32_t base, ScanState& state, uint32_t* out,
                                std::vector<OddBlock>& odd) {
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  const __m256i open = _mm256_set1_epi8('{');
  const __m256i close = _mm256_set1_epi8('}');
  const __m256i space = _mm256_set1_epi8(0x20);
  const __m128i all_ones = _mm_set1_epi8(static_cast<char>(0xFF));
  ScanState local = state;
  for (size_t i = 0; i < blocks; ++i) {
    const auto* source = reinterpret_cast<const __m256i*>(text + i * kBlock);
    const __m256i a = _mm256_loadu_si256(source);
    const __m256i b = _mm256_loadu_si256(source + 1);
    const __m256i fold_a = _mm256_or_si256(a, space);  // [ and { alike, ] and } alike
    const __m256i fold_b = _mm256_or_si256(b, space);
    BlockMasks masks;
    masks.quote = Bits(_mm256_cmpeq_epi8(a, quote), _mm256_cmpeq_epi8(b, quote));
    masks.backslash = Bits(_mm256_cmpeq_epi8(a, backslash), _mm256_cmpeq_epi8(b, backslash));
    masks.open_close = Bits(_mm256_or_si256(_mm256_cmpeq_epi8(fold_a, open), _mm256_cmpeq_epi8(fold_a, close)),
                            _mm256_or_si256(_mm256_cmpeq_epi8(fold_b, open), _mm256_cmpeq_epi8(fold_b, close)));
    masks.high = Bits(a, b);
    masks.control = Bits(_mm256_cmpgt_epi8(space, a), _mm256_cmpgt_epi8(space, b)) & ~masks.high;
    uint64_t bits = masks.quote;
    if ((masks.backslash | local.escaped) != 0) [[unlikely]]
      bits &= ~EscapedBits(masks.backslash, local.escaped);
    const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)), all_ones, 0);
    const uint64_t in_string = static_cast<uint64_t>(_mm_cvtsi128_si64(product)) ^ local.in_string;
    local.in_string = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
    const uint64_t control = masks.control & in_string;
    const auto position = base + static_cast<uint32_t>(i * kBlock);
    if ((control | masks.high) != 0) [[unlikely]]
      odd.push_back({position, control, masks.high});
    out = WritePositions(out, position, bits | (masks.open_close & ~in_string));
  }
  state = local;
  return out;
}

#undef HEADWAY_AVX2

}  // namespace

ScanFunction Avx2Scan() {
  const bool able = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
                    __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
                    __builtin_cpu_supports("popcnt") != 0;
  return able ? ScanAvx2 : nullptr;
}

}  // namespace headway::trace::kineto

#else

namespace headway::trace::kineto {

ScanFunction Avx2Scan() { return nullptr; }

}  // namespace headway::trace::kineto

#endif
