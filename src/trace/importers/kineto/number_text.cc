// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/number_text.h"

#include <algorithm>
#include <string>

namespace headway::trace::kineto {
namespace {

struct DecimalText {
  bool negative = false;
  std::string digits;    // without leading zeros
  int64_t exponent = 0;  // value = digits x 10^exponent
};

bool Split(std::string_view text, DecimalText* out) {
  size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) out->negative = text[i++] == '-';
  bool any = false;
  bool point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (IsDigit(text[i])) {
      any = true;
      if (point) --out->exponent;
      if (text[i] != '0' || !out->digits.empty()) out->digits += text[i];
    } else {
      break;
    }
  }
  if (!any) return false;
  if (i == text.size()) return true;
  if (text[i] != 'e' && text[i] != 'E') return false;
  if (++i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const bool negative = text[i - 1] == '-';
  if (i == text.size()) return false;
  int64_t exponent = 0;
  for (; i < text.size(); ++i) {
    if (!IsDigit(text[i])) return false;
    exponent = std::min<int64_t>(exponent * 10 + (text[i] - '0'), 1'000'000);
  }
  out->exponent += negative ? -exponent : exponent;
  return true;
}

}  // namespace

bool ParseDecimal(std::string_view text, int scale, int64_t* out) {
  DecimalText number;
  if (!Split(text, &number)) return false;
  *out = 0;
  if (number.digits.empty()) return true;
  const int64_t exponent = number.exponent + scale;
  const auto size = static_cast<int64_t>(number.digits.size());
  if (size + exponent > 19) return false;  // at least 10^19
  if (size + exponent < 0) return true;    // below 0.1
  uint64_t value = 0;
  for (int64_t i = 0; i < size + exponent; ++i) {
    const uint64_t digit = i < size ? static_cast<uint64_t>(number.digits[static_cast<size_t>(i)] - '0') : 0;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return false;
  }
  const int64_t next = size + exponent;  // the first digit left out decides the rounding
  if (next < size && number.digits[static_cast<size_t>(next)] >= '5') ++value;
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
  *out = number.negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return true;
}

}  // namespace headway::trace::kineto
