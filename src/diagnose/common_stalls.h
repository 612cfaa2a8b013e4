// SPDX-License-Identifier: Apache-2.0
// Steps in which the ranks of a class stall alike: in a function whose name gives the stall away, in copies between
// host and device, or each in one hole of the same length. All show long before the whole step stands out of its noise.
#pragma once

#include <span>
#include <vector>

#include "diagnose/analysis.h"

namespace headway::diagnose {

// By axis step.
struct CommonStalls {
  std::vector<Nanos> named;  // the middle rank's time in such functions, or copies, beyond its usual; 0 = no stall
  std::vector<FunctionView::Node> functions;  // the one with most of that time; -1 = no stall
  std::vector<Nanos> holes;                   // the middle rank's longest hole beyond its usual; 0 = no stall
};

// By axis step: whether the ranks of all programs have a hole of the same length, to a few per cent: no chance does
// that, however holes vary. O(ranks * steps).
[[nodiscard]] std::vector<bool> StepsOfSameHole(const Job& job);

// `ranks`: those of one class; a single one has only holes of steps that are the `same`. `same`: StepsOfSameHole.
// Functions are looked at on a few of the ranks. O(ranks * steps + function rows of those few).
[[nodiscard]] CommonStalls FindCommonStalls(const AnalysisInput& in, std::span<const size_t> ranks,
                                            const std::vector<bool>& same);

}  // namespace headway::diagnose
