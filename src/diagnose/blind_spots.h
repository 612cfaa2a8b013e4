// SPDX-License-Identifier: Apache-2.0
// What keeps a diagnosis from saying that nobody holds the job up.
#pragma once

#include <span>

#include "diagnose/channels.h"
#include "diagnose/diagnosis.h"

namespace headway::diagnose {

// Waiting that nobody is known to be waited for, ranks that were not compared, and noise as large as what should stand
// out of it: fills in `blind_to` and what was not checked. After all else.
void SayWhatWasNotSeen(std::span<const Channel> channels, Diagnosis* d);

}  // namespace headway::diagnose
