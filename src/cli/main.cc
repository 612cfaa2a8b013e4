// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "headway_version.h"

namespace headway::cli {

std::span<const Command> Commands() {
  static constexpr Command kCommands[] = {
      {"diagnose", "why a job is slow: ranked causes from its traces", RunDiagnose},
      {"summarize", "traces to small pattern files (.hwp)", RunSummarize},
      {"inspect", "what is in a trace and what was found wrong with it", RunInspect},
      {"compare", "two runs: what got slower and why", RunCompare},
  };
  return kCommands;
}

namespace {

std::string HelpText() {
  std::string text =
      "headway finds out why a distributed training job is slow.\n\n"
      "Usage: headway COMMAND [OPTIONS] PATH…\n\n";
  for (const Command& command : Commands()) text += "  " + PadRight(command.name, 11) + " " + command.what + "\n";
  return text +
         "\nExample:\n  headway diagnose traces/ --html report.html\n\n"
         "headway COMMAND --help tells the options; headway --version the version.\n";
}

int Print(std::string_view text) {
  const Result<void> written = WriteOut(text);
  return written ? kOk : Fail("", written.error());
}

}  // namespace

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    std::fputs(HelpText().c_str(), stderr);
    return kUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    return Print(HelpText());
  }
  if (args[0] == "--version") return Print(std::string("headway ") + kVersion + "\n");
  for (const Command& command : Commands()) {
    if (args[0] == command.name) return command.run({args.data() + 1, args.size() - 1});
  }
  std::fprintf(stderr, "headway: there is no command '%s' (see headway --help)\n", args[0].c_str());
  return kUsage;
}

}  // namespace headway::cli

int main(int argc, char** argv) { return headway::cli::Main(argc, argv); }
