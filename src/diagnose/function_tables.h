// SPDX-License-Identifier: Apache-2.0
// PerfTracker's five tables: per class the functions that matter, and for each the workers that differ beside a normal
// one.
#pragma once

#include <vector>

#include "diagnose/job.h"
#include "report/report_doc.h"

namespace headway::diagnose {

// Sections compute-kernels, memory-operations, communication, cuda-runtime and python-paths, those that are not empty.
// A function is listed when its beta (uncovered time / window) is at least 1 % on some rank; a rank is abnormal in it
// when beta > 1 % and lies beyond the ranks' median + 5 x max(MAD, 2 % of the median, 0.2 % of the window). At most
// `max_functions` a table, largest median beta first. O(functions x ranks).
[[nodiscard]] std::vector<report::Section> FunctionTables(const Job& job, int threads = 1, size_t max_functions = 60);

}  // namespace headway::diagnose
