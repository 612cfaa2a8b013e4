// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/event_text.h"

#include <charconv>

namespace headway::trace::kineto {
namespace {

// The first four bytes of a short key as one number, so that keys are told apart by one switch.
constexpr uint32_t Key(std::string_view key) {
  uint32_t value = 0;
  for (size_t i = 0; i < key.size() && i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(key[i])) << (8 * i);
  }
  return value;
}

uint32_t KeyOf(std::string_view key) {
  uint32_t value = 0;
  std::memcpy(&value, key.data(), sizeof(value));  // the window is readable past any position
  return key.size() >= 4 ? value : value & ((uint32_t{1} << (8 * key.size())) - 1);
}

bool IsNan(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text == "NaN" || text == "nan" || text == "Infinity" || text == "inf" || text == "Inf" || text == "INF";
}

bool ParseHex(std::string_view text, int64_t* out) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *out = static_cast<int64_t>(value);
  return true;
}

Outcome ReadId(TokenCursor& cursor, const char* value, IdField* id, uint8_t* repairs, const char** after) {
  const char* p = value;
  if (ReadPlainInteger(&p, &id->number) == NumberForm::kPlain) {
    id->form = FieldForm::kGood;
    *after = p;
    return Outcome::kDone;
  }
  if (*value != '"') return ReadNumber(cursor, value, 0, &id->form, &id->number, repairs, after);
  if (value != cursor.At()) return cursor.Stuck(value);
  const std::string_view text = cursor.String(after);
  if (cursor.token > cursor.end) return Outcome::kIncomplete;
  id->form = FieldForm::kGood;
  if (ParseDecimal(text, 0, &id->number)) {
    *repairs |= kSawQuotedNumber;
  } else {
    id->is_text = true;
    id->text = text;
  }
  return Outcome::kDone;
}

Outcome ReadText(TokenCursor& cursor, const char* value, std::string_view* text, const char** after) {
  if (*value != '"' || value != cursor.At()) return cursor.SkipValue(value, after);  // null, a number: no text
  *text = cursor.String(after);
  return cursor.token > cursor.end ? Outcome::kIncomplete : Outcome::kDone;
}

Outcome ReadTime(TokenCursor& cursor, const char* value, FieldForm* form, Nanos* nanos, bool* fraction,
                 uint8_t* repairs, const char** after) {
  const char* p = value;
  if (ReadPlainMicros(&p, nanos, fraction) == NumberForm::kPlain) {
    *form = FieldForm::kGood;
    *after = p;
    return Outcome::kDone;
  }
  return ReadNumber(cursor, value, 3, form, nanos, repairs, after);
}

bool IsFlow(char phase) { return phase == 's' || phase == 't' || phase == 'f'; }

// From inside an object to behind its closing brace.
Outcome SkipRest(TokenCursor& cursor, const char** after) {
  for (;;) {
    const char* p = cursor.At();
    if (*p == '}') {
      ++cursor.token;
      *after = p + 1;
      return Outcome::kDone;
    }
    if (*p == '"') {
      const char* behind = nullptr;
      (void)cursor.String(&behind);
      if (!kMayFollowString[static_cast<unsigned char>(*behind)]) return cursor.Stuck(behind);
    } else {
      const char* behind = nullptr;
      if (const Outcome outcome = cursor.SkipValue(p, &behind); outcome != Outcome::kDone) return outcome;
    }
  }
}

}  // namespace

Outcome ReadNumber(TokenCursor& cursor, const char* value, int scale, FieldForm* form, int64_t* number,
                   uint8_t* repairs, const char** after) {
  std::string_view text;
  if (*value == '"') {
    if (value != cursor.At()) return cursor.Stuck(value);
    text = cursor.String(after);
    if (cursor.token > cursor.end) return Outcome::kIncomplete;
    *repairs |= kSawQuotedNumber;
  } else if (*value == '{' || *value == '[') {
    *form = FieldForm::kBad;
    return cursor.SkipValue(value, after);
  } else {
    *after = TokenCursor::ScalarEnd(value);
    if (*after == value) return cursor.Stuck(value);
    text = {value, static_cast<size_t>(*after - value)};
  }
  const bool good = ParseDecimal(text, scale, number) || (scale == 0 && ParseHex(text, number));
  *form = good ? FieldForm::kGood : FieldForm::kBad;
  if (text == "null") *form = FieldForm::kAbsent;
  if (!good && IsNan(text)) *repairs |= kSawNan;
  return Outcome::kDone;
}

Outcome ReadEvent(TokenCursor& cursor, EventText* event) {
  event->begin = cursor.At();
  bool trailing_comma = false;
  const auto read = [&](const Member& member, const char** after) {
    switch (KeyOf(member.key)) {
      case Key("ph"): {
        std::string_view phase;
        const Outcome outcome = ReadText(cursor, member.value, &phase, after);
        if (outcome == Outcome::kDone && phase.size() == 1) event->phase = phase[0];
        return outcome;
      }
      case Key("cat"): return ReadText(cursor, member.value, &event->category, after);
      case Key("pid"): return ReadId(cursor, member.value, &event->pid, &event->repairs, after);
      case Key("tid"): return ReadId(cursor, member.value, &event->tid, &event->repairs, after);
      case Key("ts"):
        return ReadTime(cursor, member.value, &event->start_form, &event->start, &event->fraction, &event->repairs,
                        after);
      case Key("dur"): {
        bool fraction = false;
        return ReadTime(cursor, member.value, &event->duration_form, &event->duration, &fraction, &event->repairs,
                        after);
      }
      case Key("name"):
        if (member.key.size() != 4) break;
        return ReadText(cursor, member.value, &event->name, after);
      case Key("args"):
        if (member.key.size() != 4) break;
        if (*member.value == '{' && member.value == cursor.At()) event->args = cursor.token;
        break;
      default: break;
    }
    return cursor.SkipValue(member.value, after);
  };
  bool stopped = false;
  const auto read_until_flow = [&](const Member& member, const char** after) {
    stopped = IsFlow(event->phase);  // nothing more of a flow is wanted
    return stopped ? Outcome::kOdd : read(member, after);
  };
  const Outcome outcome = ReadObject(cursor, &trailing_comma, &event->end, read_until_flow);
  if (trailing_comma) event->repairs |= kSawTrailingComma;
  if (stopped) return SkipRest(cursor, &event->end);
  return outcome;
}

}  // namespace headway::trace::kineto
