// SPDX-License-Identifier: Apache-2.0
// The whole job for ui.perfetto.dev, on aligned clocks.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace headway::diagnose {

// Chrome trace JSON: a process with the critical path and the findings, and one a rank (steps; own time, waiting and
// transfer; its collectives), whose name says by how much its host's clock was moved. Single kernels are not in it:
// patterns do not keep them. Times are microseconds from the first step of the job on the reference host's clock.
// Slices of one thread never overlap, as viewers drop those that do.
[[nodiscard]] std::string PerfettoJson(const Diagnosis& diagnosis);

}  // namespace headway::diagnose
