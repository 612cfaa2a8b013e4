// SPDX-License-Identifier: Apache-2.0
// An analysis looks at a joined job for one kind of cause. Analyses know nothing of each other.
#pragma once

#include <span>
#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/channels.h"
#include "diagnose/excess.h"
#include "diagnose/function_view.h"
#include "diagnose/job.h"
#include "diagnose/waits.h"

namespace headway::diagnose {

struct AnalysisInput {
  const Job& job;
  const ExcessTable& excess;
  const ExcessTable& beside_compute;  // the same without what devices compute
  const WaitTable& waits;
  const std::vector<Channel>& channels;
  FunctionView* view;  // shared cache of names; no analysis changes what another sees
};

struct AnalysisOutput {
  std::vector<Candidate> candidates;
  std::vector<report::NotChecked> not_checked;
};

struct Analysis {
  const char* name;  // kebab-case, stable: --list, --skip
  const char* what;  // one line
  void (*run)(const AnalysisInput& input, AnalysisOutput* out);
};

// All analyses, in the order they run. Add yours here (docs/adding-an-analysis.md).
[[nodiscard]] std::span<const Analysis> Analyses();

}  // namespace headway::diagnose
