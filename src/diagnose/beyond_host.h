// SPDX-License-Identifier: Apache-2.0
// A rank that is slow for itself on a host that is slow.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "diagnose/analysis.h"

namespace headway::diagnose {

// What one of a host's ranks takes far beyond all the others (twice what they do in the middle) is its own, and only
// what they take is the host's. Leaves that with `candidate` and returns the rest; nothing where it is not so far out,
// there are under two `others` (by step, what the host's other ranks take), or devices hide more of it on one rank than
// on another. O(steps x others + edits).
[[nodiscard]] std::optional<Candidate> TakeBeyondHost(const Job& job, const std::vector<std::vector<Nanos>>& others,
                                                      Candidate* candidate);

// Says of what TakeBeyondHost returned for `rank` in which function it is, where one holds it: held against the other
// ranks of its host that run the same program, without those in `beyond`, as the rank's peers elsewhere are not slowed
// by the host. O(functions of these ranks x struck steps).
void NameBeyondHost(const AnalysisInput& in, size_t rank, const std::set<size_t>& beyond, Candidate* candidate);

}  // namespace headway::diagnose
