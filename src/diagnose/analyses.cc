// SPDX-License-Identifier: Apache-2.0
#include "diagnose/analyses.h"

#include <span>

namespace headway::diagnose {

std::span<const Analysis> Analyses() {
  static constexpr Analysis kAnalyses[] = {
      {"own-time", "ranks whose own time is longer than their peers'", RunOwnTimeAnalysis},
      {"stages", "pipeline stages that take longer than the others", RunStageAnalysis},
      {"links", "transfers that are slow while nobody is late", RunLinkAnalysis},
      {"collectives", "many small collectives, and transfers that no work hides", RunCollectivesAnalysis},
      {"late-entry", "ranks that enter the window later than the others", RunLateEntryAnalysis},
      {"device", "copies and launches that keep a device idle", RunDeviceAnalysis},
      {"host-calls", "hosts on which every call takes longer than on the others", RunHostCallsAnalysis},
      {"lone-ranks", "ranks without peers, call by call against all others", RunLoneRanksAnalysis},
      {"long-steps", "steps in which all ranks take longer than in the others", RunLongStepsAnalysis},
      {"hidden-stalls", "pauses that devices or varying steps hide", RunHiddenStallsAnalysis},
      {"common-cause", "what all ranks have in common: time waiting for input", RunCommonCauseAnalysis},
  };
  return kAnalyses;
}

}  // namespace headway::diagnose
