// SPDX-License-Identifier: Apache-2.0
// What the environment says about the terminal, and writing results to it or to files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace headway::cli {

struct Terminal {
  bool is_terminal = false;  // stdout
  bool colour = false;       // a terminal, and NO_COLOR is not set
  bool ascii = false;        // the locale is not UTF-8
  int width = 100;
};
[[nodiscard]] Terminal ReadTerminal();

// Writes all of `text` to stdout. kIo when that fails (closed pipe, full disk).
[[nodiscard]] Result<void> WriteOut(std::string_view text);

// Prints "headway COMMAND: ERROR" to stderr ("" = no command yet); returns the exit code that fits.
int Fail(std::string_view command, const Error& error);
// A remark on stderr, unless quiet.
void Remark(std::string_view command, std::string_view text, bool quiet);

}  // namespace headway::cli
