// SPDX-License-Identifier: Apache-2.0
#include "diagnose/refine_suspect.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

bool RefineByFunction(const AnalysisInput& in, const Explanation& why, const std::vector<size_t>& peers,
                      Suspect* suspect) {
  const Nanos held = why.node_excess + why.other_excess;
  if (why.node < 0 || held * 10 < suspect->total * 6) return false;
  if (suspect->is_part) return true;
  const auto series_of = [&](size_t rank) {
    std::vector<Nanos> out = in.view->Series(why.node, rank);
    if (!why.pair) return out;
    const std::vector<Nanos> other = in.view->Series(why.other_node, rank);
    std::transform(out.begin(), out.end(), other.begin(), out.begin(), std::plus<>());
    return out;
  };
  std::vector<Nanos> mine = series_of(suspect->rank);
  std::vector<std::vector<Nanos>> others;
  for (const size_t p : peers) others.push_back(series_of(p));
  Nanos worst = 0;
  for (size_t s = 0; s < mine.size(); ++s) {
    std::vector<Nanos> values;
    for (const auto& series : others) values.push_back(series[s]);
    mine[s] -= Median(std::move(values));
    worst = std::max(worst, mine[s]);
  }
  const Nanos usual = MedianOfStruck(mine, (worst + 1) / 2);
  const Nanos limit = std::max(in.job.median_step / 100, usual * 35 / 100);
  const bool nearly_all = held * 20 >= suspect->total * 17;
  for (size_t s = 0; s < mine.size(); ++s) {
    if (mine[s] < limit) {
      mine[s] = 0;
    } else if (const Nanos all = suspect->table->At(suspect->rank, s); !nearly_all && all != kNoValue) {
      // A function that holds nearly all of it prices it best; of one that merely leads, the rest belongs to it too.
      mine[s] = std::max(mine[s], all);
    }
  }
  Suspect refined = MakeSuspect(suspect->rank, *suspect->table, std::move(mine));
  if (refined.total * 2 < suspect->total || (why.pair && refined.struck * 10 < suspect->struck * 9)) return false;
  *suspect = std::move(refined);
  return true;
}

}  // namespace headway::diagnose
