// SPDX-License-Identifier: Apache-2.0
// Subcommands, declared as data. The only module that reads the environment, writes to the terminal or exits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::cli {

// Exit codes of every subcommand (docs in commands).
inline constexpr int kOk = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kBadInput = 3;

// One option as the parser sees it. Exactly one of the targets is set.
struct Option {
  std::string names;  // "--json", "-o,--output"
  std::string help;
  bool* flag = nullptr;
  std::string* text = nullptr;
  int* number = nullptr;
  std::vector<std::string>* list = nullptr;
  std::string value_name;            // "FILE", in the help
  std::vector<std::string> choices;  // allowed values of `text`; empty = any
  bool positional = false;
  bool required = false;
};

struct CommandLine {
  std::string command;      // "diagnose"
  std::string description;  // one line
  std::string example;      // printed below the help
  std::vector<Option> options;
};

// What to do instead of running: help was asked for, or the words make no sense.
struct ParseOutcome {
  bool run = false;
  int exit_code = kOk;
};

// Parses `args` (without program and command names) into the options' targets; prints help to stdout and usage errors
// to stderr, one sentence.
[[nodiscard]] ParseOutcome Parse(const CommandLine& line, std::span<const std::string> args);

// A subcommand of the program.
struct Command {
  const char* name;
  const char* what;  // one line for `headway --help`
  int (*run)(std::span<const std::string> args);
};
[[nodiscard]] std::span<const Command> Commands();

int RunDiagnose(std::span<const std::string> args);
int RunSummarize(std::span<const std::string> args);
int RunInspect(std::span<const std::string> args);
int RunCompare(std::span<const std::string> args);

}  // namespace headway::cli
