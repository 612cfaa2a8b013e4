// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/command.h"

namespace headway::cli {

namespace {

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != std::string_view::npos || text.find("utf8") != std::string_view::npos ||
           text.find("UTF8") != std::string_view::npos;
  }
  return true;  // nothing said (containers): today's terminals show UTF-8
}

}  // namespace

Terminal ReadTerminal() {
  Terminal out;
  out.is_terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  out.colour = out.is_terminal && (no_colour == nullptr || *no_colour == '\0');
  out.ascii = !LocaleIsUtf8();
  winsize size{};
  if (out.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) out.width = size.ws_col;
  return out;
}

Result<void> WriteOut(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return MakeError(ErrorCode::kIo, std::string("could not write the result: ") + std::strerror(errno),
                       "standard output");
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

int Fail(std::string_view command, const Error& error) {
  const std::string text = Printable(error.ToString());
  const std::string who = command.empty() ? "headway" : "headway " + std::string(command);
  std::fprintf(stderr, "%s: %s\n", who.c_str(), text.c_str());
  return error.code == ErrorCode::kInvalidArgument ? kUsage : kBadInput;
}

void Remark(std::string_view command, std::string_view text, bool quiet) {
  if (quiet) return;
  std::fprintf(stderr, "headway %.*s: %s\n", static_cast<int>(command.size()), command.data(), Printable(text).c_str());
}

}  // namespace headway::cli
