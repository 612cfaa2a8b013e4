// SPDX-License-Identifier: Apache-2.0
#include "diagnose/unseen.h"

#include <algorithm>

#include "base/text.h"

namespace headway::diagnose {

namespace {

// Members that did not take part in this operation as far as the traces show. Of a group that was inferred any rank
// without a trace may be one. Empty for point-to-point traffic.
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

// The same, asked for one operation after the other: most have the members of the one before.
class LastUnseen {
 public:
  explicit LastUnseen(const Job& job) : job_(job) {}

  const std::set<RankId>& Of(size_t c) {
    const trace::Collective& collective = job_.comms.collectives[c];
    is_new_ = last_ == nullptr || !HaveSameMembers(*last_, collective);
    if (is_new_) unseen_ = UnseenMembers(job_, collective);
    last_ = &collective;
    return unseen_;
  }
  // Whether the last answer is another one than that before.
  [[nodiscard]] bool is_new() const { return is_new_; }

 private:
  static bool HaveSameMembers(const trace::Collective& a, const trace::Collective& b) {
    const auto rank = &trace::CollectiveMember::rank_index;
    return a.group == b.group && std::ranges::equal(a.members, b.members, {}, rank, rank);
  }

  const Job& job_;
  const trace::Collective* last_ = nullptr;
  std::set<RankId> unseen_;
  bool is_new_ = false;
};

}  // namespace

std::string NameUnseen(const Job& job, const std::set<RankId>& ranks) {
  constexpr size_t kNamed = 6;
  std::vector<RankId> absent, silent, apart;
  for (const RankId rank : ranks) {
    const auto at = std::ranges::lower_bound(job.ranks, rank, {}, [](const auto& r) { return r.meta.rank; });
    const bool is_there = at != job.ranks.end() && at->meta.rank == rank;
    (!is_there ? absent : at->comms.instances.empty() ? silent : apart).push_back(rank);
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
  LastUnseen unseen_of(job);
  for (const auto& transfer : edit.transfers) {
    const auto c = static_cast<size_t>(transfer.collective);
    const Nanos taken = std::max<Nanos>(0, job.graph.collectives[c].transfer - transfer.transfer);
    all += taken;
    const std::set<RankId>& here = unseen_of.Of(c);
    if (here.empty()) continue;
    unseen += taken;
    if (unseen_of.is_new()) ranks.insert(here.begin(), here.end());
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
  LastUnseen unseen_of(job);
  for (const Channel& channel : channels) {
    bool any = false;
    for (const size_t c : channel.calls) {
      const std::set<RankId>& here = unseen_of.Of(c);
      if (here.empty()) continue;
      sum += job.graph.collectives[c].exposed_transfer;
      any = true;
      if (unseen_of.is_new()) out.ranks.insert(here.begin(), here.end());
    }
    if (any) who.insert(channel.ranks.begin(), channel.ranks.end());
  }
  out.per_step = sum / static_cast<Nanos>(std::max<size_t>(1, who.size() * job.num_steps()));
  return out;
}

}  // namespace headway::diagnose
