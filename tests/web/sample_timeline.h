// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "report/report_doc.h"

namespace headway::sample {

// Two steps around each of the first two findings: culprit, two peers, a victim.
void AddTimelines(int32_t ranks, int32_t ranks_per_host, report::ReportDoc* doc);

}  // namespace headway::sample
