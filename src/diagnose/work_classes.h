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

// Of sums by class: what a device waits for its host, or what of a host no operator and no input takes.
[[nodiscard]] inline Nanos BehindHost(const std::array<Nanos, pattern::kWorkClasses>& by_class) {
  using pattern::WorkClass;
  const auto of = [&](WorkClass c) { return by_class[static_cast<size_t>(c)]; };
  return of(WorkClass::kRuntime) + of(WorkClass::kHost) + of(WorkClass::kIdle);
}

}  // namespace headway::diagnose
