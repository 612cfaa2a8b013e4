// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_order.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

struct Ends {
  int32_t first = -1, last = -1;  // rank indices
  Nanos spread = 0;
  bool first_is_clear = false, last_is_clear = false;
};

Nanos AlignedEnd(const Job& job, const trace::CollectiveMember& member) {
  const auto r = static_cast<size_t>(member.rank_index);
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
  return Align(clock, job.ranks[r].comms.instances[static_cast<size_t>(member.instance)].end);
}

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

Ends EndsOf(const Job& job, const trace::Collective& collective) {
  const Nanos residual = ResidualOf(job, collective);
  std::vector<std::pair<Nanos, int32_t>> ends;
  for (const trace::CollectiveMember& member : collective.members) {
    ends.emplace_back(AlignedEnd(job, member), member.rank_index);
  }
  std::sort(ends.begin(), ends.end());
  Ends out;
  const size_t n = ends.size();
  out.first = ends.front().second;
  out.last = ends.back().second;
  out.spread = ends.back().first - ends.front().first;
  out.first_is_clear = ends[1].first - ends[0].first > residual;
  out.last_is_clear = ends[n - 1].first - ends[n - 2].first > residual;
  return out;
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
  int64_t of_first = 0;
  std::vector<Nanos> spreads;
  size_t members = 0;
  for (const size_t c : collectives) {
    const trace::Collective& collective = job.comms.collectives[c];
    if (collective.members.size() < 2) continue;
    members = std::max(members, collective.members.size());
    const Ends ends = EndsOf(job, collective);
    if (ends.first_is_clear) {
      ++of_first;
      ++first[ends.first];
    }
    if (!ends.last_is_clear) continue;
    ++out.of;
    ++last[ends.last];
    spreads.push_back(ends.spread);
  }
  const auto [last_rank, times_last] = Most(last);
  const auto [first_rank, times_first] = Most(first);
  if (last_rank >= 0) out.last = job.ranks[static_cast<size_t>(last_rank)].meta.rank;
  if (first_rank >= 0) out.first = job.ranks[static_cast<size_t>(first_rank)].meta.rank;
  out.times_last = times_last;
  out.times_first = times_first;
  out.z_last = Z(times_last, out.of, members);
  out.z_first = Z(times_first, of_first, members);
  out.lag = Median(std::move(spreads));
  return out;
}

}  // namespace headway::diagnose
