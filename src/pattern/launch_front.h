// SPDX-License-Identifier: Apache-2.0
// How far a device is behind its host: when it is done with what had been launched by a time.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace headway::pattern {

// Launches are kept in buckets of neighbouring correlation ids, which profilers count up as calls are made: a trace of
// ten million launches takes about 25 MB. What a bucket mixes up is a fraction of a millisecond.
class LaunchFront {
 public:
  void OnLaunch(uint32_t correlation, Nanos start);
  void OnKernel(uint32_t correlation, Nanos start, Nanos end);
  // Kernels of collectives and messages: they begin work, too, but a device that waits in one is not behind its host.
  void OnCommKernel(uint32_t correlation, Nanos start);
  // Kernels, copies and sets alike: for LaunchedIn and EarlierWorkDone, at as much memory again.
  void OnDeviceWork(uint32_t correlation, Nanos start, Nanos end);

  // Call once, after all rows; the queries below need it. O(n log n) in buckets.
  void Settle();

  // Latest end of the compute kernels whose launches had all been made by then; INT64_MIN = none.
  [[nodiscard]] Nanos DoneWithLaunchesBefore(Nanos host_time) const;
  // Earliest start of a kernel, of communication too, launched from then on; INT64_MAX = none.
  [[nodiscard]] Nanos FirstLaunchedFrom(Nanos host_time) const;

  // Device work of all kinds that was launched from `from` on and before `to`: earliest start and latest end. O(log n +
  // what lies between).
  struct Work {
    Nanos first_start = INT64_MAX;
    Nanos last_end = INT64_MIN;
    [[nodiscard]] bool none() const { return first_start == INT64_MAX; }
  };
  [[nodiscard]] Work LaunchedIn(Nanos from, Nanos to) const;
  // Latest end, no later than `by`, of device work that was launched before `host_time` or has no launch in the file;
  // INT64_MIN = none. O(n).
  [[nodiscard]] Nanos EarlierWorkDone(Nanos host_time, Nanos by) const;

 private:
  struct Bucket {
    Nanos first_launch = INT64_MAX, last_launch = INT64_MIN;
    Nanos first_kernel = INT64_MAX;  // of communication, too
    Nanos last_end = INT64_MIN;      // of compute kernels
  };
  struct Last {  // neighbours mostly follow one another
    uint32_t id = UINT32_MAX;
    Bucket* bucket = nullptr;
  };
  Bucket& At(uint32_t correlation, Last* last);

  std::unordered_map<uint32_t, Bucket> buckets_;  // looked up only
  std::unordered_map<uint32_t, Work> work_of_bucket_;
  Last last_launch_, last_kernel_;
  std::vector<std::pair<Nanos, Nanos>> done_;  // (last launch, latest end up to it), ascending
  std::vector<std::pair<Nanos, Work>> work_;   // (last launch, work), ascending; INT64_MIN = without a launch
  std::vector<std::pair<Nanos, Nanos>> next_;  // (first launch, earliest kernel from it on), ascending
};

}  // namespace headway::pattern
