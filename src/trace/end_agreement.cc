// SPDX-License-Identifier: Apache-2.0
#include "trace/end_agreement.h"

#include <cmath>
#include <cstdlib>

#include "base/median.h"

namespace headway::trace {
namespace {

constexpr size_t kLeastForSlope = 6;
constexpr double kFastestDrift = 5e-4;

EndAgreement AtSlope(const std::vector<EndPair>& ends, double slope) {
  EndAgreement out{.at = ends.front().reference, .slope = slope};
  std::vector<Nanos> level;
  for (const EndPair& e : ends) level.push_back(e.member - e.reference - out.At(e.reference));
  out.base = LowerMedian(&level);
  for (Nanos& x : level) x = std::abs(x - out.base);
  out.scatter = LowerMedian(&level);
  return out;
}

}  // namespace

EndAgreement AgreementOfEnds(const std::vector<EndPair>& ends) {
  if (ends.empty()) return {};
  const EndAgreement flat = AtSlope(ends, 0);
  if (ends.size() < kLeastForSlope) return flat;
  const size_t third = ends.size() / 3;
  std::vector<double> slopes;
  for (size_t i = 0; i < third; ++i) {
    for (size_t j = ends.size() - third; j < ends.size(); ++j) {
      const auto apart = static_cast<double>(ends[j].reference - ends[i].reference);
      const Nanos difference = (ends[j].member - ends[j].reference) - (ends[i].member - ends[i].reference);
      if (apart > 0) slopes.push_back(static_cast<double>(difference) / apart);
    }
  }
  if (slopes.empty()) return flat;
  const double slope = LowerMedian(&slopes);
  if (std::abs(slope) > kFastestDrift) return flat;
  const EndAgreement tilted = AtSlope(ends, slope);
  return 2 * tilted.scatter < flat.scatter ? tilted : flat;
}

}  // namespace headway::trace
