// SPDX-License-Identifier: Apache-2.0
// Which rank this process is, where a launcher started one a rank.
#pragma once

#include "base/units.h"

namespace headway::cli {

// As torchrun, Open MPI, PMIx, MPICH and Intel MPI, MVAPICH or Slurm say; -1 = none of them started this process.
[[nodiscard]] RankId EnvironmentRank();

}  // namespace headway::cli
