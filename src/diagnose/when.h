// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "report/finding.h"

namespace headway::diagnose {

// How a cost is spread over the steps. `cost`: by axis step, 0 where not struck; `steps`: their numbers.
//   once: one step holds at least 80 % of it (and there are at least three steps);
//   onset: at least two steps without it, then at least three of which 80 % have it; `steps` is the first one;
//   persistent: at least three quarters of the steps have it;
//   intermittent: anything else; `steps` are those struck.
[[nodiscard]] report::When ClassifyWhen(std::span<const Nanos> cost, std::span<const int64_t> steps);

// In nearly all steps, if only from one on; else now and then.
[[nodiscard]] inline bool IsSteady(const report::When& when) {
  return when.kind == report::WhenKind::kPersistent || when.kind == report::WhenKind::kOnset;
}

}  // namespace headway::diagnose
