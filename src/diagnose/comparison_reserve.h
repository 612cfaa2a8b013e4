// SPDX-License-Identifier: Apache-2.0
// What keeps one of two runs from telling all that they are compared by.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace headway::diagnose {

// Up to so many calls a step of any operation may be there without having been paired; of a run without communication
// any number.
[[nodiscard]] double AlonePerStep(const Job& job);

// The reservations that a diagnosis of each run makes: "of the later run: ...".
[[nodiscard]] std::vector<std::string> Reservations(const Diagnosis& before, const Diagnosis& after);

}  // namespace headway::diagnose
