// SPDX-License-Identifier: Apache-2.0
// Draws jobs to score a diagnosis on.
#pragma once

#include <cstdint>

#include "synth/spec.h"

namespace headway::synth {

// A job of 4 to 64 ranks and 8 to 20 steps: shape, sizes, form of the traces and 0 to 3 faults are drawn from the seed.
// One job in five is healthy. target_effect > 0: what every fault costs per struck step, in multiples of the step
// noise; else drawn between 3 and 30. attempt > 0: another job with as many faults.
JobSpec RandomJob(uint64_t seed, double target_effect, int attempt = 0);

}  // namespace headway::synth
