// SPDX-License-Identifier: Apache-2.0
// Numbers straight from JSON text into int64, digit by digit: a double cannot hold microseconds since 1970 to the ns.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace headway::trace::kineto {

// Reads any decimal number ("-1.5e3", "007", "12.0") times 10^scale, rounded to nearest (half away from zero). False
// when `text` is not a number or the result does not fit into int64. O(length).
[[nodiscard]] bool ParseDecimal(std::string_view text, int scale, int64_t* out);

[[nodiscard]] inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }
[[nodiscard]] inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

struct Digits {
  uint64_t value = 0;
  int count = 0;
};

// Up to eight digits at `p`; reads eight bytes whatever they are.
[[nodiscard]] inline Digits ReadEightDigits(const char* p) {
  static_assert(std::endian::native == std::endian::little, "byte order of the digits");
  uint64_t x = 0;
  std::memcpy(&x, p, sizeof(x));
  x ^= 0x3030303030303030ULL;
  const uint64_t not_digit = ((x + 0x7676767676767676ULL) | x) & 0x8080808080808080ULL;
  const int count = not_digit == 0 ? 8 : std::countr_zero(not_digit) / 8;
  if (count == 0) return {};
  x <<= 64 - 8 * count;  // leading zeros in front of the digits that count
  x = x * 10 + (x >> 8);
  x = (((x & 0x000000FF000000FFULL) * 0x000F424000000064ULL) +
       (((x >> 16) & 0x000000FF000000FFULL) * 0x0000271000000001ULL)) >>
      32;
  return {x & 0xFFFFFFFFULL, count};
}

inline constexpr uint64_t kPowerOfTen[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// The digits at `*p`, at most sixteen; moves `*p` behind them.
[[nodiscard]] inline Digits ReadDigits(const char** p) {
  Digits digits = ReadEightDigits(*p);
  *p += digits.count;
  if (digits.count == 8) {
    const Digits more = ReadEightDigits(*p);
    *p += more.count;
    digits.value = digits.value * kPowerOfTen[more.count] + more.value;
    digits.count += more.count;
  }
  return digits;
}

// What stands where a number belongs. kOther: more digits than the quick way takes, an exponent, a quoted number, NaN.
enum class NumberForm : uint8_t { kPlain, kOther };

// Plain integers of up to 15 digits. On kPlain `*p` stands behind the number; otherwise it is unchanged.
[[nodiscard]] inline NumberForm ReadPlainInteger(const char** p, int64_t* out) {
  const char* q = *p;
  const bool negative = *q == '-';
  q += negative ? 1 : 0;
  const Digits digits = ReadDigits(&q);
  if (digits.count == 0 || digits.count > 15 || *q == '.' || *q == 'e' || *q == 'E') return NumberForm::kOther;
  *out = negative ? -static_cast<int64_t>(digits.value) : static_cast<int64_t>(digits.value);
  *p = q;
  return NumberForm::kPlain;
}

// Microseconds with up to 15 digits before the point and 8 behind, as ns rounded to nearest. `*fraction` is set where
// digits stand behind the point.
[[nodiscard]] inline NumberForm ReadPlainMicros(const char** p, int64_t* nanos, bool* fraction) {
  const char* q = *p;
  const Digits whole = ReadDigits(&q);
  if (whole.count == 0 || whole.count > 15) return NumberForm::kOther;
  uint64_t ns = whole.value * 1000;
  if (*q == '.') {
    ++q;
    const Digits part = ReadEightDigits(q);
    if (part.count == 0) return NumberForm::kOther;
    q += part.count;
    if (part.count <= 3) {
      ns += part.value * kPowerOfTen[3 - part.count];
    } else {
      const uint64_t unit = kPowerOfTen[part.count - 3];
      ns += (part.value + unit / 2) / unit;
    }
    *fraction = true;
  }
  if (IsDigit(*q) || *q == 'e' || *q == 'E') return NumberForm::kOther;
  *nanos = static_cast<int64_t>(ns);
  *p = q;
  return NumberForm::kPlain;
}

}  // namespace headway::trace::kineto
