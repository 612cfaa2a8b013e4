// SPDX-License-Identifier: Apache-2.0
// Why a rank's own time is longer than its peers': which function, or all of them in proportion, or nothing at all.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "diagnose/function_view.h"
#include "diagnose/job.h"
#include "diagnose/work_classes.h"

namespace headway::diagnose {

struct Explanation {
  std::array<Nanos, pattern::kWorkClasses> by_class{};        // excess by class, summed over the steps; may be negative
  std::array<Nanos, pattern::kWorkClasses> peers_by_class{};  // of the median peer
  Nanos total = 0;                                            // excess in all
  FunctionView::Node node = -1;  // the deepest function that holds at least 60 % of its caller's excess; -1 = none
  std::string function;          // its path, up to three frames; two functions that share the excess: "A, B"
  std::string brief;             // the same for sentences: long names cut in their middle
  bool pair = false;             // `node` is the larger one of two that share the excess
  std::string other;             // of a pair: the second one, with which `function` ends
  std::string leaf;              // full name of `node`
  Nanos node_excess = 0;
  FunctionView::Node other_node = -1;  // of a pair: the second one
  Nanos other_excess = 0;              // inclusive, as node_excess
  Nanos node_own = 0, node_peers = 0;  // its time here and on the median peer, inclusive
  int64_t node_calls = 0, node_peer_calls = 0;
  pattern::WorkClass node_class = pattern::WorkClass::kIdle;
  bool only_here = false;  // the peers do not run it (under a tenth of the time)
  // Functions that matter on the peers (>= 2 % of their own time; if under four do, the largest 32): in how many of
  // them is this rank longer by at least half of its overall ratio? 1 = all in proportion: a slow host or clock.
  double proportional_share = 0;
  double proportional_functions = 0;  // the same as a share of their number
  int32_t functions_compared = 0;
  double ratio = 0;  // own time here / own time of the median peer over the compared functions
};

// Steps of one rank, summed.
struct Sample {
  size_t rank = 0;
  std::vector<size_t> steps;  // axis steps
};

// `references`: what `mine` is held against: the same steps of peers, or other steps of the same rank. Each is scaled
// to the number of steps of `mine`, by the steps that it has; the median over them counts. `within`: a node whose
// excess is to be explained; -1 = all of it. `classes`: the work it is about; other work counts as alike.
[[nodiscard]] Explanation Explain(const Job& job, FunctionView* view, const Sample& mine,
                                  std::span<const Sample> references, FunctionView::Node within = -1,
                                  const WorkClasses& classes = kAllWork);

// The same steps of each of `peers`.
[[nodiscard]] std::vector<Sample> SameSteps(std::span<const size_t> peers, const std::vector<size_t>& steps);

}  // namespace headway::diagnose
