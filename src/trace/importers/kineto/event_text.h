// SPDX-License-Identifier: Apache-2.0
// One element of traceEvents as it stands in the text: fields found, numbers read, nothing interpreted yet.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "trace/importers/kineto/token_cursor.h"

namespace headway::trace::kineto {

enum class FieldForm : uint8_t {
  kAbsent,
  kGood,
  kBad,  // there, but no usable number (NaN, a word, out of range)
};

// pid, tid: a number, or a text such as "stream 7", "Spans".
struct IdField {
  FieldForm form = FieldForm::kAbsent;
  bool is_text = false;
  int64_t number = 0;
  std::string_view text;  // raw, where is_text
};

// Repairs seen on the way, one bit each.
inline constexpr uint8_t kSawQuotedNumber = 1;
inline constexpr uint8_t kSawNan = 2;
inline constexpr uint8_t kSawTrailingComma = 4;

struct EventText {
  char phase = 0;  // '\0' = absent
  FieldForm start_form = FieldForm::kAbsent;
  FieldForm duration_form = FieldForm::kAbsent;
  bool fraction = false;  // ts has digits behind the point
  uint8_t repairs = 0;
  std::string_view category;  // raw text between the quotes, here and below
  std::string_view name;
  IdField pid;
  IdField tid;
  Nanos start = 0;                 // ts, ns
  Nanos duration = 0;              // dur, ns
  const uint32_t* args = nullptr;  // token of the opening brace of args; nullptr = none
  const char* begin = nullptr;
  const char* end = nullptr;  // behind the closing brace
};

// Reads the event whose opening brace `cursor` stands on and moves behind it. Flow events ("s", "t", "f") are skipped
// from the point where they are known to be such. No side effects before kDone.
[[nodiscard]] Outcome ReadEvent(TokenCursor& cursor, EventText* event);

// A number wherever it may hide: plain, with exponent, quoted ("12", "0x7"), as int64 times 10^scale. Moves the cursor
// behind the value.
[[nodiscard]] Outcome ReadNumber(TokenCursor& cursor, const char* value, int scale, FieldForm* form, int64_t* number,
                                 uint8_t* repairs, const char** after);

}  // namespace headway::trace::kineto
