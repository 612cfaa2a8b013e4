// SPDX-License-Identifier: Apache-2.0
// Made-up reports with figures that hang together, for looking at the renderers and for measuring them. One rank
// computes 1.31 times as long as its peers, one host's input turns slow half way, every other rank waits for them.
#pragma once

#include <cstdint>

#include "report/findings_document.h"
#include "report/report_doc.h"

namespace headway::sample {

struct Shape {
  int32_t ranks = 64;
  int32_t ranks_per_host = 8;
  int32_t steps = 12;
  int64_t first_step = 101;
  bool healthy = false;
};

// A diagnosis. The same shape gives the same report.
[[nodiscard]] report::ReportDoc Diagnosis(const Shape& shape);

// What --json says of the same job.
[[nodiscard]] report::FindingsDocument Findings(const Shape& shape);

// The diagnosis of 64 ranks with every string replaced by one that tries to break out: markup, script ends, formulas,
// control characters, marks that reorder text, invalid UTF-8, names of 4 KB.
[[nodiscard]] report::ReportDoc Hostile();

// What other commands show: gains of edits (waterfall), a Pareto front (chart), a schedule (timeline without ranks).
[[nodiscard]] report::ReportDoc OtherCommands();

}  // namespace headway::sample
