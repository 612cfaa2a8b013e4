// SPDX-License-Identifier: Apache-2.0
// A rank whose host is in two functions for far longer than its peers' suffers from two causes.
#pragma once

#include <vector>

#include "diagnose/call_times.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// Splits suspects of whose excess one function of the host holds most, and another one, which neither calls nor is
// called by it, an eighth at least and 2 % of the step: each takes the rank three times what it takes its peers, and
// not all calls of its host are longer by half. The second one is returned as a suspect of its own (`within`), no rank
// twice. O(functions of the struck steps x peers).
[[nodiscard]] std::vector<Suspect> SplitByFunction(const AnalysisInput& in, std::vector<Suspect>* suspects,
                                                   JobCallTimes* calls_of);

}  // namespace headway::diagnose
