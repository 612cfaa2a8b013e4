// SPDX-License-Identifier: Apache-2.0
// How well the ends of two members' rows agree whatever their clocks: members of a group end each operation within
// microseconds, ranks that merely run in step do not.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace headway::trace {

// Ends of corresponding rows, each on its own clock, in order.
struct EndPair {
  Nanos reference = 0;
  Nanos member = 0;
};

// member - reference = base + slope * (reference - at), the line that goes through most of them.
struct EndAgreement {
  Nanos at = 0;
  Nanos base = 0;
  double slope = 0;
  Nanos scatter = 0;  // median distance from the line

  [[nodiscard]] Nanos At(Nanos own) const { return base + static_cast<Nanos>(slope * static_cast<double>(own - at)); }
};

// A slope only where it lowers the scatter by half and is one that clocks may have. O(n^2), meant for a hundred.
[[nodiscard]] EndAgreement AgreementOfEnds(const std::vector<EndPair>& ends);

}  // namespace headway::trace
