// SPDX-License-Identifier: Apache-2.0
// Rewrites damaged JSON as well-formed JSON, guessing what the writer meant. For the rare element that cannot be read
// as it stands; the result goes through the same decoder as everything else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headway::trace::kineto {

struct Repair {
  std::string json;       // well-formed
  bool complete = false;  // the value ended before the text did
  size_t consumed = 0;    // bytes of the text up to that end
  // What was done, each at least once.
  bool unescaped_quote = false;
  bool missing_quote = false;
  bool bad_escape = false;
  bool control = false;
  bool nan = false;          // NaN, inf, … written as null
  bool bad_literal = false;  // something else where a value belongs, written as null
  bool trailing_comma = false;
  bool missing_comma = false;
};

// `text` starts with { or [. O(length), depth bounded. A quote closes a string only where what follows fits: so quotes
// inside names survive. A string that runs over the end of its line before the next member has lost its quote.
[[nodiscard]] Repair RepairJson(std::string_view text);

}  // namespace headway::trace::kineto
