// SPDX-License-Identifier: Apache-2.0
// Pictures of a few ranks around a finding, on aligned clocks. Drawn from the patterns: own time, waiting and moving
// data of each rank, and its collectives.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/report_doc.h"

namespace headway::diagnose {

// The step in which the finding costs most: a culprit, two peers and up to two victims. Empty body where the finding is
// about no rank or the job has no collectives.
[[nodiscard]] report::Section TimelineOf(const Diagnosis& diagnosis, const report::Finding& finding,
                                         const std::string& name);

// "all-reduce mesh_dp [0-3]"; `collective` -1 = one that could not be paired.
[[nodiscard]] std::string CollectiveName(const Job& job, int32_t collective);

}  // namespace headway::diagnose
