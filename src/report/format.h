// SPDX-License-Identifier: Apache-2.0
// Values with a unit as words, and columns of them so that digits line up. base/text.h does the numbers;
// web/src/format.ts follows the same rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/report_doc.h"

namespace headway::report {

// One value by itself: "81 ms", "61 %", "1.31x", "#101", "1,155". No value: "-".
[[nodiscard]] std::string FormatValue(const Value& value, Unit unit);

// As FormatPercent, with a digit where the share is below 10 %: "61 %", "0.7 %", "<0.1 %", "0 %".
[[nodiscard]] std::string FormatShare(double share);

// How a column's cells look: one unit and one number of digits for all of them. The unit stands in the head. Nothing at
// all is "0"; what only rounds to nothing keeps its digits.
struct ColumnFormat {
  Unit unit = Unit::kText;
  Nanos divisor = 1;   // of a duration
  std::string suffix;  // for the head: "ms", "%", or empty
  int digits = 0;

  [[nodiscard]] std::string Cell(const Value& value) const;
};

// Durations take the unit of the largest: us below 1 ms, ms below 10 s, then s. Shares are in percent. Numbers that are
// all whole have no digits behind the point.
[[nodiscard]] ColumnFormat FormatForColumn(std::span<const Value> values, Unit unit);

// Text columns start left, numbers end right.
[[nodiscard]] constexpr bool IsNumeric(Unit unit) { return unit != Unit::kText; }

// "slow-device" -> "slow device"; with `loud` "SLOW DEVICE".
[[nodiscard]] std::string CauseInWords(const std::string& cause, bool loud);

// "in every step", "since step #107", "in 3 of 12 steps", "once, in step #104". `steps_read` 0 = not known.
[[nodiscard]] std::string WhenInWords(const When& when, size_t steps_read);

}  // namespace headway::report
