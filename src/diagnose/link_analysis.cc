// SPDX-License-Identifier: Apache-2.0
// Transfers that are long while nobody is late: held against the same operations of sibling groups and of other steps
// they show whose way out is slow; the order in which the members of a ring finish shows the link; where all are slow
// alike it is the fabric.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/egress_finding.h"
#include "diagnose/ring_order.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

// No like to compare with: the price of a slow link is given as if it were four times faster.
constexpr double kKeep = 0.25;

using Channels = std::vector<const Channel*>;

// The member a ring sends from to `receiver`. gloo's all-reduce (and the reduce-scatter made of it) sends to the rank
// before, its all-gather to the rank after; other libraries choose their own order: -1.
RankId RingSender(const trace::JobGroup& group, CommOp op, RankId receiver, bool host_backend) {
  if (!host_backend) return -1;
  const auto it = std::find(group.ranks.begin(), group.ranks.end(), receiver);
  if (it == group.ranks.end()) return -1;
  const size_t n = group.ranks.size();
  const auto i = static_cast<size_t>(it - group.ranks.begin());
  if (op == CommOp::kAllReduce || op == CommOp::kReduceScatter) return group.ranks[(i + 1) % n];
  if (op == CommOp::kAllGather) return group.ranks[(i + n - 1) % n];
  return -1;
}

// Mean over the ranks that take part of exposed transfer per step, for the operations in question.
Nanos ExposedPerStep(const Job& job, const Channels& channels) {
  Nanos sum = 0;
  std::set<int32_t> ranks;
  for (const Channel* channel : channels) {
    ranks.insert(channel->ranks.begin(), channel->ranks.end());
    for (const size_t c : channel->calls) sum += job.graph.collectives[c].exposed_transfer;
  }
  return sum / static_cast<Nanos>(std::max<size_t>(1, ranks.size() * job.num_steps()));
}

// By step: what the slowest group would save; groups run side by side.
std::vector<Nanos> ExcessBySteps(const Job& job, const Channels& channels, double keep) {
  std::map<int32_t, std::vector<Nanos>> by_group;
  for (const Channel* channel : channels) {
    std::vector<Nanos>& by_step = by_group.try_emplace(channel->group, job.num_steps(), 0).first->second;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      for (const size_t c : channel->CallsOf(s)) {
        by_step[s] += static_cast<Nanos>((1 - keep) * static_cast<double>(job.graph.collectives[c].transfer));
      }
    }
  }
  std::vector<Nanos> most(job.num_steps(), 0);
  for (const auto& [group, by_step] : by_group) {
    for (size_t s = 0; s < most.size(); ++s) most[s] = std::max(most[s], by_step[s]);
  }
  return most;
}

Nanos MedianTransfer(const Job& job, const Channel& channel) {
  std::vector<Nanos> transfers;
  for (const size_t c : channel.calls) transfers.push_back(job.graph.collectives[c].transfer);
  return Median(std::move(transfers));
}

struct Marked {
  const Channel* channel;
  RingOrder order;
};

// Chance, size and share: as good as never by chance, and late by a good part of the transfer itself. A device's ring
// must show the sender, too.
bool IsStaggered(const Job& job, const Channel& channel, const RingOrder& order) {
  if (!order.TellsLast()) return false;
  const Nanos transfer = MedianTransfer(job, channel);
  if (!job.ranks.front().has_device) return order.lag * 100 >= transfer * 15;
  return order.TellsBoth() && order.lag * 100 >= transfer * 4;
}

// In a ring of n the ends of an all-reduce are apart by (n - 1) / 2 (n - 1) of what the slow link costs it, or less
// where the message goes round in several pieces; of an all-gather by all of it.
void RemoveStagger(const Job& job, const std::vector<Marked>& marked, Candidate* candidate) {
  candidate->excess.assign(job.num_steps(), 0);
  for (const Marked& m : marked) {
    const Nanos transfer = MedianTransfer(job, *m.channel);
    if (transfer <= 0) continue;
    const Nanos cost = std::min(transfer / 2, m.order.lag * (m.channel->op == CommOp::kAllReduce ? 2 : 1));
    const double keep = 1 - static_cast<double>(cost) / static_cast<double>(transfer);
    ScaleTransfers(job, m.channel->calls, keep, &candidate->edit);
    for (size_t s = 0; s < job.num_steps(); ++s) {
      candidate->excess[s] += cost * static_cast<Nanos>(m.channel->CallsOf(s).size());
    }
  }
}

// From the order of ends alone: who receives over the slowest link of this group, and where known who sends.
Candidate MakeSlowLink(const Job& job, const std::vector<Marked>& marked, const Channels& all) {
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-link";
  std::set<RankId> ends, senders, receivers;
  const bool host_backend = !job.ranks.front().has_device;
  std::string order;
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(all.front()->group)];
  for (const Marked& m : marked) {
    // The member that ends first is the one that sends, whatever order a library gives its ring. Processes that share
    // cores end in any order: of a host backend the ring it is known to use decides.
    const RankId sender = !host_backend ? m.order.first : RingSender(group, m.channel->op, m.order.last, host_backend);
    ends.insert(m.order.last);
    receivers.insert(m.order.last);
    if (sender >= 0) {
      ends.insert(sender);
      senders.insert(sender);
    }
    const auto is_listed = [&](const report::Link& l) { return l.from == sender && l.to == m.order.last; };
    if (std::none_of(finding.scope.links.begin(), finding.scope.links.end(), is_listed)) {
      finding.scope.links.push_back({sender, m.order.last});
    }
    order += (order.empty() ? "" : "; ") + std::string("rank ") + std::to_string(m.order.last) + " ends last in " +
             std::to_string(m.order.times_last) + " of " + std::to_string(m.order.of) + " " +
             trace::ToString(m.channel->op) + ", " + FormatDuration(m.order.lag) + " after the first";
    finding.evidence.push_back(
        {std::string("median transfer of ") + trace::ToString(m.channel->op),
         Milliseconds(MedianTransfer(job, *m.channel)), "", "",
         Counted(static_cast<int64_t>(m.channel->calls.size()), "operation") + " of " + NameOf(job, *m.channel)});
  }
  // Two kinds that run round the ring in opposite directions and agree on the sender settle it.
  if (senders.size() == 1 && receivers.size() >= 2) {
    finding.scope.ranks.assign(senders.begin(), senders.end());
    finding.confidence = report::Confidence::kLikely;
    finding.confidence_reason = "two kinds of collective that run in opposite directions point at the same sender";
    finding.headline = "the link out of rank " + std::to_string(*senders.begin());
  } else {
    finding.scope.ranks.assign(ends.begin(), ends.end());
    finding.confidence = report::Confidence::kSuspected;
    finding.confidence_reason = "from the order of ends alone; link counters or a pairwise test would prove it";
    finding.headline = ends.size() == 2 ? "between ranks " + FormatRanks(finding.scope.ranks, 2) + " (either end)"
                                        : "into rank " + FormatRanks(finding.scope.ranks, 2);
  }
  finding.id = "slow-link-" + std::to_string(finding.scope.ranks.front());
  finding.scope.group = NameOf(job, *all.front());
  finding.sentence = "Transfers are slow though nobody is late: " + order + ".";
  finding.suggestion =
      "test this link (counters, a pairwise bandwidth test); check rate limits, cabling, NIC and its driver";
  if (host_backend) {
    candidate.excess = ExcessBySteps(job, all, kKeep);
    for (const Channel* channel : all) ScaleTransfers(job, channel->calls, kKeep, &candidate.edit);
    finding.evidence.push_back(
        {"gain is estimated as if the link were", "4x faster", "", "", "no faster link to compare with"});
  } else {
    RemoveStagger(job, marked, &candidate);
    finding.evidence.push_back({"gain is estimated from", "the order of ends", "", "",
                                "a slow link costs at least twice what the ends lie apart"});
  }
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  return candidate;
}

// A hint, no more: rings over hosts have such stairs of themselves where links inside a host are quicker.
std::optional<Candidate> MakeStairs(const Job& job, const Channels& kinds) {
  constexpr int kLeastPerCent = 1;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  std::vector<Marked> marked;
  Nanos hop = 0;
  std::set<RankId> ends;
  for (const Channel* channel : kinds) {
    if (channel->ranks.size() < 3 || !IsRing(channel->op)) continue;
    const std::optional<RingStairs> stairs = StairsOfEnds(job, channel->calls);
    if (!stairs) continue;
    const Nanos lag = stairs->hop * static_cast<Nanos>(channel->ranks.size() - 1);
    if (lag * 100 < MedianTransfer(job, *channel) * kLeastPerCent) continue;
    marked.push_back({channel, {.lag = lag}});
    hop = std::max(hop, stairs->hop);
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
  finding.confidence_reason = "a ring over hosts looks alike where the links inside a host are much quicker";
  RemoveStagger(job, marked, &candidate);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  candidate.at_most_info = true;
  return candidate;
}

constexpr double kSlowNetwork = 0.125;  // bytes per ns: one gigabit a second

// Of the transfers whose bytes are written; 0 = none are.
double BytesPerNs(const Job& job, const Channels& channels) {
  Bytes bytes = 0;
  Nanos time = 0;
  for (const Channel* channel : channels) {
    for (const size_t c : channel->calls) {
      if (job.comms.collectives[c].bytes <= 0) continue;
      bytes += job.comms.collectives[c].bytes;
      time += job.graph.collectives[c].transfer;
    }
  }
  return time > 0 ? static_cast<double>(bytes) / static_cast<double>(time) : 0;
}

void DescribeFabric(const Job& job, Candidate* candidate) {
  report::Finding& finding = candidate->finding;
  finding.cause = "slow-fabric";
  FillScope(job, AllRanks(job), &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.when = ClassifyWhen(candidate->excess, job.steps);
  finding.suggestion =
      "check the network between all hosts (rate limits, congestion, wrong interface or protocol); compare "
      "with an earlier run (--baseline); send less or overlap it";
}

// Transfers hold most of the step everywhere.
Candidate MakeSlowFabric(const Job& job, const Channels& channels, Nanos exposed) {
  Candidate candidate;
  candidate.excess = ExcessBySteps(job, channels, kKeep);
  DescribeFabric(job, &candidate);
  report::Finding& finding = candidate.finding;
  finding.id = "slow-fabric";
  finding.sentence = "Moving data holds " +
                     FormatPercent(static_cast<double>(exposed) / static_cast<double>(job.median_step)) +
                     " of the step though nobody is late, and no member of a group ends later than the others.";
  finding.confidence = report::Confidence::kSuspected;
  finding.confidence_reason = "no faster transfers in this job to compare with";
  // A program may wait for its transfers by design: only a rate that no network of today should have is warned of.
  const double rate = BytesPerNs(job, channels);
  candidate.at_most_info = job.ranks.front().has_device || rate > kSlowNetwork;
  if (rate > 0) {
    finding.evidence.push_back({"bytes moved over time moved", FormatFixed(rate, 2) + " GB/s",
                                "over " + FormatFixed(kSlowNetwork, 3) + " GB/s", "",
                                "operations whose size is known"});
  }
  for (const Channel* channel : channels) {
    if (finding.evidence.size() >= 5) break;
    finding.evidence.push_back({std::string("median transfer of ") + trace::ToString(channel->op),
                                Milliseconds(MedianTransfer(job, *channel)), "", "", NameOf(job, *channel)});
  }
  for (const Channel* channel : channels) ScaleTransfers(job, channel->calls, kKeep, &candidate.edit);
  return candidate;
}

// All channels are slower in some steps than in their others.
Candidate MakeFabricInSomeSteps(const Job& job, const std::vector<Channel>& channels,
                                const std::vector<SlowChannel>& slow) {
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (const SlowChannel& s : slow) RemoveExcess(job, channels[s.channel], s, &candidate);
  DescribeFabric(job, &candidate);
  candidate.finding.id = "slow-fabric-steps";
  candidate.finding.sentence =
      "In these steps the transfers of " + Counted(static_cast<int64_t>(slow.size()), "channel") + " take " +
      FormatRatio(MeanRatio(slow)) + " the time they take in other steps, though nobody is late.";
  candidate.finding.confidence = report::Confidence::kLikely;
  candidate.finding.confidence_reason = "the same operations of all groups, in the same steps";
  return candidate;
}

// What is held against siblings first: what they share (a slow step of all) says nothing about one of them.
std::set<int32_t> FindEgress(const Job& job, const std::vector<Channel>& channels, AnalysisOutput* out) {
  std::set<int32_t> explained;
  for (Egress& egress :
       Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings)) {
    NarrowByOrder(job, channels, &egress);
    for (const SlowChannel& slow : egress.slow) explained.insert(channels[slow.channel].group);
    out->candidates.push_back(MakeSlowEgress(job, channels, egress, Against::kSiblings));
  }
  std::vector<SlowChannel> slow = FindSlowChannels(job, channels, Against::kOtherSteps);
  std::erase_if(slow, [&](const SlowChannel& s) { return explained.count(channels[s.channel].group) > 0; });
  Nanos all = 0, struck = 0;
  for (const Channel& channel : channels) {
    for (const Nanos t : channel.actual) all += t;
  }
  for (const SlowChannel& s : slow) {
    for (const Nanos t : channels[s.channel].actual) struck += t;
  }
  const bool has_device = job.ranks.front().has_device;  // a host backend's transfers vary with the host's load
  const bool most = has_device && slow.size() >= 2 && struck * 10 > all * 7;
  std::vector<Egress> found = Localise(job, channels, slow, Against::kOtherSteps);
  for (Egress& egress : found) NarrowByOrder(job, channels, &egress);
  // One way out may slow nearly all there is (of two hosts every group that spans them), if the order of ends says so.
  const bool is_one_way = found.size() == 1 && found.front().sides.size() == 1 && !found.front().links.empty() &&
                          found.front().slow.size() == slow.size();
  if (most && !is_one_way) {
    out->candidates.push_back(MakeFabricInSomeSteps(job, channels, slow));
    return explained;
  }
  for (Egress& egress : found) {
    if (egress.sides.size() != 1 && !has_device) continue;
    for (const SlowChannel& s : egress.slow) explained.insert(channels[s.channel].group);
    out->candidates.push_back(MakeSlowEgress(job, channels, egress, Against::kOtherSteps));
  }
  return explained;
}

}  // namespace

void RunLinkAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.median_step <= 0) return;
  const std::vector<Channel>& channels = in.channels;
  const std::set<int32_t> explained = FindEgress(job, channels, out);
  Channels unexplained;
  std::map<int32_t, Channels> by_group;
  for (const Channel& channel : channels) {
    const bool is_p2p = job.comms.groups[static_cast<size_t>(channel.group)].is_p2p;
    if (!is_p2p && explained.count(channel.group) == 0) by_group[channel.group].push_back(&channel);
  }
  for (const auto& [group, kinds] : by_group) {
    std::vector<Marked> marked;
    for (const Channel* channel : kinds) {
      if (channel->ranks.size() < 3 || !IsRing(channel->op)) continue;
      const RingOrder order = OrderOfEnds(job, channel->calls);
      if (IsStaggered(job, *channel, order)) marked.push_back({channel, order});
    }
    // Processes that share cores are apart by chance: only where transfers hold a good part of the step.
    const bool enough = job.ranks.front().has_device || ExposedPerStep(job, kinds) * 10 >= job.median_step;
    if (!marked.empty() && enough) {
      out->candidates.push_back(MakeSlowLink(job, marked, kinds));
      continue;
    }
    if (job.ranks.front().has_device) {
      if (std::optional<Candidate> stairs = MakeStairs(job, kinds)) out->candidates.push_back(std::move(*stairs));
    }
    unexplained.insert(unexplained.end(), kinds.begin(), kinds.end());
  }
  // Two steps, or one, say too little about a whole network.
  if (job.num_steps() < 3) return;
  const Nanos exposed = ExposedPerStep(job, unexplained);
  if (exposed * 100 >= job.median_step * 45) out->candidates.push_back(MakeSlowFabric(job, unexplained, exposed));
}

}  // namespace headway::diagnose
