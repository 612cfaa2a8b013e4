// SPDX-License-Identifier: Apache-2.0
// Letters A to Z the other way, whatever the locale; all other bytes stay.
#pragma once

#include <string>
#include <string_view>

namespace headway {

[[nodiscard]] inline std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

[[nodiscard]] inline std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return out;
}

}  // namespace headway
