// SPDX-License-Identifier: Apache-2.0
// Sets of classes of work.
#pragma once

#include <array>

#include "pattern/pattern.h"

namespace headway::diagnose {

using WorkClasses = std::array<bool, pattern::kWorkClasses>;  // by WorkClass: whether it is meant

inline constexpr WorkClasses kAllWork = {true, true, true, true, true, true, true};

[[nodiscard]] inline bool Has(const WorkClasses& classes, pattern::WorkClass c) {
  return classes[static_cast<size_t>(c)];
}

}  // namespace headway::diagnose
