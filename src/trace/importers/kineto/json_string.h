// SPDX-License-Identifier: Apache-2.0
// The inside of JSON strings made into clean text.
#pragma once

#include <string>
#include <string_view>

namespace headway::trace::kineto {

struct CleanText {
  std::string text;         // valid UTF-8 without control characters
  bool bad_escape = false;  // "\U" of a Windows path, kept as it stands; half of a surrogate pair
  bool bad_utf8 = false;    // replaced by U+FFFD
  bool control = false;     // a raw control character, replaced by a space
};

// `raw` is what stands between the quotes. Escaped control characters ("\n") become spaces too: names go on one line.
[[nodiscard]] CleanText CleanString(std::string_view raw);

[[nodiscard]] bool IsValidUtf8(std::string_view text);
// At most `longest` bytes of valid UTF-8, no sequence cut in two.
[[nodiscard]] std::string_view Utf8Prefix(std::string_view text, size_t longest);

}  // namespace headway::trace::kineto
