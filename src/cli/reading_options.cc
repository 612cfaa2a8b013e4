// SPDX-License-Identifier: Apache-2.0
#include "cli/reading_options.h"

#include <algorithm>

#include "cli/terminal.h"

namespace headway::cli {

std::vector<Option> ReadingOptions(ReadingFlags* flags) {
  return {
      {.names = "--gpu-events",
       .help = "count all device events, or only those whose launch is in the file (all)",
       .text = &flags->gpu_events,
       .value_name = "all|linked",
       .choices = {"all", "linked"}},
      {.names = "--last-step",
       .help = "keep or drop the last profiled step (keep)",
       .text = &flags->last_step,
       .value_name = "keep|drop",
       .choices = {"keep", "drop"}},
      {.names = "--rank-map",
       .help = "lines 'path-or-glob rank'",
       .text = &flags->ingest.rank_map,
       .value_name = "FILE"},
      {.names = "--name-rules",
       .help = "own rules for kernel and call names",
       .text = &flags->ingest.name_rules,
       .value_name = "FILE"},
      {.names = "--threads", .help = "0 = all (0)", .number = &flags->ingest.threads, .value_name = "N"},
      {.names = "--quiet", .help = "no remarks on stderr", .flag = &flags->quiet},
  };
}

void Settle(ReadingFlags* flags) {
  flags->ingest.quiet = flags->quiet;
  flags->ingest.fold.linked_only = flags->gpu_events == "linked";
  flags->ingest.fold.drop_last_step = flags->last_step == "drop";
}

void RemarkLateFlags(std::string_view command, const ReadingFlags& flags, const Ingested& in) {
  std::string late;
  if (flags.gpu_events != "all") late = "--gpu-events " + flags.gpu_events;
  if (flags.last_step != "keep") late += (late.empty() ? "" : " and ") + ("--last-step " + flags.last_step);
  const bool has_patterns =
      std::any_of(in.sources.begin(), in.sources.end(), [](const RankSource& source) { return !source.is_trace; });
  if (late.empty() || !has_patterns) return;
  Remark(command,
         late + " is decided when pattern files are made (headway summarize); those read here stay as they are",
         flags.quiet);
}

}  // namespace headway::cli
