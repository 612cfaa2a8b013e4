// SPDX-License-Identifier: Apache-2.0
// Offset and drift of clocks from rounds in which several clocks saw the same instant (the end of a collective), and
// from orders that must hold (nobody ends before the last has begun). Knows nothing of ranks or groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/units.h"

namespace headway::trace {

inline constexpr Nanos kNoBound = std::numeric_limits<Nanos>::min();

// One clock's view of one round, on that clock.
struct ClockReading {
  int32_t clock = 0;
  Nanos end = 0;                // the shared instant
  Nanos first_end = kNoBound;   // earliest end that must not precede any other clock's `last_start`; kNoBound = none
  Nanos last_start = kNoBound;  // kNoBound = none
};

inline constexpr double kFastestDrift = 3e-4;  // of two clocks against each other

struct ClockRounds {
  std::vector<ClockReading> readings;
  std::vector<int32_t> begin{0};  // round i = readings[begin[i] … begin[i + 1])

  // Per round: how far apart its ends may lie by nature, ns. Rounds count by the inverse square.
  std::vector<double> deviation;
  // Per round: up to so much all ends of its clocks may be off the same way, which no scatter shows. 0 = they are not.
  std::vector<Nanos> bias;

  // Per round: so far apart its ends may lie the same way each time, ns; a residual is no less.
  std::vector<double> lasting;
  std::vector<int32_t> operations;  // per round: how many it rests on
  // Per round: how many rounds, itself among them, may have their ends apart the same way as it. All of them together
  // tell no more than one without other error.
  std::vector<int32_t> alike;

  static constexpr double kOfDevices = 5e3;  // ns: ends of a short operation on devices
  void Close(double of_ends = kOfDevices, double each_time = 0, Nanos of_all = 0, int32_t rests_on = 1) {
    begin.push_back(static_cast<int32_t>(readings.size()));
    deviation.push_back(of_ends);
    lasting.push_back(each_time);
    bias.push_back(of_all);
    operations.push_back(rests_on);
    alike.push_back(1);
  }
  [[nodiscard]] size_t size() const { return begin.size() - 1; }
};

// aligned = own + offset + drift * (own - reference). The first of `clocks` that is the root of its connected component
// keeps offset 0.
struct ClockFit {
  Nanos offset = 0;
  double drift = 0;
  Nanos reference = 0;
  Nanos residual = 0;      // half width of what remains, see docs/clocks-and-groups.md
  int64_t rounds = 0;      // rounds this clock took part in
  int32_t component = -1;  // clocks with equal numbers were aligned to one another; -1 = met no other clock
};

struct ClockFits {
  std::vector<ClockFit> clocks;
  int64_t violations = 0;  // rounds in which somebody ends before the last begins, after everything
  Nanos worst_violation = 0;
};

// Fits `clocks` clocks; `root` is the reference of its component, the lowest index that of every other one. Adding a
// constant to all readings of a clock changes that clock's offset by exactly minus this constant and nothing else.
// O(readings) per sweep, a few tens of sweeps. Drift is only reported for a clock with at least 50 rounds over at least
// 1 s and where it stands out of its own uncertainty.
[[nodiscard]] ClockFits FitClocks(const ClockRounds& rounds, int32_t clocks, int32_t root);

}  // namespace headway::trace
