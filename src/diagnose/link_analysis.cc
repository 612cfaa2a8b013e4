// SPDX-License-Identifier: Apache-2.0
// Transfers that are long while nobody is late: held against the same operations of sibling groups and of other steps
// they show whose way out is slow; the order in which the members of a ring finish shows the link; where all are slow
// alike it is the fabric.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/egress_finding.h"
#include "diagnose/fabric_steps.h"
#include "diagnose/ring_links.h"
#include "diagnose/scope.h"
#include "diagnose/shared_way.h"
#include "diagnose/unseen.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

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
  candidate.excess = ExcessBySteps(job, channels, kAsIfFaster);
  DescribeFabric(job, &candidate);
  report::Finding& finding = candidate.finding;
  finding.id = "slow-fabric";
  finding.sentence = "Moving data holds " +
                     FormatPercent(static_cast<double>(exposed) / static_cast<double>(job.median_step)) +
                     " of the step though nobody is late, and no member of a group ends later than the others.";
  finding.confidence = report::Confidence::kSuspected;
  finding.confidence_reason = "no faster transfers in this job to compare with";
  // A program may wait for its transfers by design: only a rate that no network of today should have is warned of, and
  // where no size is written none is known.
  const double rate = BytesPerNs(job, channels);
  candidate.at_most_info = job.ranks.front().has_device || rate == 0 || rate > kSlowNetwork;
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
  for (const Channel* channel : channels) ScaleTransfers(job, channel->calls, kAsIfFaster, &candidate.edit);
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
  const bool has_device = job.ranks.front().has_device;
  candidate.finding.confidence = slow.size() > 1 ? report::Confidence::kLikely : report::Confidence::kSuspected;
  candidate.finding.confidence_reason = slow.size() > 1 ? "the same operations of all groups, in the same steps"
                                                        : "one group is all there is: a link of it would look the same";
  // On one machine a host backend's transfers take the memory and cores that everything else there does.
  candidate.at_most_info = !has_device && job.comms.clocks.size() < 2;
  return candidate;
}

// What the slow channels show.
struct SlowWays {
  std::set<int32_t> explained;      // groups
  std::optional<Candidate> fabric;  // the network in some steps
  std::vector<SlowChannel> in_some_steps;
  std::set<RankId> one_way;  // the members of what is slow where all of it passes one way out, too
};

// What is held against siblings first: what they share (a slow step of all) says nothing about one of them.
SlowWays FindEgress(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  const std::vector<Channel>& channels = in.channels;
  SlowWays ways;
  ways.in_some_steps = FindSlowChannels(job, channels, Against::kOtherSteps);
  const std::vector<SlowChannel>& in_some_steps = ways.in_some_steps;
  for (Egress& egress :
       Localise(job, channels, FindSlowChannels(job, channels, Against::kSiblings), Against::kSiblings)) {
    NarrowByOrder(job, channels, &egress);
    for (const SlowChannel& slow : egress.slow) ways.explained.insert(channels[slow.channel].group);
    const std::vector<SlowChannel> besides = SlowBesides(job, channels, egress, in_some_steps);
    for (const SlowChannel& slow : besides) ways.explained.insert(channels[slow.channel].group);
    out->candidates.push_back(MakeSlowEgress(job, channels, egress, Against::kSiblings, besides));
  }
  std::vector<SlowChannel> slow = FindFabricSteps(job, in.excess, channels, ways.explained);
  const bool all_together = !slow.empty();
  if (!all_together) {
    slow = in_some_steps;
    std::erase_if(slow, [&](const SlowChannel& s) { return ways.explained.count(channels[s.channel].group) > 0; });
  }
  Nanos all = 0, struck = 0;
  for (const Channel& channel : channels) {
    for (const Nanos t : channel.actual) all += t;
  }
  for (const SlowChannel& s : slow) {
    for (const Nanos t : channels[s.channel].actual) struck += t;
  }
  const bool has_device = job.ranks.front().has_device;  // a host backend's transfers vary with the host's load
  const bool most = all_together || (has_device && slow.size() >= 2 && struck * 10 > all * 7);
  std::vector<Egress> found = Localise(job, channels, slow, Against::kOtherSteps);
  for (Egress& egress : found) NarrowByOrder(job, channels, &egress);
  // One way out may slow nearly all there is (of two hosts every group that spans them), if the order of ends says so.
  const bool is_one_way = found.size() == 1 && found.front().slow.size() == slow.size();
  for (const SlowChannel& s : is_one_way ? slow : std::vector<SlowChannel>()) {
    for (const int32_t r : channels[s.channel].ranks) ways.one_way.insert(job.ranks[static_cast<size_t>(r)].meta.rank);
  }
  const bool is_known = is_one_way && found.front().sides.size() == 1 && !found.front().links.empty();
  const std::optional<Egress> row = most ? RowByOrder(job, channels, slow) : std::nullopt;
  if (row) {
    for (const SlowChannel& s : slow) ways.explained.insert(channels[s.channel].group);
    out->candidates.push_back(MakeSlowEgress(job, channels, *row, Against::kOtherSteps));
    return ways;
  }
  if (most && !is_known) {
    ways.fabric = MakeFabricInSomeSteps(job, channels, slow);
    return ways;
  }
  for (Egress& egress : found) {
    if (egress.sides.size() != 1 && !has_device) continue;
    for (const SlowChannel& s : egress.slow) ways.explained.insert(channels[s.channel].group);
    out->candidates.push_back(MakeSlowEgress(job, channels, egress, Against::kOtherSteps));
  }
  return ways;
}

// Of groups some of whose members nothing shows slow transfers are told in a remark, and not at all where these members
// are of another capture or by a clock that is off.
void LeaveUnseenMembersRoom(const Job& job, std::vector<Candidate>* candidates) {
  std::erase_if(*candidates, [&](Candidate& candidate) {
    const std::set<RankId> unseen = MayBeWaitedFor(job, candidate.edit);
    if (unseen.empty()) return false;
    candidate.at_most_info = true;
    candidate.finding.confidence = report::Confidence::kSuspected;
    candidate.finding.confidence_reason = "members of these groups have no trace, or none that meets the others'";
    candidate.finding.sentence += " Waiting for " + NameUnseen(job, unseen) + ", looks the same.";
    return AnyAtOdds(job, unseen);
  });
}

void FindSlowTransfers(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  const std::vector<Channel>& channels = in.channels;
  SlowWays ways = FindEgress(in, out);
  Channels left;
  for (const Channel& channel : channels) {
    const bool is_p2p = job.comms.groups[static_cast<size_t>(channel.group)].is_p2p;
    if (!is_p2p && ways.explained.count(channel.group) == 0) left.push_back(&channel);
  }
  RingLinks rings = FindRingLinks(job, left, channels, ways.in_some_steps);
  if (rings.too_many) {
    out->not_checked.push_back(
        {"slow links whose ring ends in an order that clocks do not tell", "too many ranks to fit all ends together"});
  }
  // Where one way out would do, a link that shows among these ranks is it.
  const auto is_the_way = [&](const Candidate& ring) {
    const std::vector<RankId>& ends = ring.finding.scope.ranks;
    return !ring.at_most_info &&
           std::all_of(ends.begin(), ends.end(), [&](RankId rank) { return ways.one_way.count(rank) > 0; });
  };
  const bool shows = std::any_of(rings.candidates.begin(), rings.candidates.end(), is_the_way);
  if (ways.fabric && !shows) out->candidates.push_back(std::move(*ways.fabric));
  std::move(rings.candidates.begin(), rings.candidates.end(), std::back_inserter(out->candidates));
  // Two steps, or one, say too little about a whole network.
  if (job.num_steps() < 3) return;
  const Nanos exposed = ExposedPerStep(job, rings.unexplained);
  if (exposed * 100 >= job.median_step * 45) out->candidates.push_back(MakeSlowFabric(job, rings.unexplained, exposed));
}

}  // namespace

void RunLinkAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  if (in.job.median_step <= 0) return;
  AnalysisOutput found;
  FindSlowTransfers(in, &found);
  LeaveUnseenMembersRoom(in.job, &found.candidates);
  std::move(found.candidates.begin(), found.candidates.end(), std::back_inserter(out->candidates));
  std::move(found.not_checked.begin(), found.not_checked.end(), std::back_inserter(out->not_checked));
}

}  // namespace headway::diagnose
