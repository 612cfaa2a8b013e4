// SPDX-License-Identifier: Apache-2.0
#include "diagnose/refine_suspect.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

// Whether one of them is called by the other: its time is in the other's already.
bool AreNested(const FunctionView& view, FunctionView::Node a, FunctionView::Node b) {
  const auto is_above = [&](FunctionView::Node above, FunctionView::Node node) {
    for (; node >= 0; node = view.parent(node)) {
      if (node == above) return true;
    }
    return false;
  };
  return is_above(a, b) || is_above(b, a);
}

}  // namespace

bool RefineByFunction(const AnalysisInput& in, const Explanation& why, const std::vector<size_t>& peers,
                      Suspect* suspect) {
  if (why.node < 0 || (why.pair && AreNested(*in.view, why.node, why.other_node))) return false;
  const Nanos held = why.node_excess + why.other_excess;
  if (held * 10 < suspect->total * 6) return false;
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
    std::vector<Nanos> values;  // of the peers that have the step: a file that breaks off says nothing of what follows
    for (size_t k = 0; k < peers.size(); ++k) {
      if (in.job.StepOf(peers[k], s) != nullptr) values.push_back(others[k][s]);
    }
    mine[s] = values.empty() ? 0 : mine[s] - Median(std::move(values));
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
