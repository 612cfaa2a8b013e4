// SPDX-License-Identifier: Apache-2.0
#include "diagnose/egress_finding.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/text.h"
#include "diagnose/ring_order.h"
#include "diagnose/ring_shift.h"
#include "diagnose/scope.h"
#include "diagnose/shared_way.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

std::vector<size_t> CallsOf(const Channel& channel, const SlowChannel& slow, bool struck) {
  std::vector<size_t> out;
  for (size_t s = 0; s < slow.cost.size(); ++s) {
    if ((slow.cost[s] > 0) != struck) continue;
    const auto calls = channel.CallsOf(s);
    out.insert(out.end(), calls.begin(), calls.end());
  }
  return out;
}

std::vector<size_t> StruckCalls(const Channel& channel, const SlowChannel& slow) {
  return CallsOf(channel, slow, true);
}

// The link that the ends of the channel show: those in the struck steps, or else by what they differ from the others.
std::optional<report::Link> LinkOf(const Job& job, const Channel& channel, const SlowChannel& slow) {
  const std::vector<size_t> struck = StruckCalls(channel, slow);
  const RingOrder order = OrderOfEnds(job, struck);
  if (order.TellsBoth()) return report::Link{order.first, order.last};
  return LinkByShift(job, struck, CallsOf(channel, slow, false));
}

// Rank indices behind an egress: those ranks, or those of its hosts that its slow channels reach.
std::vector<size_t> RanksBehind(const Job& job, std::span<const Channel> channels, const Egress& egress) {
  std::set<size_t> out;
  const auto is_side = [&](int32_t i) {
    return std::find(egress.sides.begin(), egress.sides.end(), i) != egress.sides.end();
  };
  for (const SlowChannel& slow : egress.slow) {
    const Channel& channel = channels[slow.channel];
    for (const int32_t r : channel.ranks) {
      if (channel.sender >= 0 && r != channel.sender) continue;
      if (is_side(egress.is_host ? job.comms.clock_of_rank[static_cast<size_t>(r)] : r)) {
        out.insert(static_cast<size_t>(r));
      }
    }
  }
  return {out.begin(), out.end()};
}

void AddChannelEvidence(const Job& job, std::span<const Channel> channels, const Egress& egress, Against against,
                        report::Finding* finding) {
  std::vector<const SlowChannel*> order;
  for (const SlowChannel& slow : egress.slow) order.push_back(&slow);
  const auto sum = [](const SlowChannel& slow) {
    Nanos total = 0;
    for (const Nanos x : slow.cost) total += x;
    return total;
  };
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return sum(*a) > sum(*b); });
  for (const SlowChannel* slow : order) {
    if (finding->evidence.size() >= 4) break;
    const Channel& channel = channels[slow->channel];
    Nanos actual = 0, expected = 0, steps = 0;
    for (size_t s = 0; s < slow->cost.size(); ++s) {
      if (slow->cost[s] <= 0) continue;
      actual += channel.actual[s];
      expected += channel.actual[s] - slow->cost[s];
      ++steps;
    }
    const std::string of =
        (channel.sender < 0
             ? ""
             : "out of rank " + std::to_string(job.ranks[static_cast<size_t>(channel.sender)].meta.rank) + " in ") +
        NameOf(job, channel);
    const bool siblings = against == Against::kSiblings;
    finding->evidence.push_back(
        {std::string("transfers of ") + trace::ToString(channel.op) + " per struck step", Milliseconds(actual / steps),
         siblings ? "" : Milliseconds(expected / steps), siblings ? Milliseconds(expected / steps) : "",
         of + ", " + Counted(steps, "step") +
             (siblings ? "; peers: the same operations of groups like it" : "; expected: its other steps")});
  }
}

// Groups that no file names, and sizes that none writes, are themselves conclusions; but no stage sends so many times
// more than another. Nor do several channels of a rank take longer in the very same steps (`by_steps`) by chance.
bool IsDoubtful(const Job& job, std::span<const Channel> channels, const SlowChannel& slow, bool by_steps) {
  constexpr double kBeyondDoubt = 4;
  const Channel& channel = channels[slow.channel];
  const bool concluded = channel.is_assumed || job.comms.groups[static_cast<size_t>(channel.group)].inferred;
  return concluded && !by_steps && (channel.sender < 0 || slow.ratio < kBeyondDoubt);
}

}  // namespace

void NarrowByOrder(const Job& job, std::span<const Channel> channels, Egress* egress) {
  std::map<int32_t, int64_t> votes;
  std::set<std::tuple<int32_t, RankId, RankId>> seen;  // side, from, to
  for (const SlowChannel& slow : egress->slow) {
    const Channel& channel = channels[slow.channel];
    // Of two members the one that ends last has waited for what the other one sends, whatever they do.
    if (!IsRing(channel.op) && channel.ranks.size() != 2) continue;
    const std::optional<report::Link> link = LinkOf(job, channel, slow);
    if (!link) continue;
    for (const int32_t r : channel.ranks) {
      if (job.ranks[static_cast<size_t>(r)].meta.rank != link->from) continue;
      const int32_t side = egress->is_host ? job.comms.clock_of_rank[static_cast<size_t>(r)] : r;
      ++votes[side];
      seen.insert({side, link->from, link->to});
    }
  }
  int64_t all = 0;
  std::pair<int32_t, int64_t> most{-1, 0};
  for (const auto& [side, n] : votes) {
    all += n;
    if (n > most.second) most = {side, n};
  }
  const bool is_side = std::find(egress->sides.begin(), egress->sides.end(), most.first) != egress->sides.end();
  if (egress->sides.size() > 1 && !egress->is_row && is_side && most.second * 3 > all * 2) egress->sides = {most.first};
  if (egress->sides.size() != 1) return;
  for (const auto& [side, from, to] : seen) {
    if (side == egress->sides.front()) egress->links.push_back({from, to});
  }
  // What only the others explained is not explained.
  std::erase_if(egress->slow, [&](const SlowChannel& slow) {
    const Channel& channel = channels[slow.channel];
    const std::vector<int32_t>& of = egress->is_host ? channel.hosts : channel.ranks;
    return std::find(of.begin(), of.end(), egress->sides.front()) == of.end();
  });
}

std::optional<Egress> RowByOrder(const Job& job, std::span<const Channel> channels,
                                 const std::vector<SlowChannel>& slow) {
  std::map<int32_t, bool> told;       // by group: whether one kind of its operations tells by itself
  std::map<RankId, int32_t> senders;  // with their indices
  std::set<RankId> receivers;
  for (const SlowChannel& s : slow) {
    const Channel& channel = channels[s.channel];
    if (channel.sender >= 0 || channel.ranks.size() != 2) return std::nullopt;
    const RingOrder order = OrderOfEnds(job, StruckCalls(channel, s));
    if (order.first == order.last) return std::nullopt;
    for (const int32_t r : channel.ranks) {
      const pattern::RankPattern& rank = job.ranks[static_cast<size_t>(r)];
      if (rank.comms.host_known) return std::nullopt;
      if (rank.meta.rank == order.first) senders[order.first] = r;
    }
    receivers.insert(order.last);
    bool& tells = told[channel.group];
    tells = tells || order.TellsBoth();
  }
  if (senders.size() < 2 || std::any_of(told.begin(), told.end(), [](const auto& of) { return !of.second; })) {
    return std::nullopt;
  }
  const RankId span = senders.rbegin()->first - senders.begin()->first + 1;
  const bool apart = std::none_of(senders.begin(), senders.end(),
                                  [&](const auto& sender) { return receivers.count(sender.first) > 0; });
  if (span != static_cast<RankId>(senders.size()) || !apart) return std::nullopt;
  Egress out;
  out.is_row = true;
  for (const auto& [rank, index] : senders) out.sides.push_back(index);
  out.slow = slow;
  out.predicted = slow.size();
  return out;
}

namespace {

// A step's calls that take no longer, all together, than `expected`: that is spread over them as they took until the
// last member had ended. What is slow in a ring holds up its first member least.
void TakeNoLonger(const Job& job, std::span<const size_t> calls, Nanos expected, replay::SegmentEdit* edit) {
  double all = 0;
  for (const size_t c : calls) {
    all += static_cast<double>(job.graph.collectives[c].transfer + job.graph.collectives[c].end_spread);
  }
  for (const size_t c : calls) {
    const graph::SegmentCollective& split = job.graph.collectives[c];
    const auto whole = static_cast<double>(split.transfer + split.end_spread);
    const auto until = static_cast<Nanos>(static_cast<double>(expected) * whole / std::max(1.0, all));
    const Nanos transfer = std::min(split.transfer, until);
    const double spread = static_cast<double>(std::min(split.transfer + split.end_spread, until) - transfer);
    const double lags = split.end_spread > 0 ? spread / static_cast<double>(split.end_spread) : 1;
    edit->transfers.push_back({static_cast<int32_t>(c), transfer, lags});
  }
}

}  // namespace

void RemoveExcess(const Job& job, const Channel& channel, const SlowChannel& slow, Candidate* candidate) {
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (slow.cost[s] <= 0) continue;
    if (channel.sender < 0) {
      TakeNoLonger(job, channel.CallsOf(s), channel.actual[s] - slow.cost[s], &candidate->edit);
    } else {
      const double keep =
          1 - static_cast<double>(slow.cost[s]) / static_cast<double>(std::max<Nanos>(1, channel.actual[s]));
      ScaleTransfers(job, channel.CallsOf(s), keep, &candidate->edit);
    }
    candidate->excess[s] = std::max(candidate->excess[s], slow.cost[s]);
  }
}

namespace {

// What passes the slow way, too: by what it shows itself, and by what is taken from the others.
void AddBesides(const Job& job, std::span<const Channel> channels, std::span<const SlowChannel> besides,
                report::Finding* finding) {
  for (const bool is_taken : {false, true}) {
    const auto is_it = [&](const SlowChannel& slow) { return slow.is_taken == is_taken; };
    const auto first = std::find_if(besides.begin(), besides.end(), is_it);
    if (first == besides.end()) continue;
    const Channel& channel = channels[first->channel];
    const std::string count = Counted(std::count_if(besides.begin(), besides.end(), is_it), "channel");
    finding->evidence.push_back(
        {std::string(is_taken ? "taken to be as slow: " : "slower in the same steps: ") + trace::ToString(channel.op),
         is_taken ? count : FormatRatio(first->ratio), "", "",
         (is_taken ? "passes here, as do all that it could be held against: "
                   : count + " here, against other steps: ") +
             NameOf(job, channel)});
  }
}

}  // namespace

Candidate MakeSlowEgress(const Job& job, std::span<const Channel> channels, const Egress& egress, Against against,
                         std::span<const SlowChannel> besides) {
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-link";
  finding.scope.links = egress.links;
  const std::vector<size_t> members = RanksBehind(job, channels, egress);
  FillScope(job, members, &finding.scope);
  candidate.excess.assign(job.num_steps(), 0);
  for (const SlowChannel& slow : egress.slow) RemoveExcess(job, channels[slow.channel], slow, &candidate);
  for (const SlowChannel& slow : besides) RemoveExcess(job, channels[slow.channel], slow, &candidate);
  if (finding.scope.links.empty()) {
    for (const size_t r : members) finding.scope.links.push_back({job.ranks[r].meta.rank, -1});
  }
  const bool is_one = egress.sides.size() == 1;
  const size_t groups = egress.slow.size();
  finding.id = "slow-link-" + std::to_string(finding.scope.ranks.front());
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  const std::string who = Who(job, finding.scope);
  finding.headline = (is_one ? "the link out of " : "a link of ") + who;
  finding.sentence =
      "Transfers take " + FormatRatio(MeanRatio(egress.slow)) + " the time " +
      (against == Against::kSiblings ? "the same operations take in groups like these"
                                     : "the same operations take in other steps") +
      ", though nobody is late" +
      (is_one ? ", in " + Counted(static_cast<int64_t>(groups), "channel") +
                    (egress.is_host ? " that leave this host." : " this rank sends in.")
       : egress.is_row ? ": all that these ranks send. The files name no hosts; they may share a network card."
                       : "; all slow groups hold these ranks, and nothing tells them apart.");
  finding.suggestion =
      egress.is_host && is_one
          ? "check this host's network card, its driver, cable and switch port; run a pairwise bandwidth test"
          : "test this link (counters, a pairwise bandwidth test); check rate limits, cabling, NIC and its driver";
  finding.confidence = is_one && groups >= 2 ? report::Confidence::kLikely : report::Confidence::kSuspected;
  finding.confidence_reason = std::to_string(groups) + " of " + std::to_string(egress.predicted) +
                              " groups and pairs that such a link would slow are slow; link counters would prove it";
  AddChannelEvidence(job, channels, egress, against, &finding);
  AddBesides(job, channels, besides, &finding);
  // That something among so many is slow names nobody.
  const bool is_anybody = egress.sides.size() > 2 && !egress.is_row;
  const bool by_steps = std::any_of(besides.begin(), besides.end(), [](const SlowChannel& s) { return !s.is_taken; });
  candidate.at_most_info = is_anybody || egress.is_slight ||
                           std::any_of(egress.slow.begin(), egress.slow.end(), [&](const SlowChannel& slow) {
                             return IsDoubtful(job, channels, slow, by_steps);
                           });
  return candidate;
}

}  // namespace headway::diagnose
