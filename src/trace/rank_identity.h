// SPDX-License-Identifier: Apache-2.0
// Which rank a file belongs to, when the files of a job are looked at together.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/event.h"
#include "trace/import_log.h"

namespace headway::trace {

// Numbers beyond this are no ranks but process ids, times or damage.
inline constexpr RankId kLargestRank = 999'999;

// "runs/rank-3.Apr_03.pt.trace.json.gz", "trace_rank_3.json", "worker3.json", "rank3/trace.json" -> 3; as a last resort
// "x_3.json". -1 where the name tells nothing.
[[nodiscard]] RankId RankFromFileName(std::string_view source);

// The user's own table: lines "path-or-glob rank", # starts a comment. The first line that fits a source, or its name
// without folders, wins.
class RankMap {
 public:
  [[nodiscard]] static Result<RankMap> Parse(std::string_view text, const std::string& where);
  [[nodiscard]] RankId Find(std::string_view source) const;  // -1 = not in the table
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  std::vector<std::pair<std::string, RankId>> entries_;
};

// Gives every file of a job its rank: by the user's table, else content, else file name, else the smallest free rank in
// order of source ("assumed"). Where the content of several files claims one rank and their names tell them apart, the
// names win. A rank beyond kLargestRank in the content counts as not written. Sets rank and rank_source; returns the
// indexes of files left out because an earlier source has their rank, ascending. Independent of the order of `metas`.
std::vector<size_t> AssignRanks(const std::vector<RankMeta*>& metas, const RankMap& map, ImportLog* log);

// Ranks of a job of `world_size` that no file has, ascending; empty where the size is unknown.
[[nodiscard]] std::vector<RankId> MissingRanks(const std::vector<RankMeta*>& metas, int world_size);

}  // namespace headway::trace
