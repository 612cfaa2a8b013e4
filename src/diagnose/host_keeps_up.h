// SPDX-License-Identifier: Apache-2.0
// Whether a host that a device waits for is slow, or has more to do than it can keep ahead of, as its peers' hosts
// have.
#pragma once

#include <vector>

#include "diagnose/call_times.h"
#include "diagnose/explain.h"
#include "diagnose/host_functions.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// The calls of a rank's host against those of its peers.
struct HostCalls {
  HostProportion proportion;
  bool keeps_up = false;  // those that hold the excess take no longer than elsewhere
};

// `why`: the excess. Where nothing can be held against the function that it names (peers' devices hide it: they wait
// for this one), all that the host does over the window counts: it keeps up if that is as long as on its peers to half
// of the excess, and these differ by less than a quarter of it. O(functions of the ranks).
[[nodiscard]] HostCalls CompareHostCalls(const Job& job, size_t rank, const std::vector<size_t>& peers,
                                         const Explanation& why, JobCallTimes* calls_of);

}  // namespace headway::diagnose
