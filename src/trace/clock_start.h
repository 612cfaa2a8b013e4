// SPDX-License-Identifier: Apache-2.0
// A first alignment of clocks, good enough for the fit to start from: grown from the root over the clocks that share
// the most rounds with those already aligned.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/clock_fit.h"

namespace headway::trace {

struct ClockStart {
  std::vector<Nanos> base;                        // own - base = common time, about
  std::vector<Nanos> origin;                      // common time its component counts from
  std::vector<double> slope;                      // first estimate of d(own)/d(common) - 1
  std::vector<int32_t> root;                      // root of its component; -1 = met no other clock
  std::vector<int32_t> round_of;                  // per reading
  std::vector<std::vector<int32_t>> readings_of;  // per clock, in order of rounds
};

[[nodiscard]] ClockStart StartClocks(const ClockRounds& rounds, int32_t clocks, int32_t root);

// A line through most of the points: y = base + slope * (x - first x), robust against up to two thirds of outliers.
// The base is the middle of the tightest cluster of three tenths or more of the values, not the mean of a skewed one;
// slope 0 unless a slope makes that cluster tighter. Equivariant: a constant
// added to all y is added to the base.
struct RobustLine {
  Nanos base = 0;
  double slope = 0;
};
[[nodiscard]] RobustLine FitRobustLine(const std::vector<Nanos>& x, const std::vector<Nanos>& y, bool with_slope);

}  // namespace headway::trace
