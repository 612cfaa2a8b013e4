// SPDX-License-Identifier: Apache-2.0
#include "diagnose/compared_ranks.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"

namespace headway::diagnose {
namespace {

std::set<RankId> RanksRead(const Job& job) {
  std::set<RankId> out;
  for (const pattern::RankPattern& rank : job.ranks) out.insert(rank.meta.rank);
  return out;
}

// The size that the files write, or that all ranks of the run being there tells; 0 = not known.
int32_t KnownWorld(const Job& job) {
  const bool written =
      std::any_of(job.ranks.begin(), job.ranks.end(), [](const auto& r) { return r.meta.world_size > 0; });
  return written || job.missing.empty() ? job.world_size : 0;
}

// "rank 3 has a trace in the earlier run only"; empty where there is none.
std::string OnlyIn(const std::set<RankId>& one, const std::set<RankId>& other, const char* which) {
  constexpr size_t kNamed = 6;
  std::vector<RankId> only;
  std::set_difference(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(only));
  if (only.empty()) return {};
  return (only.size() == 1 ? "rank " : "ranks ") + FormatRanks(only, kNamed) +
         (only.size() == 1 ? " has a trace in the " : " have traces in the ") + which + " run only";
}

}  // namespace

ComparedRanks RanksToCompare(const Job& before, const Job& after) {
  ComparedRanks out{.before = RanksRead(before), .after = RanksRead(after), .unlike = {}};
  const int32_t old_world = KnownWorld(before), new_world = KnownWorld(after);
  if (old_world > 0 && new_world > 0 && old_world != new_world) {
    out.alike = false;
    out.unlike = "world size " + std::to_string(old_world) + " -> " + std::to_string(new_world) +
                 ": the ranks of the two runs do not have the same work, so only means over all of them are shown";
    return out;
  }
  const std::string gone = OnlyIn(out.before, out.after, "earlier"), come = OnlyIn(out.after, out.before, "later");
  if (gone.empty() && come.empty()) return out;
  std::set<RankId> both;
  std::set_intersection(out.before.begin(), out.before.end(), out.after.begin(), out.after.end(),
                        std::inserter(both, both.end()));
  out.alike = !both.empty();
  out.unlike = gone + (gone.empty() || come.empty() ? "" : ", ") + come +
               (out.alike ? ": only ranks in both are compared"
                          : ": no rank is in both, so only means over all of them are shown");
  if (out.alike) out.before = out.after = both;
  return out;
}

}  // namespace headway::diagnose
