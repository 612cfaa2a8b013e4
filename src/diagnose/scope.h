// SPDX-License-Identifier: Apache-2.0
// Who a finding is about, in data and in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "diagnose/job.h"
#include "report/finding.h"

namespace headway::diagnose {

// Fills ranks (sorted) and hosts of the rank indices `members`.
void FillScope(const Job& job, std::span<const size_t> members, report::Scope* scope);

// The indices of its ranks, ascending. O(ranks of the job log n).
[[nodiscard]] std::vector<size_t> RanksOf(const Job& job, const report::Scope& scope);

// "rank 19 (host n2)", "ranks 2, 3", "all 8 ranks".
[[nodiscard]] std::string Who(const Job& job, const report::Scope& scope);

// "12.3 ms"
[[nodiscard]] std::string Milliseconds(Nanos t);

// All rank indices.
[[nodiscard]] std::vector<size_t> AllRanks(const Job& job);

}  // namespace headway::diagnose
