// SPDX-License-Identifier: Apache-2.0
#include "diagnose/unseen.h"

#include <algorithm>

#include "base/text.h"

namespace headway::diagnose {

std::set<RankId> UnseenMembers(const Job& job, const trace::Collective& collective) {
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(collective.group)];
  std::set<RankId> out;
  if (group.is_p2p) return out;
  if (group.inferred) out.insert(job.missing.begin(), job.missing.end());
  if (collective.members.size() >= group.ranks.size()) return out;
  out.insert(group.ranks.begin(), group.ranks.end());
  for (const trace::CollectiveMember& m : collective.members) {
    out.erase(job.ranks[static_cast<size_t>(m.rank_index)].meta.rank);
  }
  return out;
}

std::string NameUnseen(const Job& job, const std::set<RankId>& ranks) {
  constexpr size_t kNamed = 6;
  std::vector<RankId> absent, silent, apart;
  for (const RankId rank : ranks) {
    const auto at =
        std::find_if(job.ranks.begin(), job.ranks.end(), [&](const auto& r) { return r.meta.rank == rank; });
    (at == job.ranks.end() ? absent : at->comms.instances.empty() ? silent : apart).push_back(rank);
  }
  std::string text;
  const auto add = [&](const std::vector<RankId>& some, const char* one, const char* several) {
    if (some.empty()) return;
    text += (text.empty() ? "" : ", or ") + std::string(some.size() == 1 ? "rank " : "ranks ") +
            FormatRanks(some, kNamed) + (some.size() == 1 ? one : several);
  };
  add(absent, ", which has no trace", ", which have no trace");
  add(silent, ", whose trace holds no communication", ", whose traces hold no communication");
  add(apart, ", whose communication met nobody else's there", ", whose communication met nobody else's there");
  return text;
}

std::set<RankId> MayBeWaitedFor(const Job& job, const replay::SegmentEdit& edit) {
  Nanos all = 0, unseen = 0;
  std::set<RankId> ranks;
  for (const auto& transfer : edit.transfers) {
    const auto c = static_cast<size_t>(transfer.collective);
    const Nanos taken = std::max<Nanos>(0, job.graph.collectives[c].transfer - transfer.transfer);
    all += taken;
    std::set<RankId> here = UnseenMembers(job, job.comms.collectives[c]);
    if (here.empty()) continue;
    unseen += taken;
    ranks.merge(here);
  }
  if (2 * unseen <= all) ranks.clear();
  return ranks;
}

bool AnyAtOdds(const Job& job, const std::set<RankId>& ranks) {
  return std::any_of(job.comms.strangers.begin(), job.comms.strangers.end(),
                     [&](int32_t r) { return ranks.count(job.ranks[static_cast<size_t>(r)].meta.rank) > 0; });
}

UnseenWaits FindUnseenWaits(const Job& job, std::span<const Channel> channels) {
  UnseenWaits out;
  std::set<int32_t> who;
  Nanos sum = 0;
  for (const Channel& channel : channels) {
    for (const size_t c : channel.calls) {
      std::set<RankId> here = UnseenMembers(job, job.comms.collectives[c]);
      if (here.empty()) continue;
      sum += job.graph.collectives[c].exposed_transfer;
      out.ranks.merge(here);
      who.insert(channel.ranks.begin(), channel.ranks.end());
    }
  }
  out.per_step = sum / static_cast<Nanos>(std::max<size_t>(1, who.size() * job.num_steps()));
  return out;
}

}  // namespace headway::diagnose
