// SPDX-License-Identifier: Apache-2.0
// Which steps strike a suspect, and by how much, as the function shows it that holds what it takes longer.
#pragma once

#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/explain.h"
#include "diagnose/suspects.h"

namespace headway::diagnose {

// Once a function, or a pair of them, is known to hold the excess its own series says which steps are struck and by how
// much; the total also holds whatever else happened in them. False (and no change) where it holds less than six tenths
// of it, or under half over the steps it then strikes, or a pair does not in each step; a suspect that is a part of
// another one is left as it is. O(steps x peers).
bool RefineByFunction(const AnalysisInput& in, const Explanation& why, const std::vector<size_t>& peers,
                      Suspect* suspect);

}  // namespace headway::diagnose
