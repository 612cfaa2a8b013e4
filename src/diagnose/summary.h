// SPDX-License-Identifier: Apache-2.0
// Facts of a joined job that both forms of the report print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "report/findings_document.h"

namespace headway::diagnose {

// Parts of the median step (the axis step of median length), mean over its ranks; they add up to its length.
[[nodiscard]] report::StepBreakdown BreakDown(const Diagnosis& diagnosis);

// Names of hosts that the files tell, sorted; frameworks and versions in short ("PyTorch", "NCCL 2.17.1").
[[nodiscard]] std::vector<std::string> HostNames(const Job& job);
[[nodiscard]] std::vector<std::string> Frameworks(const Job& job);

// The largest over the hosts; nothing where not all clocks are aligned to one another.
[[nodiscard]] std::optional<Nanos> ClockResidual(const Job& job);
// One entry a host, by its ranks; empty where all ranks share one clock.
[[nodiscard]] std::vector<report::ClockSummary> ClockSummaries(const Job& job);
[[nodiscard]] Nanos BusyWithoutLaunch(const Job& job);  // of rows whose launch is not in the file, over all ranks
[[nodiscard]] double UnknownTimeShare(const Job& job);  // of device time, under names no rule knows
// "all" or "linked", "keep" or "drop": as the patterns were made, "linked on 2 of 4 ranks, else all" where they differ.
[[nodiscard]] std::string GpuEventsCounted(const Job& job);
[[nodiscard]] std::string LastStepRead(const Job& job);
[[nodiscard]] trace::ImportLog MergedLog(const Job& job);

}  // namespace headway::diagnose
