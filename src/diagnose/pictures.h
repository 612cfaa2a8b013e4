// SPDX-License-Identifier: Apache-2.0
// The pictures and tables of a diagnosis that are about ranks and groups.
#pragma once

#include "diagnose/diagnosis.h"
#include "report/report_doc.h"

namespace headway::diagnose {

// One bar a rank: own time by class, waiting, transfer; mean per step.
[[nodiscard]] report::Section RanksPicture(const Diagnosis& diagnosis);
// Own time, excess over peers, waiting, lateness and step time, by rank and step.
[[nodiscard]] report::Section RanksByStepsPicture(const Diagnosis& diagnosis);
// Process groups with their collectives: count, size, transfer, waiting, who is last.
[[nodiscard]] report::Section GroupsTable(const Diagnosis& diagnosis);
// How the clocks of the hosts were laid beside each other. No rows where all ranks share one clock.
[[nodiscard]] report::Section ClocksTable(const Diagnosis& diagnosis);

}  // namespace headway::diagnose
