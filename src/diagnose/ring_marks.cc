// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_marks.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "diagnose/arrival_fit.h"
#include "diagnose/ring_fit.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

// The member a ring sends from to `receiver`. gloo's all-reduce (and the reduce-scatter made of it) sends to the rank
// before, its all-gather to the rank after; other libraries choose their own order: -1.
RankId RingSender(const trace::JobGroup& group, CommOp op, RankId receiver) {
  const auto it = std::find(group.ranks.begin(), group.ranks.end(), receiver);
  if (it == group.ranks.end()) return -1;
  const size_t n = group.ranks.size();
  const auto i = static_cast<size_t>(it - group.ranks.begin());
  if (op == CommOp::kAllReduce || op == CommOp::kReduceScatter) return group.ranks[(i + 1) % n];
  if (op == CommOp::kAllGather) return group.ranks[(i + n - 1) % n];
  return -1;
}

// The member that ends first is the one that sends, whatever order a library gives its ring. Processes that share cores
// end in any order: of a host backend the ring it is known to use decides.
RankId SenderTo(const Job& job, const Channel& channel, const RingOrder& order) {
  if (job.ranks.front().has_device) return order.first;
  return RingSender(job.comms.groups[static_cast<size_t>(channel.group)], channel.op, order.last);
}

// Whether members of a ring that end `lag` apart do so by a good part of the transfer. Devices pass on small pieces of
// a long one: there it takes no more than what is beyond chance.
bool IsGoodPart(const Job& job, const Channel& channel, Nanos lag) {
  constexpr Nanos kPerMille = 150, kPerMilleOfDevices = 3;
  const bool has_device = job.ranks.front().has_device;
  return lag * 1000 >= MedianTransfer(job, channel) * (has_device ? kPerMilleOfDevices : kPerMille) &&
         (!has_device || lag >= RingOrder::kLeastLag);
}

// The ranks that a ring visits, each sending to the next, as gloo does it; of devices ascending. Empty where one has no
// file.
std::vector<size_t> RingOf(const Job& job, const Channel& channel) {
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(channel.group)];
  std::vector<size_t> out;
  for (const RankId rank : group.ranks) {
    // By index they ascend by rank, too.
    const auto it = std::lower_bound(channel.ranks.begin(), channel.ranks.end(), rank, [&](int32_t r, RankId wanted) {
      return job.ranks[static_cast<size_t>(r)].meta.rank < wanted;
    });
    if (it == channel.ranks.end() || job.ranks[static_cast<size_t>(*it)].meta.rank != rank) return {};
    out.push_back(static_cast<size_t>(*it));
  }
  const bool goes_down = !job.ranks.front().has_device && channel.op != CommOp::kAllGather;
  if (goes_down) std::reverse(out.begin(), out.end());  // it sends to the rank before
  return out;
}

// Where hosts' clocks do not tell who ends last: the way out that suits the ends of all `channels` that are rings over
// hosts. The rings of devices are taken to go by rank, up or down.
std::vector<Marked> FitOverHosts(const Job& job, const Channels& channels, bool* too_many) {
  std::vector<Ring> rings;
  for (const Channel* channel : channels) {
    if (!IsRing(channel->op) || channel->hosts.size() < 2) continue;
    if (Ring ring{channel, RingOf(job, *channel)}; ring.members.size() >= 3) rings.push_back(std::move(ring));
  }
  *too_many = AreTooMany(rings);
  if (rings.empty() || *too_many) return {};
  std::optional<RingFit> fit = FitRings(job, rings);
  if (job.ranks.front().has_device) {
    for (Ring& ring : rings) std::reverse(ring.members.begin(), ring.members.end());
    const std::optional<RingFit> other = FitRings(job, rings);
    if (fit && other) return {};
    if (!fit) fit = other;
  }
  if (!fit) return {};
  std::vector<Marked> out;
  for (const RingFit::Link& link : fit->links) {
    RingOrder order;
    order.first = link.sender;
    order.last = link.receiver;
    order.lag = link.hop * (std::ssize(link.channel->ranks) - 1);
    if (IsGoodPart(job, *link.channel, order.lag)) out.push_back({link.channel, order, link.sender, ToldBy::kEnds});
  }
  return out;
}

// The same from how long operations take depending on who comes last. Each of two members has what the other one sent,
// whatever they do.
std::vector<Marked> FitLastToCome(const Job& job, const Channels& channels, bool* too_many) {
  std::vector<Ring> rings;
  for (const Channel* channel : channels) {
    const bool is_pair =
        channel->sender < 0 && channel->ranks.size() == 2 && (IsRing(channel->op) || channel->op == CommOp::kAllToAll);
    if (channel->hosts.size() < 2 || !(is_pair || (IsRing(channel->op) && channel->ranks.size() > 2))) continue;
    if (Ring ring{channel, RingOf(job, *channel)}; ring.members.size() >= 2) rings.push_back(std::move(ring));
  }
  *too_many = *too_many || AreTooManyToFit(rings);
  std::vector<Marked> out;
  for (const LateLink& link : FitArrivals(job, rings)) {
    RingOrder order;
    order.first = link.sender;
    order.last = link.receiver;
    order.lag = link.lag;
    if (IsGoodPart(job, *link.channel, order.lag)) out.push_back({link.channel, order, link.sender, ToldBy::kArrivals});
  }
  return out;
}

// Two members are a ring if a network lies between them: on one host whoever has less of a core ends later.
bool MayShowOrder(const Job& job, const Channel& channel) {
  if (!IsRing(channel.op) || channel.ranks.size() < 2) return false;
  const auto knows_host = [&](int32_t r) { return job.ranks[static_cast<size_t>(r)].comms.host_known; };
  const bool over_hosts =
      channel.hosts.size() == 2 && std::all_of(channel.ranks.begin(), channel.ranks.end(), knows_host);
  return channel.ranks.size() > 2 || over_hosts;
}

bool IsAlwaysSo(const RingOrder& order) {
  return order.TellsBoth() && order.times_last * 10 >= order.of * 9 && order.times_first * 10 >= order.of_first * 9;
}

// Chance, size and share: as good as never by chance, most of the time (of thousands of operations a habit that is none
// of the network's shows as well), and late by a good part of the transfer itself. A device's ring must show the
// sender, too, and be apart by more than healthy ones are. Of two members one is always last, and be it by what their
// clocks are off: nearly all operations have to say so.
bool IsStaggered(const Job& job, const Channel& channel, const RingOrder& order) {
  if (!order.TellsLast() || order.times_last * 2 < order.of) return false;
  const bool is_told = IsAlwaysSo(order) && order.of * 2 >= static_cast<int64_t>(channel.calls.size());
  if (channel.ranks.size() == 2 && !is_told) return false;
  const Nanos transfer = MedianTransfer(job, channel);
  if (!job.ranks.front().has_device) {
    // Threads taken for one group whose members belong to several.
    const bool is_beyond = channel.op == CommOp::kAllReduce && order.times_beyond * 2 > order.of;
    return IsGoodPart(job, channel, order.lag) && !is_beyond;
  }
  return order.TellsBoth() && order.lag >= RingOrder::kLeastLag && order.lag * 100 >= transfer * 4;
}

Nanos AllTransfers(const Channel& channel) {
  return std::accumulate(channel.actual.begin(), channel.actual.end(), Nanos{0});
}

// Takes marks by ends that are so in most operations only off groups where a group that is held against them, without
// such a mark, takes as long: then no link of theirs is slow. In a ring that is bound by the start of its messages
// whoever comes last decides who ends last.
void DropNoSlower(const std::vector<Channel>& all, std::map<int32_t, std::vector<Marked>>* marked) {
  std::map<std::pair<int32_t, int32_t>, Nanos> longest;  // of those without a mark, by family and likes
  for (const Channel& channel : all) {
    const auto marks = marked->find(channel.group);
    if (channel.likes < 0 || (marks != marked->end() && !marks->second.empty())) continue;
    Nanos& most = longest[{channel.family, channel.likes}];
    most = std::max(most, AllTransfers(channel));
  }
  const auto is_no_slower = [&](const Marked& m) {
    const auto like = longest.find({m.channel->family, m.channel->likes});
    return m.by == ToldBy::kOrder && !IsAlwaysSo(m.order) && like != longest.end() &&
           like->second * 10 >= AllTransfers(*m.channel) * 9;
  };
  for (auto& [group, found] : *marked) {
    if (std::all_of(found.begin(), found.end(), is_no_slower)) found.clear();
  }
}

}  // namespace

RingMarks MarkRings(const Job& job, const std::map<int32_t, Channels>& by_group, const std::vector<Channel>& all) {
  const bool has_device = job.ranks.front().has_device;
  RingMarks marks;
  std::map<int32_t, std::vector<Marked>>& marked = marks.of;
  for (const auto& [group, kinds] : by_group) {
    std::vector<Marked> staggered;
    for (const Channel* channel : kinds) {
      if (!MayShowOrder(job, *channel)) continue;
      const RingOrder order = OrderOfEnds(job, channel->calls);
      if (IsStaggered(job, *channel, order)) staggered.push_back({channel, order, SenderTo(job, *channel, order)});
    }
    if (staggered.empty() && !has_device) staggered = FitOverHosts(job, kinds, &marks.too_many);
    // Processes that share cores are apart by chance: only where transfers hold a good part of the step, or nearly all
    // operations say the same.
    const bool is_sure = has_device || std::any_of(staggered.begin(), staggered.end(), [](const Marked& m) {
                           return m.by != ToldBy::kOrder || IsAlwaysSo(m.order);
                         });
    if (is_sure || ExposedPerStep(job, kinds) * 10 >= job.median_step) marked[group] = std::move(staggered);
  }
  if (!has_device) DropNoSlower(all, &marked);
  // What is open yet of what was asked for.
  const auto enter = [&](const std::vector<Marked>& found) {
    std::set<int32_t> open;
    for (const auto& [group, kinds] : by_group) {
      if (marked[group].empty()) open.insert(group);
    }
    for (const Marked& m : found) {
      if (open.count(m.channel->group) == 0) continue;
      const Channels& asked = by_group.at(m.channel->group);
      if (std::find(asked.begin(), asked.end(), m.channel) != asked.end()) marked[m.channel->group].push_back(m);
    }
  };
  const auto any_is_open = [&] {
    return std::any_of(by_group.begin(), by_group.end(), [&](const auto& of) { return marked[of.first].empty(); });
  };
  if (!any_is_open()) return marks;
  Channels rings;  // short ones, too: they tell of the clocks
  for (const Channel& channel : all) rings.push_back(&channel);
  enter(FitOverHosts(job, rings, &marks.too_many));
  if (has_device && any_is_open()) enter(FitLastToCome(job, rings, &marks.too_many));
  return marks;
}

}  // namespace headway::diagnose
