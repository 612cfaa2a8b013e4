// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
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

void PrintHelp(std::FILE* to) {
  std::fputs("headway finds out why a distributed training job is slow.\n\nUsage: headway COMMAND [OPTIONS] PATH…\n\n",
             to);
  for (const Command& command : Commands()) std::fprintf(to, "  %-11s %s\n", command.name, command.what);
  std::fputs(
      "\nExample:\n  headway diagnose traces/ --html report.html\n\n"
      "headway COMMAND --help tells the options; headway --version the version.\n",
      to);
}

}  // namespace

int Main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    PrintHelp(stderr);
    return kUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintHelp(stdout);
    return kOk;
  }
  if (args[0] == "--version") {
    std::printf("headway %s\n", kVersion);
    return kOk;
  }
  for (const Command& command : Commands()) {
    if (args[0] == command.name) return command.run({args.data() + 1, args.size() - 1});
  }
  std::fprintf(stderr, "headway: there is no command '%s' (see headway --help)\n", args[0].c_str());
  return kUsage;
}

}  // namespace headway::cli

int main(int argc, char** argv) { return headway::cli::Main(argc, argv); }
