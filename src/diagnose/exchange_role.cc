// SPDX-License-Identifier: Apache-2.0
#include "diagnose/exchange_role.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnose/coordinates.h"
#include "trace/comm_sequence.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

bool IsExchange(CommOp op) {
  return op == CommOp::kAllReduce || op == CommOp::kReduceScatter || op == CommOp::kAllGather;
}

const trace::JobGroup& GroupOf(const Job& job, const Channel& channel) {
  return job.comms.groups[static_cast<size_t>(channel.group)];
}

GroupRole RoleOf(const Job& job, const Channel& channel) { return RoleOfDescription(GroupOf(job, channel).desc); }

// Size of a group and the distance from each member to the next: groups of one layout divide the job in one way. No
// distance where it is not the same throughout.
using Layout = std::pair<size_t, RankId>;

Layout LayoutOf(const Job& job, const Channel& channel) {
  const std::vector<RankId>& ranks = GroupOf(job, channel).ranks;
  const RankId distance = ranks[1] - ranks[0];
  for (size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != distance) return {ranks.size(), -1};
  }
  return {ranks.size(), distance};
}

// Whether the operations of a step have few of a rank's messages between them. A pipeline's messages come between those
// of layers; gradients are exchanged when the last ones have gone.
bool RunsInOneGo(const Job& job, const Channel& channel) {
  const auto member_of = [&](size_t c) { return job.comms.collectives[c].members.front(); };
  const auto rank = static_cast<size_t>(channel.ranks.front());
  std::map<int32_t, std::vector<Nanos>> messages;  // by step of the rank: when they begin
  for (const trace::CommInstance& row : job.ranks[rank].comms.instances) {
    if (trace::IsOneWay(row.op) || trace::NamesNoPeer(row.op)) messages[row.step].push_back(row.start);
  }
  int64_t all = 0, between = 0;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const auto calls = channel.CallsOf(s);
    if (calls.empty()) continue;
    const trace::CollectiveMember from = member_of(calls.front()), to = member_of(calls.back());
    if (static_cast<size_t>(from.rank_index) != rank || static_cast<size_t>(to.rank_index) != rank) continue;
    const auto& rows = job.ranks[rank].comms.instances;
    const trace::CommInstance& first = rows[static_cast<size_t>(from.instance)];
    const Nanos last = rows[static_cast<size_t>(to.instance)].start;
    const std::vector<Nanos>& of_step = messages[first.step];
    all += std::ssize(of_step);
    between += std::count_if(of_step.begin(), of_step.end(), [&](Nanos at) { return at > first.start && at < last; });
  }
  return all > 0 && between * 4 <= all;
}

// Whether each rank is in one of these groups, and in one only.
bool DividesJob(const Job& job, const std::vector<const Channel*>& channels) {
  std::map<int32_t, int32_t> group_of;  // by rank
  for (const Channel* channel : channels) {
    for (const int32_t r : channel->ranks) {
      if (group_of.try_emplace(r, channel->group).first->second != channel->group) return false;
    }
  }
  return group_of.size() == job.num_ranks();
}

// Of groups that nothing names: those that exchange gradients, as far as how they divide the job tells.
std::set<int32_t> UnnamedExchanges(const Job& job, const std::vector<const Channel*>& unnamed) {
  std::map<Layout, std::vector<const Channel*>> by_layout;
  for (const Channel* channel : unnamed) by_layout[LayoutOf(job, *channel)].push_back(channel);
  std::erase_if(by_layout, [&](const auto& entry) { return entry.first.second < 0 || !DividesJob(job, entry.second); });
  if (by_layout.empty()) return {};
  RankId farthest = 0;
  for (const auto& [layout, channels] : by_layout) farthest = std::max(farthest, layout.second);
  std::vector<const Channel*> found;
  for (const auto& [layout, channels] : by_layout) {
    if (layout.second != farthest) continue;
    if (!found.empty()) return {};  // two that lie as far apart
    found = channels;
  }
  const auto in_one_go = [&](const Channel* channel) { return RunsInOneGo(job, *channel); };
  if (by_layout.size() == 1 && !std::all_of(found.begin(), found.end(), in_one_go)) return {};
  std::set<int32_t> out;
  for (const Channel* channel : found) out.insert(channel->group);
  return out;
}

}  // namespace

Exchanges ExchangesOf(const Job& job, const std::vector<Channel>& channels) {
  bool roles = false;
  std::vector<const Channel*> exchanging, unnamed;
  for (const Channel& channel : channels) {
    if (!IsExchange(channel.op) || channel.ranks.size() < 2) continue;
    exchanging.push_back(&channel);
    roles = roles || RoleOf(job, channel) != GroupRole::kUnknown;
    if (channel.ranks.size() < job.num_ranks()) unnamed.push_back(&channel);
  }
  const std::set<int32_t> found = roles ? std::set<int32_t>() : UnnamedExchanges(job, unnamed);
  std::map<int32_t, Family> known, unknown;
  for (const Channel* channel : exchanging) {
    const GroupRole role = RoleOf(job, *channel);
    // Groups without a description could be anything, unless all ranks are in one.
    const bool is_all = role == GroupRole::kUnknown && channel->ranks.size() == job.num_ranks() && !roles;
    if (role == GroupRole::kDp || is_all || found.count(channel->group) > 0) {
      known[channel->family].push_back(channel);
    } else if (role == GroupRole::kUnknown) {
      unknown[channel->family].push_back(channel);
    }
  }
  Exchanges out;
  for (auto& [number, family] : known) out.known.push_back(std::move(family));
  for (auto& [number, family] : unknown) out.unknown.push_back(std::move(family));
  return out;
}

}  // namespace headway::diagnose
