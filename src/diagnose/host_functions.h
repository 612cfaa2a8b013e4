// SPDX-License-Identifier: Apache-2.0
// All that a rank's host does, whether the device hides it or not, beside its peers'.
#pragma once

#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// A function of the host: Python, operators, calls into the device's library, the data loader. Not those that may wait
// for the device, and so take as long as that does: synchronisations, and library calls summed up under one name.
[[nodiscard]] bool IsHostsOwn(const pattern::FunctionName& function);

struct HostProportion {
  double ratio = 0;            // time in host functions here / on the median peer; 0 = not known
  bool is_throughout = false;  // four or more functions that matter, three quarters of their time longer alike
};

// By name, over the whole window: functions of the host with at least 1 % of the peers' host time count. Alike: longer
// by at least half of what all together are longer by. What is summed up as hidden by the device counts as four of them
// where ranks make as many of these calls, to a twentieth. O(functions of the ranks).
[[nodiscard]] HostProportion CompareHosts(const Job& job, size_t rank, const std::vector<size_t>& peers);

}  // namespace headway::diagnose
