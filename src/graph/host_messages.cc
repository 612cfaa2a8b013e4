// SPDX-License-Identifier: Apache-2.0
#include "graph/host_messages.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "graph/segment_graph.h"
#include "trace/comm_sequence.h"

namespace headway::graph {
namespace {

using trace::Collective;
using trace::CollectiveMember;
using trace::CommInstance;
using trace::CommOp;

constexpr Nanos kFarSlower = 3;                // times the quickest, and 1 ms: no transfer varies so much
constexpr Nanos kAtOnce = 300 * kMicrosecond;  // a blocked rank goes on so soon

const CommInstance& RowOf(std::span<const pattern::RankPattern> ranks, const CollectiveMember& member) {
  return ranks[static_cast<size_t>(member.rank_index)].comms.instances[static_cast<size_t>(member.instance)];
}

// Somebody was blocked about until the first of the rows ended.
bool EndIsSeen(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms, const Collective& c) {
  const auto clock_of = [&](const CollectiveMember& m) -> const trace::HostClock& {
    return comms.clocks[static_cast<size_t>(comms.clock_of_rank[static_cast<size_t>(m.rank_index)])];
  };
  Nanos first = INT64_MAX;
  for (const CollectiveMember& m : c.members) first = std::min(first, Align(clock_of(m), RowOf(ranks, m).end));
  return std::any_of(c.members.begin(), c.members.end(), [&](const CollectiveMember& m) {
    const CommInstance& row = RowOf(ranks, m);
    return row.exposed > kAtOnce && std::abs(Align(clock_of(m), row.exposed_end) - first) <= kMillisecond;
  });
}

}  // namespace

std::vector<char> FindHostMessages(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms) {
  std::vector<char> out(comms.collectives.size(), 0);
  bool any = false;
  for (size_t c = 0; c < out.size(); ++c) {
    const auto& members = comms.collectives[c].members;
    const auto is_message = [&](const CollectiveMember& m) {
      return trace::IsHostMessage(ranks[static_cast<size_t>(m.rank_index)].comms, RowOf(ranks, m));
    };
    out[c] = members.size() == 2 && is_message(members[0]) && is_message(members[1]) ? 1 : 0;
    any = any || out[c] != 0;
  }
  if (!any) out.clear();
  return out;
}

void ShortenHostMessages(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                         const std::vector<char>& is_message, std::span<SegmentCollective> collectives) {
  using Channel = std::tuple<int32_t, int32_t, Bytes>;  // sender, receiver
  std::map<Channel, std::vector<size_t>> channels;
  for (size_t c = 0; c < is_message.size(); ++c) {
    if (is_message[c] == 0) continue;
    const auto& members = comms.collectives[c].members;
    const size_t sender = RowOf(ranks, members[0]).op == CommOp::kSend ? 0 : 1;
    channels[{members[sender].rank_index, members[1 - sender].rank_index, comms.collectives[c].bytes}].push_back(c);
  }
  for (const auto& [channel, calls] : channels) {
    std::vector<Nanos> transfers;
    for (const size_t c : calls) transfers.push_back(collectives[c].transfer);
    const auto quick = transfers.begin() + static_cast<std::ptrdiff_t>(transfers.size() / 10);
    std::nth_element(transfers.begin(), quick, transfers.end());
    for (const size_t c : calls) {
      Nanos& transfer = collectives[c].transfer;
      if (transfer > kFarSlower * *quick + kMillisecond && !EndIsSeen(ranks, comms, comms.collectives[c]))
        transfer = *quick;
      collectives[c].shortest = transfer;
    }
  }
}

std::vector<Blocked> BlockedInMessages(std::span<const MessageRow> rows) {
  std::vector<size_t> by_end(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) by_end[i] = i;
  std::sort(by_end.begin(), by_end.end(),
            [&](size_t a, size_t b) { return rows[a].end != rows[b].end ? rows[a].end < rows[b].end : a < b; });
  std::vector<Blocked> out(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const MessageRow& row = rows[i];
    out[i] = {row.exposed_end, row.exposed, i};
    if (row.exposed == 0 || row.exposed_end <= row.done + row.slack) continue;
    // Another row that ends here came later: the time was spent waiting for that one.
    auto at = std::lower_bound(by_end.begin(), by_end.end(), row.exposed_end - row.slack,
                               [&](size_t r, Nanos time) { return rows[r].end < time; });
    for (; at != by_end.end() && rows[*at].end <= row.exposed_end + row.slack; ++at) {
      const MessageRow& other = rows[*at];
      const bool near = other.done <= row.exposed_end + kAtOnce && other.done >= row.exposed_end - row.slack;
      if (near && other.done > rows[out[i].by].done) out[i].by = *at;
    }
    // Began after the data had come: beside the open row, not in it.
    if (out[i].by == i && row.exposed_end - row.exposed >= row.done) out[i].time = 0;
  }
  return out;
}

}  // namespace headway::graph
