// SPDX-License-Identifier: Apache-2.0
// Options of every subcommand that reads traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/ingest.h"

namespace headway::cli {

struct ReadingFlags {
  std::vector<std::string> paths;
  std::string gpu_events = "all", last_step = "keep";
  bool quiet = false;
  IngestOptions ingest;  // Settle() fills in what follows from the flags
};

// --gpu-events, --last-step, --rank-map, --name-rules, --threads, --quiet.
[[nodiscard]] std::vector<Option> ReadingOptions(ReadingFlags* flags);

// What to fold and say, once the words are parsed.
void Settle(ReadingFlags* flags);

// Patterns were folded before: says on stderr which of the flags come too late for them.
void RemarkLateFlags(std::string_view command, const ReadingFlags& flags, const Ingested& in);

}  // namespace headway::cli
