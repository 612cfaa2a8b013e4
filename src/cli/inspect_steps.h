// SPDX-License-Identifier: Apache-2.0
// What `headway inspect` says about steps as the device saw them, and about communication and what it hides.
#pragma once

#include <vector>

#include "base/json_writer.h"
#include "cli/ingest.h"
#include "report/report_doc.h"
#include "trace/comm_time.h"

namespace headway::cli {

// By rank; none where there is no communication, or not all of its rows were kept. Joins the ranks' operations.
[[nodiscard]] std::vector<trace::CommTime> CommTimes(const Ingested& in, int threads);

// Mean step of each rank by what ran.
[[nodiscard]] report::Section StepsTable(const Ingested& in);
// Computation and communication of each rank's steps, one beside the other; of the communication, waiting. `times` as
// CommTimes gave them.
[[nodiscard]] report::Section OverlapTable(const Ingested& in, const std::vector<trace::CommTime>& times);

// An object; waiting is null where no other rank's trace tells it.
void WriteCommTime(const trace::CommTime& time, JsonWriter* json);
// A member of a rank's object: "step_splits", a list with an entry a step.
void WriteStepSplits(const pattern::RankPattern& rank, JsonWriter* json);

}  // namespace headway::cli
