// SPDX-License-Identifier: Apache-2.0
// The adapter to CLI11.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/command.h"
#include "cli/terminal.h"

namespace headway::cli {

namespace {

void Add(CLI::App* app, const Option& option) {
  CLI::Option* added = nullptr;
  if (option.flag != nullptr) {
    added = app->add_flag(option.names, *option.flag, option.help);
  } else if (option.number != nullptr) {
    added = app->add_option(option.names, *option.number, option.help);
  } else if (option.list != nullptr) {
    added = app->add_option(option.names, *option.list, option.help);
  } else {
    added = app->add_option(option.names, *option.text, option.help);
  }
  if (!option.value_name.empty()) added->option_text(option.value_name);
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  if (option.required) added->required();
}

}  // namespace

ParseOutcome Parse(const CommandLine& line, std::span<const std::string> args) {
  CLI::App app(line.description, "headway " + line.command);
  app.footer("\nExample:\n  " + line.example);
  app.set_help_flag("-h,--help", "Print this and exit");
  for (const Option& option : line.options) Add(&app, option);
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    const Result<void> written = WriteOut(app.help());
    return {false, written ? kOk : Fail(line.command, written.error())};
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "headway %s: %s (see headway %s --help)\n", line.command.c_str(), error.what(),
                 line.command.c_str());
    return {false, kUsage};
  }
  return {true, kOk};
}

}  // namespace headway::cli
