// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_ways.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace headway::diagnose {

std::vector<Way> WaysOut(const Job& job, std::span<const Ring> rings) {
  enum class Out : uint8_t { kRank, kHost, kPlace };
  using Key = std::tuple<Out, std::string, size_t>;
  std::map<Key, Way> of;
  std::vector<Key> twice;
  const auto clock_of = [&](size_t rank) { return static_cast<size_t>(job.comms.clock_of_rank[rank]); };
  for (size_t k = 0; k < rings.size(); ++k) {
    const std::vector<size_t>& members = rings[k].members;
    const std::vector<int32_t>& ranks = rings[k].channel->ranks;
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(rings[k].channel->group)];
    for (size_t i = 0; i < members.size(); ++i) {
      const size_t clock = clock_of(members[i]);
      const auto enter = [&](const Key& key) {
        Way& way = of.try_emplace(key, rings.size(), kNoPlace).first->second;
        if (way[k] != kNoPlace) twice.push_back(key);
        way[k] = i;
      };
      enter({Out::kRank, "", members[i]});
      if (clock_of(members[(i + 1) % members.size()]) != clock) enter({Out::kHost, "", clock});
      const auto place = std::lower_bound(ranks.begin(), ranks.end(), static_cast<int32_t>(members[i]));
      const RankId distance = group.ranks.size() < 2 ? 0 : group.ranks[1] - group.ranks[0];
      const std::string kind =
          group.desc + " every " + std::to_string(distance) + " of " + std::to_string(members.size());
      enter({Out::kPlace, kind, static_cast<size_t>(place - ranks.begin())});
    }
  }
  for (const Key& key : twice) of.erase(key);
  std::vector<Way> out;
  out.reserve(of.size());
  for (auto& [key, way] : of) out.push_back(std::move(way));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace headway::diagnose
