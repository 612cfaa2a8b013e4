// SPDX-License-Identifier: Apache-2.0
#include "diagnose/siblings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/disjoint_sets.h"
#include "diagnose/coordinates.h"

namespace headway::diagnose {

std::vector<Siblings> SiblingsOfHosts(const Job& job) {
  std::map<std::pair<int32_t, int32_t>, Siblings> by_host;  // (class, clock)
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (!job.ranks[r].comms.host_known) continue;
    Siblings& siblings = by_host[{job.peer_class[r], job.comms.clock_of_rank[r]}];
    siblings.peer_class = job.peer_class[r];
    siblings.is_host = true;
    siblings.ranks.push_back(r);
  }
  std::vector<Siblings> out;
  for (auto& [key, siblings] : by_host) out.push_back(std::move(siblings));
  return out;
}

namespace {

// Groups without a description are of one kind where they are laid out alike.
std::string LayoutOf(const trace::JobGroup& group) {
  return "every " + std::to_string(group.ranks[1] - group.ranks[0]) + " of " + std::to_string(group.ranks.size());
}

}  // namespace

std::vector<Siblings> SiblingsOfGroups(const Job& job) {
  constexpr size_t kLargest = 16;
  std::map<RankId, size_t> index;
  for (size_t r = 0; r < job.num_ranks(); ++r) index[job.ranks[r].meta.rank] = r;
  std::vector<Siblings> out;
  for (const trace::JobGroup& group : job.comms.groups) {
    if (group.is_p2p || group.ranks.size() < 2 || group.ranks.size() > kLargest) continue;
    Siblings siblings;
    siblings.kind = group.desc.empty() ? LayoutOf(group) : group.desc;
    for (const RankId rank : group.ranks) {
      const auto it = index.find(rank);
      if (it == index.end()) break;
      const int32_t peer_class = job.peer_class[it->second];
      if (siblings.peer_class >= 0 && siblings.peer_class != peer_class) break;
      siblings.peer_class = peer_class;
      siblings.ranks.push_back(it->second);
    }
    if (siblings.ranks.size() == group.ranks.size()) out.push_back(std::move(siblings));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Siblings& a, const Siblings& b) { return a.ranks.size() > b.ranks.size(); });
  return out;
}

std::vector<Siblings> SiblingsOfReplicas(const Job& job) {
  std::map<RankId, size_t> index;
  for (size_t r = 0; r < job.num_ranks(); ++r) index[job.ranks[r].meta.rank] = r;
  DisjointSets sets(job.num_ranks());
  for (const trace::JobGroup& group : job.comms.groups) {
    const GroupRole role = RoleOfDescription(group.desc);
    if (!group.is_p2p && role != GroupRole::kTp && role != GroupRole::kPp) continue;
    const auto first = index.find(group.ranks.front());
    for (const RankId rank : group.ranks) {
      const auto it = index.find(rank);
      if (first != index.end() && it != index.end()) sets.Unite(first->second, it->second);
    }
  }
  std::map<size_t, Siblings> by_root;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    Siblings& replica = by_root[sets.Find(r)];
    replica.kind = "replica";
    replica.ranks.push_back(r);
  }
  std::vector<Siblings> out;
  for (auto& [root, replica] : by_root) out.push_back(std::move(replica));
  const size_t size = out.empty() ? 0 : out.front().ranks.size();
  const bool even = std::all_of(out.begin(), out.end(), [&](const Siblings& s) { return s.ranks.size() == size; });
  return even && size > 1 && out.size() > 1 ? out : std::vector<Siblings>();
}

bool AreOnOneHost(const Job& job, std::span<const size_t> ranks) {
  const auto host = [&](size_t r) { return job.comms.clock_of_rank[r]; };
  return std::all_of(ranks.begin(), ranks.end(), [&](size_t r) { return host(r) == host(ranks.front()); });
}

bool SpansClasses(const Job& job, const Siblings& group) {
  return std::any_of(group.ranks.begin(), group.ranks.end(),
                     [&](size_t r) { return job.peer_class[r] != job.peer_class[group.ranks.front()]; });
}

}  // namespace headway::diagnose
