// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "synth/truth.h"

namespace headway::synth {
namespace {

struct Range {
  double usual, least, most;
  bool whole = false;  // only whole numbers
  bool fixed = false;  // is or is not
};

Range RangeOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kSlowCompute:
    case FaultKind::kUniformSlowdown: return {0.3, 0.001, 20};
    case FaultKind::kSlowHost: return {1.0, 0.005, 60};
    case FaultKind::kSlowLink:
    case FaultKind::kSlowFabric: return {2, 0.01, 500};
    case FaultKind::kStageImbalance:
    case FaultKind::kRandomImbalance:
    case FaultKind::kExpertImbalance: return {0.4, 0.001, 20};
    case FaultKind::kSlowCopy: return {3, 0.01, 500};
    case FaultKind::kUnpinnedCopy: return {3, 0.5, 500};
    case FaultKind::kHiddenSync: return {4, 1, 64, true};
    case FaultKind::kSmallCollectives: return {16, 2, 256, true};
    case FaultKind::kLaunchBound: return {60, 1, 3000};
    case FaultKind::kLostOverlap: return {1, 1, 1, false, true};
    default: return {20, 0.02, 5000};  // ms
  }
}

double StruckStepMs(const JobSpec& spec, const std::vector<double>& healthy_ms, int struck) {
  const std::vector<double> ms = Simulate(spec).StepMs();
  double total = 0;
  for (size_t i = 0; i < ms.size(); ++i) total += ms[i] - healthy_ms[i];
  return total / std::max(1, struck);
}

// Bisection in the logarithm: what a fault costs grows with its size, and is 0 up to the slack there is.
double SizeFor(const JobSpec& healthy, const FaultSpec& fault, double target_ms,
               const std::vector<double>& healthy_ms) {
  const Range range = RangeOf(fault.kind);
  JobSpec spec = healthy;
  spec.faults = {fault};
  const Job job(spec);
  int struck = 0;
  for (int step = spec.warmup; step < spec.warmup + spec.steps; ++step)
    struck += job.faults.Struck(0, step).empty() ? 0 : 1;
  const auto cost = [&](double size) {
    spec.faults[0].size = size;
    return StruckStepMs(spec, healthy_ms, struck);
  };
  double low = range.least, high = range.usual;
  while (high < range.most && cost(high) < target_ms) {
    low = high;
    high = std::min(range.most, high * 4);
  }
  for (int i = 0; i < 14; ++i) {
    const double middle = range.whole ? std::round(std::sqrt(low * high)) : std::sqrt(low * high);
    if (range.whole && (middle == low || middle == high)) break;
    const double ms = cost(middle);
    if (std::abs(ms - target_ms) < 0.04 * target_ms) return middle;
    (ms < target_ms ? low : high) = middle;
  }
  return high;
}

}  // namespace

JobSpec Calibrated(JobSpec spec) {
  JobSpec healthy = spec;
  healthy.faults.clear();
  std::vector<double> healthy_ms;
  for (FaultSpec& fault : spec.faults) {
    const Range range = RangeOf(fault.kind);
    if (range.fixed) fault.size = 1;
    const bool wanted = (fault.target_ms >= 0 || fault.target_effect >= 0) && fault.size < 0;
    if (wanted) {
      if (healthy_ms.empty()) healthy_ms = Simulate(healthy).StepMs();
      const double target =
          fault.target_ms >= 0 ? fault.target_ms : fault.target_effect * StandardDeviation(healthy_ms);
      fault.size = SizeFor(healthy, fault, target, healthy_ms);
    }
    if (fault.size < 0) fault.size = range.usual;
  }
  return spec;
}

}  // namespace headway::synth
