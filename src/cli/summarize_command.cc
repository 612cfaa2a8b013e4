// SPDX-License-Identifier: Apache-2.0
// headway summarize: traces to pattern files, one a rank, each where it lies; the map of a map-reduce.
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "cli/command.h"
#include "cli/environment_rank.h"
#include "cli/ingest.h"
#include "cli/reading_options.h"
#include "cli/terminal.h"
#include "pattern/hwp_writer.h"

namespace headway::cli {

namespace {

struct SummarizeFlags : ReadingFlags {
  std::string output;
};

CommandLine Describe(SummarizeFlags* f) {
  CommandLine line;
  line.command = "summarize";
  line.description = "Folds traces to pattern files of tens of KB each; `headway diagnose` reads them like the traces.";
  line.example = "headway summarize traces/ -o patterns/";
  line.options = {
      {.names = "PATH", .help = "traces, folders, archives, or -", .list = &f->paths, .positional = true},
      {.names = "-o,--output",
       .help = "folder for the .hwp files",
       .text = &f->output,
       .value_name = "DIR",
       .required = true},
  };
  for (Option& option : ReadingOptions(f)) line.options.push_back(std::move(option));
  return line;
}

}  // namespace

int RunSummarize(std::span<const std::string> args) {
  SummarizeFlags flags;
  if (const ParseOutcome parsed = Parse(Describe(&flags), args); !parsed.run) return parsed.exit_code;
  flags.ingest.all_parts = true;
  flags.ingest.environment_rank = EnvironmentRank();
  if (flags.paths.empty()) {
    return Fail("summarize",
                {ErrorCode::kInvalidArgument, "give the traces: files, a folder, an archive, or - (see --help)", ""});
  }
  Settle(&flags);
  const Result<Ingested> in = Ingest(flags.paths, flags.ingest);
  if (!in) return Fail("summarize", in.error());
  RemarkProblems("summarize", *in, flags.quiet);
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) return Fail("summarize", {ErrorCode::kIo, "the folder cannot be made: " + error.message(), flags.output});
  for (const pattern::RankPattern& rank : in->ranks) {
    const std::string path = flags.output + "/rank" + std::to_string(rank.meta.rank) + ".hwp";
    if (Result<void> written = pattern::WriteHwpFile(path, {&rank, 1}); !written)
      return Fail("summarize", written.error());
  }
  Remark("summarize", Counted(static_cast<int64_t>(in->ranks.size()), "pattern file") + " in " + flags.output,
         flags.quiet);
  return kOk;
}

}  // namespace headway::cli
