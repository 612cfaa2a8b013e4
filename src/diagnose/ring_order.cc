// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_order.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

// By how much the members' clocks may be apart; ranks of one host share theirs.
Nanos ResidualOf(const Job& job, const trace::Collective& collective) {
  Nanos worst = 0;
  const auto first = static_cast<size_t>(collective.members.front().rank_index);
  bool is_one_host = job.ranks[first].comms.host_known;
  for (const trace::CollectiveMember& member : collective.members) {
    const int32_t clock = job.comms.clock_of_rank[static_cast<size_t>(member.rank_index)];
    is_one_host = is_one_host && clock == job.comms.clock_of_rank[first];
    worst = std::max(worst, job.comms.clocks[static_cast<size_t>(clock)].residual);
  }
  return is_one_host ? 0 : worst;
}

// The rank counted most often; lowest of equals.
std::pair<int32_t, int64_t> Most(const std::map<int32_t, int64_t>& counts) {
  std::pair<int32_t, int64_t> most{-1, 0};
  for (const auto& [rank, n] : counts) {
    if (n > most.second) most = {rank, n};
  }
  return most;
}

double Z(int64_t times, int64_t of, size_t members) {
  if (of == 0 || members < 2) return 0;
  const double p = 1.0 / static_cast<double>(members);
  const auto n = static_cast<double>(of);
  return (static_cast<double>(times) / n - p) / std::sqrt(p * (1 - p) / n);
}

}  // namespace

bool IsRing(trace::CommOp op) {
  return op == trace::CommOp::kAllReduce || op == trace::CommOp::kAllGather || op == trace::CommOp::kReduceScatter;
}

RingOrder OrderOfEnds(const Job& job, std::span<const size_t> collectives) {
  RingOrder out;
  std::map<int32_t, int64_t> last, first;
  std::vector<Nanos> spreads;
  size_t members = 0;
  for (const size_t c : collectives) {
    const trace::Collective& collective = job.comms.collectives[c];
    if (collective.members.size() < 2) continue;
    members = std::max(members, collective.members.size());
    const Nanos residual = ResidualOf(job, collective);
    const graph::SegmentCollective& split = job.graph.collectives[c];
    if (split.first_end_margin > residual) {
      ++out.of_first;
      ++first[split.first_to_end];
    }
    if (split.last_end_margin <= residual) continue;
    ++out.of;
    ++last[split.last_to_end];
    spreads.push_back(split.end_spread);
    out.times_beyond += split.end_spread > split.transfer ? 1 : 0;
  }
  const auto [last_rank, times_last] = Most(last);
  const auto [first_rank, times_first] = Most(first);
  if (last_rank >= 0) out.last = job.ranks[static_cast<size_t>(last_rank)].meta.rank;
  if (first_rank >= 0) out.first = job.ranks[static_cast<size_t>(first_rank)].meta.rank;
  out.times_last = times_last;
  out.times_first = times_first;
  out.z_last = Z(times_last, out.of, members);
  out.z_first = Z(times_first, out.of_first, members);
  out.lag = Median(std::move(spreads));
  return out;
}

}  // namespace headway::diagnose
