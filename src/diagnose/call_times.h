// SPDX-License-Identifier: Apache-2.0
// How long the calls of a rank's host and its kernels take, function by function: what can be held against ranks that
// run another part of the program, in which the same functions are called at other places and another number of times.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// What functions of a class are summed up under that are too small to be kept.
inline constexpr std::string_view kSummedUp = "(other)";

// Mean own time of a call (ns), by name. Of a job without devices the operators count, too, as they are its work. What
// the device hides is summed up under one name ("(other)"). Waits for the device are as long as the device takes: they
// are left out, and so are sums that may hold some.
using CallTimes = std::map<std::string_view, double>;

[[nodiscard]] CallTimes TimesOfCalls(const pattern::RankPattern& rank);

// The same of the kernels that hold 1 % of what the rank's device computes or more. Empty of a rank without a device.
[[nodiscard]] CallTimes TimesOfKernels(const pattern::RankPattern& rank);

// The same of the operators of a rank without a device. Those that hold less are mostly what a call costs by itself.
[[nodiscard]] CallTimes TimesOfOperators(const pattern::RankPattern& rank);

// These for the ranks of a job, computed once a rank. `job` has to outlive it.
class JobCallTimes {
 public:
  explicit JobCallTimes(const Job& job) : job_(job) {}

  [[nodiscard]] const CallTimes& Calls(size_t rank) { return Of(rank, &calls_, TimesOfCalls); }
  [[nodiscard]] const CallTimes& Kernels(size_t rank) { return Of(rank, &kernels_, TimesOfKernels); }
  [[nodiscard]] const CallTimes& Operators(size_t rank) { return Of(rank, &operators_, TimesOfOperators); }

 private:
  const CallTimes& Of(size_t rank, std::map<size_t, CallTimes>* known,
                      CallTimes (*times)(const pattern::RankPattern&)) {
    const auto it = known->find(rank);
    return it != known->end() ? it->second : known->emplace(rank, times(job_.ranks[rank])).first->second;
  }

  const Job& job_;
  std::map<size_t, CallTimes> calls_, kernels_, operators_;
};

// Each function's time on the one of the ranks that have it below which `share` of them lie: of a half the middle one,
// of an even number the lower one. Functions that fewer than `least` of them have are left out.
[[nodiscard]] CallTimes TimesAmong(const std::vector<CallTimes>& ranks, double share, size_t least);

// A rank's calls against what the same calls take elsewhere.
struct CallRatio {
  double ratio = 0;      // of the middle function; 0 = too few in common to say
  size_t functions = 0;  // in common; of a single one only the sum of what the device hides has a ratio
  bool alike = false;    // three quarters of them, and the sum of what the device hides, are longer by half as much
};

[[nodiscard]] CallRatio CompareCalls(const CallTimes& mine, const CallTimes& reference);

// Whether the calls of a host take longer throughout: by half, over four functions and more.
[[nodiscard]] constexpr bool IsOfSlowHost(const CallRatio& calls) {
  constexpr size_t kLeastFunctions = 4;
  constexpr double kSlow = 1.5;
  return calls.functions >= kLeastFunctions && calls.alike && calls.ratio >= kSlow;
}

// Whether what takes `ratio` times as long as elsewhere is a matter of its own where all takes `of_all` times as long:
// no host takes so many times as long for one kind of work and not for the rest.
[[nodiscard]] constexpr bool IsOwnMatter(double ratio, double of_all) {
  constexpr double kLeast = 3;
  return ratio >= kLeast && ratio >= 2 * of_all;
}

// How many times as long as in `reference` a call of `function` takes; 0 where either does not have it.
[[nodiscard]] double RatioOf(const CallTimes& mine, const CallTimes& reference, std::string_view function);

}  // namespace headway::diagnose
