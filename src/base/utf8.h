// SPDX-License-Identifier: Apache-2.0
// UTF-8 from untrusted sources (Unicode 15, section 3.9). Invalid bytes are replaced by U+FFFD, one for each maximal
// part of a sequence, as browsers do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway {

inline constexpr char32_t kReplacement = 0xfffd;

struct Utf8Step {
  char32_t code = kReplacement;
  uint8_t length = 1;  // bytes consumed, >= 1
  bool valid = false;
};

// The first code point of `text`, which must not be empty.
[[nodiscard]] Utf8Step DecodeUtf8(std::string_view text);

void AppendUtf8(std::string* out, char32_t code);

[[nodiscard]] std::string ToValidUtf8(std::string_view text);

// Columns of a terminal that a code point takes: 0 (combining, zero width, control), 1 or 2 (East Asian wide, emoji).
// Independent of the locale.
[[nodiscard]] int CodePointWidth(char32_t code);

}  // namespace headway
