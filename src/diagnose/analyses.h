// SPDX-License-Identifier: Apache-2.0
// The entry points of the analyses listed in analyses.cc, one .cc file each.
#pragma once

#include "diagnose/analysis.h"

namespace headway::diagnose {

void RunOwnTimeAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunStageAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunLinkAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunCollectivesAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunLateEntryAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunDeviceAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunHostCallsAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunLoneRanksAnalysis(const AnalysisInput& in, AnalysisOutput* out);
void RunLongStepsAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunHiddenStallsAnalysis(const AnalysisInput& input, AnalysisOutput* out);
void RunCommonCauseAnalysis(const AnalysisInput& input, AnalysisOutput* out);

}  // namespace headway::diagnose
