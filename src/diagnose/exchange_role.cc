// SPDX-License-Identifier: Apache-2.0
#include "diagnose/exchange_role.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
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

// Members of a group and how far apart they lie: groups of one layout divide the job in one way.
using Layout = std::pair<size_t, RankId>;

Layout LayoutOf(const Job& job, const Channel& channel) {
  const std::vector<RankId>& ranks = GroupOf(job, channel).ranks;
  return {ranks.size(), ranks[1] - ranks[0]};
}

// Whether the operations of a step have few of a rank's messages between them. A pipeline's messages come between those
// of layers; gradients are exchanged when the last ones have gone.
bool RunsInOneGo(const Job& job, const Channel& channel) {
  int64_t all = 0, between = 0;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const auto calls = channel.CallsOf(s);
    if (calls.empty()) continue;
    const auto row_of = [&](size_t c) -> const trace::CommInstance& {
      const trace::CollectiveMember& member = job.comms.collectives[c].members.front();
      return job.ranks[static_cast<size_t>(member.rank_index)].comms.instances[static_cast<size_t>(member.instance)];
    };
    const auto rank = static_cast<size_t>(job.comms.collectives[calls.front()].members.front().rank_index);
    const trace::CommInstance &first = row_of(calls.front()), &last = row_of(calls.back());
    for (const trace::CommInstance& row : job.ranks[rank].comms.instances) {
      if (row.step != first.step || !(trace::IsOneWay(row.op) || trace::NamesNoPeer(row.op))) continue;
      ++all;
      between += row.start > first.start && row.start < last.start ? 1 : 0;
    }
  }
  return all > 0 && between * 4 <= all;
}

// Of groups that nothing names: those that exchange gradients, as far as how they divide the job tells.
std::set<int32_t> UnnamedExchanges(const Job& job, const std::vector<const Channel*>& unnamed) {
  std::map<Layout, std::vector<const Channel*>> by_layout;
  for (const Channel* channel : unnamed) by_layout[LayoutOf(job, *channel)].push_back(channel);
  std::erase_if(by_layout, [&](const auto& entry) {
    std::map<int32_t, std::set<int32_t>> groups_of;  // by rank
    for (const Channel* channel : entry.second) {
      for (const int32_t r : channel->ranks) groups_of[r].insert(channel->group);
    }
    const bool once =
        std::all_of(groups_of.begin(), groups_of.end(), [](const auto& g) { return g.second.size() == 1; });
    return !once || groups_of.size() < job.num_ranks();
  });
  if (by_layout.empty()) return {};
  const auto farthest = std::max_element(by_layout.begin(), by_layout.end(),
                                         [](const auto& a, const auto& b) { return a.first.second < b.first.second; });
  const auto& channels = farthest->second;
  const bool is_only = by_layout.size() == 1;
  if (is_only &&
      !std::all_of(channels.begin(), channels.end(), [&](const Channel* c) { return RunsInOneGo(job, *c); })) {
    return {};
  }
  std::set<int32_t> out;
  for (const Channel* channel : channels) out.insert(channel->group);
  return out;
}

}  // namespace

std::vector<Family> FamiliesOf(const Job& job, const std::vector<Channel>& channels, Role wanted) {
  bool roles = false;
  std::vector<const Channel*> exchanging, unnamed;
  for (const Channel& channel : channels) {
    if (!IsExchange(channel.op) || channel.ranks.size() < 2) continue;
    exchanging.push_back(&channel);
    roles = roles || RoleOf(job, channel) != GroupRole::kUnknown;
    if (channel.ranks.size() < job.num_ranks()) unnamed.push_back(&channel);
  }
  const std::set<int32_t> known = roles ? std::set<int32_t>() : UnnamedExchanges(job, unnamed);
  std::map<std::tuple<int32_t, bool, CommOp>, Family> families;
  for (const Channel* channel : exchanging) {
    const GroupRole role = RoleOf(job, *channel);
    // Groups without a description could be anything, unless all ranks are in one.
    const bool is_all = channel->ranks.size() == job.num_ranks();
    const bool exchanges =
        role == GroupRole::kDp || (role == GroupRole::kUnknown && is_all && !roles) || known.count(channel->group) > 0;
    const bool is_wanted = wanted == Role::kExchange ? exchanges : !exchanges && role == GroupRole::kUnknown;
    if (is_wanted) families[{channel->family, exchanges, channel->op}].push_back(channel);
  }
  std::vector<Family> out;
  for (auto& [key, family] : families) out.push_back(std::move(family));
  return out;
}

}  // namespace headway::diagnose
