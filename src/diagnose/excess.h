// SPDX-License-Identifier: Apache-2.0
// How much longer a rank's own time is than its peers', step by step.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

inline constexpr Nanos kNoValue = INT64_MIN;

// Which time of a step: all of a rank's own, or without what its device computes. How long kernels take varies with the
// data; what comes between them does not, so that far less of it shows.
enum class OwnPart : uint8_t { kAll, kBesideCompute };

// Own time minus the median own time of the other ranks of the class in the same step. With two others: their mean.
struct ExcessTable {
  size_t steps = 0;
  std::vector<Nanos> own;      // [rank * steps + s]; kNoValue where the rank lacks the step
  std::vector<Nanos> excess;   // same shape; kNoValue also where the rank has no peers
  std::vector<Nanos> typical;  // by rank: median over steps of its excess
  // By class: how much a rank changes between steps (of its excess, or of its own time, whichever varies less), and the
  // ranks' typical excess among each other (which also bounds the former from below where there are under three steps);
  // both as 1.4826 x median absolute deviation, at least 0.3 % of the median step (0.1 % beside compute). Of two or
  // three ranks over twelve steps and more no more than what excess changes by from step to step over the square root
  // of two, taken to be between that root and twice of what the quietest one's own time varies by.
  std::vector<Nanos> step_noise;
  std::vector<Nanos> rank_noise;

  [[nodiscard]] Nanos At(size_t rank, size_t step) const { return excess[rank * steps + step]; }
};

// By axis step: the rank's own time beyond that of its quietest steps, the one at `place` from the shortest on (the
// last where there are fewer). Empty where the rank lacks a step.
[[nodiscard]] std::vector<Nanos> BeyondQuiet(const ExcessTable& table, size_t rank, size_t place);

// Ranks in `without` are nobody's peers and have no excess.
[[nodiscard]] ExcessTable ComputeExcess(const Job& job, OwnPart part = OwnPart::kAll,
                                        const std::set<size_t>& without = {});

// Median of the values (the mean of the middle two); 0 of none. Sorts its argument.
[[nodiscard]] Nanos Median(std::vector<Nanos> values);

// The same without the one at `skip`. `sorted` has two values or more.
[[nodiscard]] Nanos MedianWithout(const std::vector<Nanos>& sorted, size_t skip);

// What values deviate by, from their distances to their middle (of either sign): 1.4826 x the median of those, the
// standard deviation of a bell curve, whatever a few of them are.
[[nodiscard]] Nanos DeviationOf(std::vector<Nanos> distances);

// The same of the values themselves: about their median.
[[nodiscard]] Nanos SpreadOf(std::vector<Nanos> values);

}  // namespace headway::diagnose
