// SPDX-License-Identifier: Apache-2.0
// Writes what happened on a rank as PyTorch's profiler would: the keys, categories, threads, streams and layout are
// those of real files (torch 2.3 for NCCL jobs, 2.13 for gloo jobs, 1.13/2.0 where the spec asks for whole us).
#pragma once

#include <string>

#include "base/result.h"
#include "synth/simulate.h"

namespace headway::synth {

// A host's clock: what it shows at simulated time t is epoch + offset + t (1 + drift).
struct HostClock {
  Time offset = 0;
  double drift = 0;
  Time At(Time t) const { return offset + t + static_cast<Time>(drift * static_cast<double>(t)); }
};
HostClock ClockOf(const Job& job, int rank);

// Writes DIR/rank<R>.json[.gz]; returns its uncompressed size.
[[nodiscard]] Result<int64_t> WriteRankTrace(const JobRun& run, int rank, const std::string& dir, bool gzip);

}  // namespace headway::synth
