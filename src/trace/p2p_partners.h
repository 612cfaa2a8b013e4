// SPDX-License-Identifier: Apache-2.0
// Which ranks send to each other where no row says it and no group is known.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/units.h"

namespace headway::trace {

// How well all that one rank sends and receives fits another's.
struct PartnerFit {
  double score = 0;      // 0 … 1
  Nanos scatter = 0;     // of the ends against each other, whatever the clocks
  bool by_ends = false;  // kernels: partners end within microseconds, so `scatter` tells them from ranks in step
};

// Pairs of 0 … n - 1, each at most once: those that fit best first. Where ends tell, a rank with a second partner whose
// ends agree about as well stays alone. O(n^2 log n); `fit(i, j)`, i < j, is asked for once a pair.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> ChoosePartners(
    size_t n, const std::function<PartnerFit(size_t, size_t)>& fit);

}  // namespace headway::trace
