// SPDX-License-Identifier: Apache-2.0
#include "diagnose/analyses.h"

#include <span>

namespace headway::diagnose {

std::span<const Analysis> Analyses() {
  static constexpr Analysis kAnalyses[] = {
      {"own-time", "ranks whose own time is longer than their peers'", RunOwnTimeAnalysis},
  };
  return kAnalyses;
}

}  // namespace headway::diagnose
