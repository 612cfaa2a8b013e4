// SPDX-License-Identifier: Apache-2.0
#include "diagnose/peers.h"

#include <algorithm>
#include <map>
#include <string>

namespace headway::diagnose {

namespace {

// How often a rank does what with whom, in the step where it does most: group kind, operation, and for p2p whether
// the other side is before or after it. Counts rather than order: overlap may swap neighbours.
using Signature = std::map<std::string, int32_t>;

std::string KindOf(const trace::JobGroup& group) {
  if (group.is_p2p) return "p2p";
  return group.desc + "/" + std::to_string(group.ranks.size());
}

}  // namespace

std::vector<int32_t> PeerClasses(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                                 std::span<const Coordinate> coordinates) {
  // Counts by (rank, step); the median step decides, so that a rank with one odd step keeps its peers.
  std::vector<std::map<int64_t, Signature>> by_step(ranks.size());
  for (const trace::Collective& collective : comms.collectives) {
    const trace::JobGroup& group = comms.groups[static_cast<size_t>(collective.group)];
    const std::string kind = KindOf(group);
    for (const trace::CollectiveMember& member : collective.members) {
      const auto r = static_cast<size_t>(member.rank_index);
      const auto& instance = ranks[r].comms.instances[static_cast<size_t>(member.instance)];
      if (collective.step < 0) continue;
      std::string key = kind + ":" + trace::ToString(instance.op);
      if (group.is_p2p) key += group.ranks.front() == ranks[r].meta.rank ? ">" : "<";
      ++by_step[r][collective.step][key];
    }
  }
  std::map<std::pair<Signature, int32_t>, int32_t> numbers;
  std::vector<int32_t> out(ranks.size(), 0);
  for (size_t r = 0; r < ranks.size(); ++r) {
    std::map<Signature, int32_t> votes;
    for (auto& [step, signature] : by_step[r]) ++votes[signature];
    Signature best;
    int32_t most = 0;
    for (const auto& [signature, count] : votes) {
      if (count > most) {
        most = count;
        best = signature;
      }
    }
    // Two stages may look alike from outside (both middle ones): they are peers only if nothing tells them apart.
    (void)coordinates;
    out[r] = numbers.try_emplace({best, 0}, static_cast<int32_t>(numbers.size())).first->second;
  }
  return out;
}

}  // namespace headway::diagnose
