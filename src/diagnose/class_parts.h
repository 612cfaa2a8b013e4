// SPDX-License-Identifier: Apache-2.0
// A rank that computes for longer and copies for longer suffers from two causes.
#pragma once

#include <vector>

#include "diagnose/suspects.h"

namespace headway::diagnose {

// Splits suspects whose excess lies in more than one of: what the device computes (without devices: operators), what it
// copies, what it waits for its host (all else). Each part is at least a quarter of the excess (an eighth where it is a
// matter of its own, below, or where its host waits for its device three times a step more than its peers' do), or a
// tenth if it strikes fewer steps, and 2 % of the step. On a device copies that are a matter of their own, what there
// is beside them, and kernels beside such a host need no share, but what makes a suspect: 1 % of the step, three times
// the noise (of what kernels vary by only where it is about kernels) and half a per cent of the window. Without devices
// parts have to strike other steps, or what the rank waits for its input, or does beside operators, takes three times
// what it takes peers, and twice as many times as its operators: so slow is no host (such input counts in all steps in
// which it is as slow). The largest stays in `suspects`, with all that is no part of its own; the others are returned,
// no rank twice in a list. O(struck steps x peers).
[[nodiscard]] std::vector<std::vector<Suspect>> SplitByClass(const AnalysisInput& in, std::vector<Suspect>* suspects);

}  // namespace headway::diagnose
