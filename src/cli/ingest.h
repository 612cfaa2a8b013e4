// SPDX-License-Identifier: Apache-2.0
// From the paths a user gives to one pattern a rank: traces are folded, .hwp files read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pattern/pattern.h"
#include "pattern/pattern_builder.h"
#include "trace/import_log.h"

namespace headway::cli {

// More pattern files than this are read without their own times by function and step.
inline constexpr size_t kManyPatterns = 256;

struct IngestOptions {
  int threads = 0;  // 0 = as many as the process may use
  bool quiet = false;
  std::string rank_map;    // file of "path-or-glob rank" lines; empty = none
  std::string name_rules;  // the user's own rules; empty = none
  pattern::FoldOptions fold;
  // This process's own: of a single trace that does not tell its rank. -1 = none.
  RankId environment_rank = -1;
  bool all_parts = false;  // read patterns whole, however many there are
};

// Where the bytes of a rank can be read again (for timelines): the item's name as the input set gives it.
struct RankSource {
  RankId rank = -1;
  std::string name;
  bool is_trace = false;  // false: a pattern, without rows
};

struct Ingested {
  std::vector<pattern::RankPattern> ranks;  // by rank, each once
  std::vector<RankSource> sources;          // parallel
  std::vector<Error> problems;              // files that gave nothing, one sentence each
  int64_t files = 0;                        // looked at
  // Reads the own times by function and step of a rank again, where patterns were read without; null: they have them.
  std::function<std::vector<pattern::FunctionStep>(RankId rank)> load_function_steps;
};

// Reads everything on up to `threads` threads. Of two files of one rank the first by name is kept. The result does not
// depend on the number of threads or the order of paths. Fails only where nothing at all can be concluded.
[[nodiscard]] Result<Ingested> Ingest(const std::vector<std::string>& paths, const IngestOptions& options);

// Says on stderr what could not be used: the first few files one by one, the rest as a count. Files that merely are no
// traces (a folder holds other things too) are counted only, unless they are named as traces are and empty or damaged.
void RemarkProblems(std::string_view command, const Ingested& in, bool quiet);

}  // namespace headway::cli
