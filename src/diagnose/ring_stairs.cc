// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>

#include "diagnose/excess.h"
#include "diagnose/ring_order.h"

namespace headway::diagnose {

namespace {

constexpr size_t kLeastMembers = 4;  // two steps are soon about even
constexpr size_t kLeastSteps = 2;    // between members whose clocks agree
constexpr Nanos kLeastHop = RingOrder::kLeastLag;

// Rank index and how long before the last member of its clock it ends, one value a collective. Collectives that a
// member misses are left out.
using Lags = std::map<int32_t, std::vector<Nanos>>;
// Members in the order they end, the last one first, with the middle of their lags.
using Chain = std::vector<std::pair<Nanos, int32_t>>;

// `group_of`: by rank index; members of one group are held against each other.
std::map<int32_t, Lags> LagsByGroup(const Job& job, std::span<const size_t> collectives,
                                    const std::vector<int32_t>& group_of) {
  std::map<int32_t, Lags> out;
  std::vector<Nanos> ends;
  for (const size_t c : collectives) {
    std::map<int32_t, Nanos> last;
    ends.clear();
    for (const trace::CollectiveMember& member : job.comms.collectives[c].members) {
      ends.push_back(AlignedEnd(job, member));
      const auto [it, fresh] = last.try_emplace(group_of[static_cast<size_t>(member.rank_index)], ends.back());
      it->second = std::max(it->second, ends.back());
    }
    size_t next = 0;
    for (const trace::CollectiveMember& member : job.comms.collectives[c].members) {
      const int32_t group = group_of[static_cast<size_t>(member.rank_index)];
      out[group][member.rank_index].push_back(last[group] - ends[next++]);
    }
  }
  return out;
}

Chain ChainOf(const Lags& lags) {
  Chain out;
  for (const auto& [rank, values] : lags) out.emplace_back(Median(values), rank);
  std::sort(out.begin(), out.end());
  return out;
}

// From each member to the next: by how much, and by how much that varies between collectives.
void AddSteps(const Chain& chain, const Lags& lags, std::vector<Nanos>* steps, std::vector<Nanos>* scatter) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    const std::vector<Nanos>& a = lags.at(chain[i].second);
    const std::vector<Nanos>& b = lags.at(chain[i + 1].second);
    const Nanos step = chain[i + 1].first - chain[i].first;
    steps->push_back(step);
    for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) scatter->push_back(std::abs(b[k] - a[k] - step));
  }
}

// The even step of all chains; 0 = there is none.
Nanos HopOf(const std::map<int32_t, Lags>& groups) {
  std::vector<Nanos> steps, scatter;
  for (const auto& [group, lags] : groups) AddSteps(ChainOf(lags), lags, &steps, &scatter);
  if (steps.size() < kLeastSteps) return 0;
  const Nanos hop = Median(steps);
  const bool even =
      std::all_of(steps.begin(), steps.end(), [&](Nanos x) { return x * 10 >= hop * 6 && x * 10 <= hop * 16; });
  return even && hop >= kLeastHop && hop >= 2 * Median(std::move(scatter)) ? hop : 0;
}

// The hosts' chains one behind the other, the last to end first, where their clocks are right enough to tell:
// `residual` moves none past another, and each begins about where the one ahead of it stops. Empty where they do not.
std::vector<Chain> InOrder(const std::map<int32_t, Lags>& hosts, const Lags& together, Nanos hop, Nanos residual) {
  std::vector<std::pair<Nanos, Chain>> order;  // by where the host begins
  for (const auto& [clock, lags] : hosts) {
    Chain chain = ChainOf(lags);
    order.emplace_back(Median(together.at(chain.front().second)), std::move(chain));
  }
  std::sort(order.begin(), order.end());
  std::vector<Chain> out;
  Nanos expected = order.front().first;
  for (auto& [begin, chain] : order) {
    const Nanos takes = hop * std::ssize(chain);
    if (std::abs(begin - expected) * 4 > takes * 3 || 2 * residual > takes) return {};
    expected += takes;
    out.push_back(std::move(chain));
  }
  return out;
}

// Whether ends lie apart at all. Most groups of most jobs are done with here, without a look at their rows.
bool MayBeStairs(const Job& job, std::span<const size_t> collectives) {
  std::vector<Nanos> spreads;
  for (const size_t c : collectives) spreads.push_back(job.graph.collectives[c].end_spread);
  return Median(std::move(spreads)) >= kLeastHop;
}

}  // namespace

std::optional<RingStairs> StairsOfEnds(const Job& job, std::span<const size_t> collectives) {
  if (collectives.size() < static_cast<size_t>(RingOrder::kLeast) || !MayBeStairs(job, collectives))
    return std::nullopt;
  size_t members = 0;
  for (const size_t c : collectives) members = std::max(members, job.comms.collectives[c].members.size());
  std::vector<size_t> whole;
  Nanos residual = 0;
  for (const size_t c : collectives) {
    if (job.comms.collectives[c].members.size() != members) continue;
    whole.push_back(c);
    for (const trace::CollectiveMember& member : job.comms.collectives[c].members) {
      const int32_t clock = job.comms.clock_of_rank[static_cast<size_t>(member.rank_index)];
      residual = std::max(residual, job.comms.clocks[static_cast<size_t>(clock)].residual);
    }
  }
  if (members < kLeastMembers || whole.size() < static_cast<size_t>(RingOrder::kLeast)) return std::nullopt;
  const auto link = [&](const Chain& from, const Chain& to) {
    return report::Link{job.ranks[static_cast<size_t>(from.back().second)].meta.rank,
                        job.ranks[static_cast<size_t>(to.front().second)].meta.rank};
  };
  // All clocks agree: the order of all is known.
  const auto together = LagsByGroup(job, whole, std::vector<int32_t>(job.num_ranks(), 0));
  if (const Nanos hop = HopOf(together); hop > 4 * residual) {
    const Chain chain = ChainOf(together.begin()->second);
    return RingStairs{hop, {link(chain, chain)}, true};
  }
  const auto by_host = LagsByGroup(job, whole, job.comms.clock_of_rank);
  const Nanos hop = by_host.size() < 2 ? 0 : HopOf(by_host);
  if (hop == 0) return std::nullopt;
  if (by_host.size() > 2) {
    const std::vector<Chain> hosts = InOrder(by_host, together.begin()->second, hop, residual);
    if (hosts.empty()) return std::nullopt;
    return RingStairs{hop, {link(hosts.back(), hosts.front())}, false};
  }
  const Chain a = ChainOf(by_host.begin()->second), b = ChainOf(by_host.rbegin()->second);
  return RingStairs{hop, {link(a, b), link(b, a)}, false};
}

}  // namespace headway::diagnose
