// SPDX-License-Identifier: Apache-2.0
#include "synth/network.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headway::synth {

double BusFactor(Coll op, int members) {
  const double n = members;
  switch (op) {
    case Coll::kAllReduce: return 2 * (n - 1) / n;
    case Coll::kAllGather:
    case Coll::kReduceScatter:
    case Coll::kAllToAll: return (n - 1) / n;
    default: return 1;
  }
}

int RingSteps(Coll op, int members) {
  switch (op) {
    case Coll::kAllReduce: return 2 * (members - 1);
    case Coll::kAllGather:
    case Coll::kReduceScatter: return members - 1;
    default: return 1;
  }
}

void RingEnds(Time startup, Time data, int steps, int loops, std::span<const double> factors, std::span<Time> ends) {
  const size_t n = ends.size();
  HEADWAY_CHECK(factors.size() == n && steps >= 1 && loops >= 1);
  const size_t slow = static_cast<size_t>(std::max_element(factors.begin(), factors.end()) - factors.begin());
  const double factor = factors[slow];
  const double last = static_cast<double>(data) * factor;
  const double per_hop = (factor - 1) * static_cast<double>(data) / steps / loops;
  for (size_t j = 0; j < n; ++j) {  // j places behind the receiver of the slowest link
    const double end = std::max(static_cast<double>(data), last - static_cast<double>(j) * per_hop);
    ends[(slow + 1 + j) % n] = startup + std::llround(end);
  }
}

void AllToAllEnds(Time startup, Time data, std::span<const double> egress, std::span<Time> ends) {
  const size_t n = ends.size();
  HEADWAY_CHECK(egress.size() == n);
  const double piece = n > 1 ? static_cast<double>(data) / static_cast<double>(n - 1) : 0;
  for (size_t to = 0; to < n; ++to) {
    double end = static_cast<double>(data);
    for (size_t turn = 1; turn < n; ++turn) {
      const size_t from = (to + n - turn) % n;
      end = std::max(end, piece * static_cast<double>(turn) * egress[from]);
    }
    ends[to] = startup + std::llround(end);
  }
}

}  // namespace headway::synth
