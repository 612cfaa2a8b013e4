// SPDX-License-Identifier: Apache-2.0
// Whether the traces that met are of one job and one capture, by what they hold. File names and counts may agree where
// two runs of one program were mixed.
#pragma once

#include <string>

#include "diagnose/job.h"

namespace headway::diagnose {

// One sentence, or empty where nothing speaks against it. Looks at when ranks of one clock were recorded, versions and
// backends, which groups the ranks say they are in, operations without counterpart, and collectives that end before
// their last member begins. Clocks of different hosts prove nothing: they may stand anywhere. Needs the
// job's graph. O(communication rows).
[[nodiscard]] std::string WhyNotOneJob(const Job& job);

}  // namespace headway::diagnose
