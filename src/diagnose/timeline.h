// SPDX-License-Identifier: Apache-2.0
// Pictures of a few ranks around a finding, and of the whole job for ui.perfetto.dev, on aligned clocks. Drawn from the
// patterns: own time, waiting and moving data of each rank, and its collectives.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/report_doc.h"

namespace headway::diagnose {

// The step in which the finding costs most: a culprit, two peers and up to two victims. Empty body where the finding is
// about no rank or the job has no collectives.
[[nodiscard]] report::Section TimelineOf(const Diagnosis& diagnosis, const report::Finding& finding,
                                         const std::string& name);

// Chrome trace JSON: one process a rank (own time by step, waiting, transfer; its collectives) and one with the
// findings. Times are microseconds from the first step of the job on the reference host's clock.
[[nodiscard]] std::string PerfettoJson(const Diagnosis& diagnosis);

}  // namespace headway::diagnose
