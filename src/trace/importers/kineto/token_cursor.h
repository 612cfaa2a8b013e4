// SPDX-License-Identifier: Apache-2.0
// Walks JSON by its structural positions (structural_index.h). All in line: this is where the reader's time goes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/importers/kineto/number_text.h"

namespace headway::trace::kineto {

enum class Outcome : uint8_t {
  kDone,
  kIncomplete,  // the text ends before the element does: come again with more
  kOdd,         // not well-formed JSON
};

// What may stand right behind a closing quote of well-formed text.
inline constexpr auto kMayFollowString = [] {
  std::array<bool, 256> table{};
  for (const char c : {':', ',', '}', ']', ' ', '\n', '\r', '\t'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

struct TokenCursor {
  const char* text = nullptr;       // positions count from here
  const uint32_t* token = nullptr;  // the next structural character
  const uint32_t* end = nullptr;    // behind the last; some sentinels that point to a zero byte follow
  size_t limit = 0;                 // text is known up to here

  [[nodiscard]] char Peek() const { return text[*token]; }
  [[nodiscard]] const char* At() const { return text + *token; }

  // Why a walk could not go on at `p`: because the known text ends, or because the text is wrong.
  [[nodiscard]] Outcome Stuck(const char* p) const {
    return token >= end || p >= text + limit ? Outcome::kIncomplete : Outcome::kOdd;
  }

  // At an opening quote: the raw text between the quotes. `*after` is set behind the closing quote.
  [[nodiscard]] std::string_view String(const char** after) {
    const char* open = text + token[0];
    const char* close = text + token[1];
    token += 2;
    *after = close + 1;
    return {open + 1, static_cast<size_t>(close - open - 1)};
  }

  // At { or [: moves behind its end and sets `*after` there. Checks nothing but nesting and what follows each string.
  [[nodiscard]] Outcome SkipContainer(const char** after) {
    int depth = 0;
    for (;;) {
      const char* p = text + *token;
      switch (*p) {
        case '"': {
          const char* behind = text + token[1] + 1;
          token += 2;
          if (!kMayFollowString[static_cast<unsigned char>(*behind)]) return Stuck(behind);
          break;
        }
        case '{':
        case '[':
          ++token;
          ++depth;
          break;
        case '}':
        case ']':
          ++token;
          if (--depth == 0) {
            *after = p + 1;
            return Outcome::kDone;
          }
          break;
        default: return Stuck(p);
      }
    }
  }

  // Scalars end where JSON says; the caller checks what comes then.
  [[nodiscard]] static const char* ScalarEnd(const char* p) {
    while (*p != ',' && *p != '}' && *p != ']' && !IsSpace(*p) && *p != '\0' && *p != '"') ++p;
    return p;
  }

  [[nodiscard]] static const char* SkipSpace(const char* p) {
    while (IsSpace(*p)) ++p;
    return p;
  }

  // Any value that starts at `p`, not a structural character unless `token` stands on it.
  [[nodiscard]] Outcome SkipValue(const char* p, const char** after) {
    if (*p == '{' || *p == '[') {
      if (p != At()) return Stuck(p);
      return SkipContainer(after);
    }
    if (*p == '"') {
      if (p != At()) return Stuck(p);
      (void)String(after);
      return Outcome::kDone;
    }
    *after = ScalarEnd(p);
    return *after == p ? Stuck(p) : Outcome::kDone;
  }
};

// One member of an object.
struct Member {
  std::string_view key;
  const char* value = nullptr;  // first character of the value
};

// Reads the members of the object whose opening brace `cursor` stands on. `read` is called with (Member, const char**
// after) for each, must move the cursor's token behind the value, set *after, and say kDone; anything else ends the
// walk.
// `*trailing_comma` is set where a comma stands before the closing brace; `*after` is set behind that brace.
template <typename Read>
[[gnu::always_inline]] inline Outcome ReadObject(TokenCursor& cursor, bool* trailing_comma, const char** after,
                                                 Read&& read) {
  ++cursor.token;
  if (cursor.Peek() == '}') {
    *after = cursor.At() + 1;
    ++cursor.token;
    return Outcome::kDone;
  }
  for (;;) {
    if (cursor.Peek() != '"') return cursor.Stuck(cursor.At());
    Member member;
    const char* p = nullptr;
    member.key = cursor.String(&p);
    if (*p != ':') {
      p = TokenCursor::SkipSpace(p);
      if (*p != ':') return cursor.Stuck(p);
    }
    ++p;
    if (*p == ' ') ++p;
    member.value = TokenCursor::SkipSpace(p);
    if (const Outcome outcome = read(member, &p); outcome != Outcome::kDone) return outcome;
    p = TokenCursor::SkipSpace(p);
    if (*p == ',') {
      if (cursor.Peek() != '}') continue;
      *trailing_comma = true;
    } else if (*p != '}' || p != cursor.At()) {
      return cursor.Stuck(p);
    }
    *after = cursor.At() + 1;
    ++cursor.token;
    return Outcome::kDone;
  }
}

// Reads the elements of the list whose opening bracket `cursor` stands on; `read` as above, but called with the first
// character of each element.
template <typename Read>
inline Outcome ReadList(TokenCursor& cursor, const char** after, Read&& read) {
  const char* p = TokenCursor::SkipSpace(cursor.At() + 1);
  ++cursor.token;
  while (*p != ']') {
    if (const Outcome outcome = read(p, &p); outcome != Outcome::kDone) return outcome;
    p = TokenCursor::SkipSpace(p);
    if (*p == ',') {
      p = TokenCursor::SkipSpace(p + 1);
    } else if (*p != ']') {
      return cursor.Stuck(p);
    }
  }
  if (p != cursor.At()) return cursor.Stuck(p);
  *after = p + 1;
  ++cursor.token;
  return Outcome::kDone;
}

}  // namespace headway::trace::kineto
