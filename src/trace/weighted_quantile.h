// SPDX-License-Identifier: Apache-2.0
// Quantiles of values that do not count alike.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace headway::trace {

struct Weighted {
  double value = 0;
  double weight = 1;
};

// The smallest value at or below which a share `q` of the weight lies; 0 of nothing. Sorts `values`.
inline double WeightedQuantile(std::vector<Weighted>* values, double q) {
  if (values->empty()) return 0;
  std::sort(values->begin(), values->end(), [](const Weighted& a, const Weighted& b) {
    return a.value != b.value ? a.value < b.value : a.weight < b.weight;
  });
  double all = 0, below = 0;
  for (const Weighted& v : *values) all += v.weight;
  for (const Weighted& v : *values) {
    below += v.weight;
    if (below >= q * all) return v.value;
  }
  return values->back().value;
}

}  // namespace headway::trace
