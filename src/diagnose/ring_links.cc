// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_links.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "diagnose/egress_finding.h"
#include "diagnose/quickest_like.h"
#include "diagnose/ring_marks.h"
#include "diagnose/ring_order.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

// Groups whose ends say the same: one slow way may serve them all.
struct SlowRings {
  std::vector<Marked> marked;  // of the first group first
  Channels all;                // of these groups
};

// What groups side by side have in common: the hosts of sender and receiver, or the places of the two in a group of the
// kind; else nothing but the group itself. Kind or group, and the pairs.
using Ways = std::tuple<std::string, std::vector<std::pair<int32_t, int32_t>>>;

int32_t PlaceOf(const trace::JobGroup& group, RankId rank) {
  return static_cast<int32_t>(std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin());
}

Ways WaysOf(const Job& job, const std::vector<Marked>& marked) {
  std::set<std::pair<int32_t, int32_t>> hosts, places;
  bool hosts_known = true, senders_known = true;
  const Channel& first = *marked.front().channel;
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(first.group)];
  for (const Marked& m : marked) {
    const auto index_of = [&](RankId rank) {
      const auto is_rank = [&](int32_t r) { return job.ranks[static_cast<size_t>(r)].meta.rank == rank; };
      const auto it = std::find_if(m.channel->ranks.begin(), m.channel->ranks.end(), is_rank);
      return it == m.channel->ranks.end() ? -1 : *it;
    };
    const int32_t from = index_of(m.sender), to = index_of(m.order.last);
    senders_known = senders_known && from >= 0 && to >= 0;
    if (!senders_known) break;
    hosts_known = hosts_known && job.ranks[static_cast<size_t>(from)].comms.host_known &&
                  job.ranks[static_cast<size_t>(to)].comms.host_known;
    hosts.insert(
        {job.comms.clock_of_rank[static_cast<size_t>(from)], job.comms.clock_of_rank[static_cast<size_t>(to)]});
    places.insert({PlaceOf(group, m.sender), PlaceOf(group, m.order.last)});
  }
  const bool inside = std::any_of(hosts.begin(), hosts.end(), [](const auto& way) { return way.first == way.second; });
  if (!senders_known || (hosts_known && inside)) return {"group " + std::to_string(first.group), {}};
  if (hosts_known) return {"hosts", {hosts.begin(), hosts.end()}};
  return {"family " + std::to_string(first.family), {places.begin(), places.end()}};
}

// In a ring of n the ends of an all-reduce are apart by (n - 1) / 2 (n - 1) of what the slow link costs it, or less
// where the message goes round in several pieces; of an all-gather by all of it. `quickest`: by `marked`, what its like
// take, 0 = unknown; may be empty.
void RemoveStagger(const Job& job, const std::vector<Marked>& marked, const std::vector<Nanos>& quickest,
                   Candidate* candidate) {
  std::map<std::vector<int32_t>, std::vector<Nanos>> by_members;  // of other members they run side by side
  for (size_t k = 0; k < marked.size(); ++k) {
    const Marked& m = marked[k];
    const Nanos transfer = MedianTransfer(job, *m.channel);
    if (transfer <= 0) continue;
    Nanos cost = std::min(transfer / 2, m.order.lag * (m.channel->op == CommOp::kAllReduce ? 2 : 1));
    if (!quickest.empty() && quickest[k] > 0) cost = std::max(cost, transfer - quickest[k]);
    const double keep = 1 - static_cast<double>(cost) / static_cast<double>(transfer);
    ScaleTransfers(job, m.channel->calls, keep, &candidate->edit);
    std::vector<Nanos>& excess = by_members.try_emplace(m.channel->ranks, job.num_steps(), 0).first->second;
    for (size_t s = 0; s < job.num_steps(); ++s) excess[s] += cost * static_cast<Nanos>(m.channel->CallsOf(s).size());
  }
  candidate->excess.assign(job.num_steps(), 0);
  for (const auto& [members, excess] : by_members) {
    for (size_t s = 0; s < excess.size(); ++s) candidate->excess[s] = std::max(candidate->excess[s], excess[s]);
  }
}

bool AreFitted(const std::vector<Marked>& marked) {
  return std::all_of(marked.begin(), marked.end(), [](const Marked& m) { return m.by != ToldBy::kOrder; });
}

bool IsByArrivals(const std::vector<Marked>& marked) { return marked.front().by == ToldBy::kArrivals; }

// What these channels take longer in some steps than in their others, if all that the ends mark do: known better than
// by any of its signs. False where one does not.
bool RemoveWhatOthersLack(const Job& job, const SlowRings& slow, const std::vector<Channel>& all,
                          std::span<const SlowChannel> in_some_steps, Candidate* candidate) {
  const auto of = [&](const Channel* channel) {
    return std::find_if(in_some_steps.begin(), in_some_steps.end(),
                        [&](const SlowChannel& s) { return &all[s.channel] == channel; });
  };
  const auto is_slow = [&](const Channel* channel) { return of(channel) != in_some_steps.end(); };
  if (!std::all_of(slow.marked.begin(), slow.marked.end(), [&](const Marked& m) { return is_slow(m.channel); })) {
    return false;
  }
  candidate->excess.assign(job.num_steps(), 0);
  for (const Channel* channel : slow.all) {
    if (is_slow(channel)) RemoveExcess(job, *channel, *of(channel), candidate);
  }
  const SlowChannel& first = *of(slow.marked.front().channel);
  candidate->finding.evidence.push_back(
      {std::string("gain from other steps' ") + trace::ToString(slow.marked.front().channel->op),
       FormatRatio(first.ratio), "", "",
       "transfers of " +
           Counted(std::count_if(first.cost.begin(), first.cost.end(), [](Nanos x) { return x > 0; }), "step") +
           " against those of the others"});
  return true;
}

void PriceSlowLink(const Job& job, const SlowRings& slow, const std::vector<Channel>& all,
                   std::span<const SlowChannel> in_some_steps, Candidate* candidate) {
  std::vector<report::Evidence>& evidence = candidate->finding.evidence;
  if (RemoveWhatOthersLack(job, slow, all, in_some_steps, candidate)) return;
  // What the ends fit says what the link costs; where merely the last one is known nothing does.
  if (AreFitted(slow.marked)) {
    RemoveStagger(job, slow.marked, {}, candidate);
    evidence.push_back({"gain is estimated from", IsByArrivals(slow.marked) ? "who comes last" : "the ends of the ring",
                        "", "", "how far apart a slow link makes the ends lie"});
    return;
  }
  if (!job.ranks.front().has_device) {
    candidate->excess = ExcessBySteps(job, slow.all, kAsIfFaster);
    for (const Channel* channel : slow.all) {
      ScaleTransfers(job, channel->calls, kAsIfFaster, &candidate->edit, kAsIfFaster);
    }
    evidence.push_back(
        {"gain is estimated as if the link were", "4x faster", "", "", "no faster link to compare with"});
    return;
  }
  const QuickestLike quickest(job, slow.all, all);
  std::vector<Nanos> like;
  for (const Marked& m : slow.marked) like.push_back(quickest.Of(*m.channel));
  RemoveStagger(job, slow.marked, like, candidate);
  const auto known = std::find_if(like.begin(), like.end(), [](Nanos x) { return x > 0; });
  if (known != like.end()) {
    const Channel& channel = *slow.marked[static_cast<size_t>(known - like.begin())].channel;
    evidence.push_back({std::string("gain from the quickest ") + trace::ToString(channel.op) + " of its kind",
                        Milliseconds(MedianTransfer(job, channel)), "", Milliseconds(*known),
                        "median transfer; peers: the quickest group that makes as many calls"});
  }
  if (std::find(like.begin(), like.end(), 0) != like.end()) {
    evidence.push_back({"gain is estimated from", "the order of ends", "", "",
                        "a slow link costs at least twice what the ends lie apart"});
  }
}

// "rank 3 ends last in 40 of 40 all-reduce, 2 ms after the first".
std::string TellOrder(const Marked& m) {
  if (m.by == ToldBy::kArrivals) {
    return std::string(trace::ToString(m.channel->op)) + " takes " + FormatDuration(m.order.lag) +
           " longer where rank " + std::to_string(m.order.last) + " comes last than where rank " +
           std::to_string(m.sender) + " does, as it would if the link between them were slow";
  }
  if (m.by == ToldBy::kEnds) {
    return std::string("in each ") + trace::ToString(m.channel->op) +
           " the ranks of a host end as they would if the link from rank " + std::to_string(m.sender) + " to rank " +
           std::to_string(m.order.last) + " set the pace, " + FormatDuration(m.order.lag) + " from first to last";
  }
  return "rank " + std::to_string(m.order.last) + " ends last in " + std::to_string(m.order.times_last) + " of " +
         std::to_string(m.order.of) + " " + trace::ToString(m.channel->op) + ", " + FormatDuration(m.order.lag) +
         " after the first";
}

// "rank 3", "ranks 3, 4".
std::string Ranks(const std::set<RankId>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + FormatRanks(std::vector<RankId>(ranks.begin(), ranks.end()), 8);
}

// One rank, or ranks of one host.
bool AreOfOneCard(const Job& job, const std::set<RankId>& senders) {
  std::set<int32_t> clocks;
  bool known = true;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (senders.count(job.ranks[r].meta.rank) == 0) continue;
    clocks.insert(job.comms.clock_of_rank[r]);
    known = known && job.ranks[r].comms.host_known;
  }
  return senders.size() == 1 || (known && clocks.size() == 1);
}

// Who receives over the slowest link, and where known who sends.
Candidate MakeSlowLink(const Job& job, const SlowRings& slow, const std::vector<Channel>& all,
                       std::span<const SlowChannel> in_some_steps) {
  constexpr size_t kMostRows = 4;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-link";
  std::set<RankId> ends, senders, receivers;
  std::set<std::pair<RankId, RankId>> links;
  std::set<std::vector<int32_t>> members;
  std::map<int32_t, std::set<RankId>> receivers_of;  // by group
  std::string order;
  for (const Marked& m : slow.marked) {
    ends.insert(m.order.last);
    receivers.insert(m.order.last);
    receivers_of[m.channel->group].insert(m.order.last);
    members.insert(m.channel->ranks);
    if (m.sender >= 0) {
      ends.insert(m.sender);
      senders.insert(m.sender);
    }
    if (links.insert({m.sender, m.order.last}).second) finding.scope.links.push_back({m.sender, m.order.last});
    if (m.channel->group == slow.marked.front().channel->group) order += (order.empty() ? "" : "; ") + TellOrder(m);
    if (finding.evidence.size() >= kMostRows) continue;
    finding.evidence.push_back(
        {std::string("median transfer of ") + trace::ToString(m.channel->op),
         Milliseconds(MedianTransfer(job, *m.channel)), "", "",
         Counted(static_cast<int64_t>(m.channel->calls.size()), "operation") + " of " + NameOf(job, *m.channel)});
  }
  const bool side_by_side = members.size() > 1;
  // Two kinds that run round one ring in opposite directions and agree on the sender, or on its host, settle it.
  const bool both_ways = std::any_of(receivers_of.begin(), receivers_of.end(),
                                     [](const auto& of_group) { return of_group.second.size() > 1; });
  if (both_ways && AreOfOneCard(job, senders)) {
    finding.scope.ranks.assign(senders.begin(), senders.end());
    finding.confidence = report::Confidence::kLikely;
    finding.confidence_reason = senders.size() == 1
                                    ? "two kinds of collective that run in opposite directions point at the same sender"
                                    : "two kinds of collective that run in opposite directions point at the same host";
    finding.headline = "the link out of " + Ranks(senders);
  } else {
    finding.confidence = report::Confidence::kSuspected;
    finding.confidence_reason =
        std::string(!AreFitted(slow.marked)     ? "from the order of ends alone"
                    : IsByArrivals(slow.marked) ? "from who comes last, whatever the clocks are"
                                                : "from how far ends lie apart, whatever the clocks are") +
        "; link counters or a pairwise test would prove it";
    finding.scope.ranks.assign(ends.begin(), ends.end());
    finding.headline = side_by_side       ? "from " + Ranks(senders) + " to " + Ranks(receivers)
                       : ends.size() == 2 ? "between " + Ranks(ends)
                                          : "into " + Ranks(receivers);
    if (!senders.empty()) finding.headline += " (either end)";
  }
  finding.id = "slow-link-" + std::to_string(finding.scope.ranks.front());
  finding.scope.group = NameOf(job, *slow.all.front());
  finding.sentence =
      "Transfers are slow though nobody is late: " + order +
      (side_by_side ? "; so it is in " + Counted(static_cast<int64_t>(members.size()), "group") + " side by side."
                    : ".");
  finding.suggestion =
      side_by_side
          ? "test the network cards of both hosts (counters, a pairwise bandwidth test), their cables and switch ports"
          : "test this link (counters, a pairwise bandwidth test); check rate limits, cabling, NIC and its driver";
  PriceSlowLink(job, slow, all, in_some_steps, &candidate);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  return candidate;
}

// A hint, no more: rings over hosts have such stairs of themselves where links inside a host are quicker. Steps that
// are even all round, from host to host as well, are of one link that is slower than all others: devices pass on small
// pieces of a long message, so they may be a small part of it.
std::optional<Candidate> MakeStairs(const Job& job, const Channels& kinds) {
  constexpr Nanos kLeastPerMille = 10, kPerMilleAllRound = 3;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  std::vector<Marked> marked;
  Nanos hop = 0;
  bool all_round = true;
  std::set<RankId> ends;
  for (const Channel* channel : kinds) {
    if (channel->ranks.size() < 3 || !IsRing(channel->op)) continue;
    const std::optional<RingStairs> stairs = StairsOfEnds(job, channel->calls);
    if (!stairs) continue;
    const Nanos lag = stairs->hop * static_cast<Nanos>(channel->ranks.size() - 1);
    if (lag * 1000 < MedianTransfer(job, *channel) * (stairs->all_round ? kPerMilleAllRound : kLeastPerMille)) continue;
    marked.push_back({channel, {.lag = lag}, -1});
    hop = std::max(hop, stairs->hop);
    all_round = all_round && stairs->all_round;
    if (!finding.scope.links.empty()) continue;
    finding.scope.links = stairs->links;
    for (const report::Link& link : stairs->links) ends.insert({link.from, link.to});
  }
  if (marked.empty()) return std::nullopt;
  finding.cause = "slow-link";
  finding.scope.ranks.assign(ends.begin(), ends.end());
  finding.scope.group = NameOf(job, *marked.front().channel);
  finding.id = "slow-link-stairs-" + std::to_string(marked.front().channel->group);
  const bool one = finding.scope.links.size() == 1;
  finding.headline = one ? "between ranks " + FormatRanks(finding.scope.ranks, 2)
                         : "between two hosts (ranks " + FormatRanks(finding.scope.ranks, 4) + ")";
  finding.sentence = "Each member of the ring ends " + FormatDuration(hop) + " before the one ahead of it, as behind " +
                     (one ? "one slow link." : "one slow link; clocks do not tell in which direction.");
  finding.suggestion = "compare with an earlier run, or test this link (counters, a pairwise bandwidth test)";
  finding.confidence = report::Confidence::kSuspected;
  finding.confidence_reason =
      all_round ? "from how evenly ends lie apart all round the ring; link counters or a pairwise test would prove it"
                : "a ring over hosts looks alike where the links inside a host are much quicker";
  RemoveStagger(job, marked, {}, &candidate);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  candidate.at_most_info = true;
  candidate.is_at_least = true;
  return candidate;
}

}  // namespace

RingLinks FindRingLinks(const Job& job, const Channels& channels, const std::vector<Channel>& all,
                        std::span<const SlowChannel> in_some_steps) {
  RingLinks out;
  std::map<int32_t, Channels> by_group;
  for (const Channel* channel : channels) by_group[channel->group].push_back(channel);
  RingMarks marks = MarkRings(job, by_group, all);
  out.too_many = marks.too_many;
  const bool has_device = job.ranks.front().has_device;
  std::map<Ways, SlowRings> slow;
  for (const auto& [group, kinds] : by_group) {
    if (const std::vector<Marked>& of_group = marks.of[group]; !of_group.empty()) {
      SlowRings& rings = slow[WaysOf(job, of_group)];
      rings.marked.insert(rings.marked.end(), of_group.begin(), of_group.end());
      rings.all.insert(rings.all.end(), kinds.begin(), kinds.end());
      continue;
    }
    if (has_device) {
      if (std::optional<Candidate> stairs = MakeStairs(job, kinds)) out.candidates.push_back(std::move(*stairs));
    }
    out.unexplained.insert(out.unexplained.end(), kinds.begin(), kinds.end());
  }
  for (const auto& [ways, rings] : slow) {
    out.candidates.push_back(MakeSlowLink(job, rings, all, in_some_steps));
    // That a library's rings go by rank is not known.
    const bool is_hint = has_device && AreFitted(rings.marked);
    out.candidates.back().at_most_info = is_hint;
    out.candidates.back().is_at_least = is_hint;
  }
  return out;
}

}  // namespace headway::diagnose
