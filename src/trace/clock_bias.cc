// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_bias.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/disjoint_sets.h"

namespace headway::trace {
std::vector<Nanos> BiasFromRoots(const ClockRounds& rounds, const std::vector<int32_t>& root) {
  DisjointSets sets(root.size());  // of clocks that rounds without bias tie together
  const auto set_of = [&sets](int32_t clock) { return static_cast<int32_t>(sets.Find(static_cast<size_t>(clock))); };
  const auto clock_at = [&](int32_t reading) { return rounds.readings[static_cast<size_t>(reading)].clock; };
  for (size_t r = 0; r < rounds.size(); ++r) {
    if (rounds.bias[r] > 0) continue;
    for (int32_t i = rounds.begin[r] + 1; i < rounds.begin[r + 1]; ++i) {
      sets.Unite(static_cast<size_t>(clock_at(rounds.begin[r])), static_cast<size_t>(clock_at(i)));
    }
  }
  std::map<std::pair<int32_t, int32_t>, Nanos> least;  // between sets
  for (size_t r = 0; r < rounds.size(); ++r) {
    for (int32_t i = rounds.begin[r] + 1; rounds.bias[r] > 0 && i < rounds.begin[r + 1]; ++i) {
      const std::pair<int32_t, int32_t> pair = std::minmax({set_of(clock_at(rounds.begin[r])), set_of(clock_at(i))});
      const auto [at, added] = least.try_emplace(pair, rounds.bias[r]);
      if (!added) at->second = std::min(at->second, rounds.bias[r]);
    }
  }
  constexpr Nanos kFar = std::numeric_limits<Nanos>::max() / 2;
  std::vector<Nanos> of_set(root.size(), kFar);
  for (const int32_t r : root) {
    if (r >= 0) of_set[static_cast<size_t>(set_of(r))] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [pair, bias] : least) {
      Nanos &a = of_set[static_cast<size_t>(pair.first)], &b = of_set[static_cast<size_t>(pair.second)];
      Nanos& far = a > b ? a : b;
      const Nanos reached = std::min(a, b) + bias;
      changed = changed || reached < far;
      far = std::min(far, reached);
    }
  }
  std::vector<Nanos> out(root.size(), 0);
  for (size_t c = 0; c < root.size(); ++c) {
    const Nanos bias = of_set[static_cast<size_t>(set_of(static_cast<int32_t>(c)))];
    if (root[c] >= 0 && bias < kFar) out[c] = bias;
  }
  return out;
}

}  // namespace headway::trace
