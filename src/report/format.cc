// SPDX-License-Identifier: Apache-2.0
#include "report/format.h"

#include <algorithm>
#include <cmath>

#include "base/letter_case.h"
#include "base/text.h"

namespace headway::report {
namespace {

// Three significant digits, never in exponent form.
std::string Significant(double value) {
  if (value == 0 || !std::isfinite(value)) return value == 0 ? "0" : "-";
  const int digits = 2 - static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return FormatFixed(value, std::clamp(digits, 0, 6));
}

std::string FormatInteger(int64_t value, Unit unit) {
  switch (unit) {
    case Unit::kStep: return "#" + std::to_string(value);
    case Unit::kRank: return std::to_string(value);
    case Unit::kDuration: return FormatDuration(value);
    case Unit::kBytes: return FormatBytes(value);
    default: return FormatCount(value);
  }
}

std::string FormatReal(double value, Unit unit) {
  switch (unit) {
    case Unit::kShare: return FormatShare(value);
    case Unit::kRatio: return FormatRatio(value);
    case Unit::kBytesPerSecond: return FormatRate(value);
    case Unit::kDuration: return FormatDuration(std::llround(value));
    default: return Significant(value);
  }
}

double LargestMagnitude(std::span<const Value> values) {
  double largest = 0;
  for (const Value& value : values) {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      largest = std::max(largest, std::fabs(static_cast<double>(*integer)));
    } else if (const auto* real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real)) {
      largest = std::max(largest, std::fabs(*real));
    }
  }
  return largest;
}

bool AllWhole(std::span<const Value> values) {
  return std::ranges::all_of(values, [](const Value& value) {
    const auto* real = std::get_if<double>(&value);
    return real == nullptr || !std::isfinite(*real) || *real == std::floor(*real);
  });
}

ColumnFormat DurationFormat(double largest) {
  ColumnFormat format{Unit::kDuration, kSecond, "s", 0};
  if (largest > 0 && largest < kMillisecond) {
    format = {Unit::kDuration, kMicrosecond, "us", 0};
  } else if (largest < 10.0 * kSecond) {
    format = {Unit::kDuration, kMillisecond, "ms", 0};
  }
  const double top = largest / static_cast<double>(format.divisor);
  format.digits = top >= 1000 ? 0 : top >= 100 ? 1 : 2;
  return format;
}

// Three digits behind the point, or three significant ones of the largest, where that is more.
int NumberDigits(double largest) {
  if (largest >= 10) return largest >= 1000 ? 0 : 1;
  if (largest >= 0.1 || largest == 0) return 3;
  return std::min(9, 2 - static_cast<int>(std::floor(std::log10(largest))));
}

TimeUnit TimeUnitOf(Nanos divisor) {
  if (divisor == kMicrosecond) return TimeUnit::kMicroseconds;
  return divisor == kMillisecond ? TimeUnit::kMilliseconds : TimeUnit::kSeconds;
}

}  // namespace

std::string FormatShare(double share) {
  const double percent = std::fabs(share * 100);
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return FormatPercent(share, percent > 0 && percent < 9.95 ? 1 : 0);
}

std::string FormatValue(const Value& value, Unit unit) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return FormatInteger(*integer, unit);
  if (const auto* real = std::get_if<double>(&value)) return FormatReal(*real, unit);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "-";
}

std::string ColumnFormat::Cell(const Value& value) const {
  if (const auto* integer = std::get_if<int64_t>(&value); integer != nullptr && unit == Unit::kDuration) {
    if (*integer == 0) return "0";
    return FormatDurationIn(*integer, TimeUnitOf(divisor), digits);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    if (*real == 0 && (unit == Unit::kShare || unit == Unit::kNumber)) return "0";
    if (unit == Unit::kShare) return FormatFixed(*real * 100, digits);
    if (unit == Unit::kNumber) return FormatFixed(*real, digits);
  }
  return FormatValue(value, unit);
}

ColumnFormat FormatForColumn(std::span<const Value> values, Unit unit) {
  const double largest = LargestMagnitude(values);
  switch (unit) {
    case Unit::kDuration: return DurationFormat(largest);
    case Unit::kShare: return {unit, 1, "%", largest >= 0.0995 ? 1 : 2};
    case Unit::kNumber: return {unit, 1, "", AllWhole(values) ? 0 : NumberDigits(largest)};
    default: return {unit, 1, "", 0};
  }
}

std::string CauseInWords(const std::string& cause, bool loud) {
  std::string words = cause;
  std::ranges::replace(words, '-', ' ');
  return loud ? Upper(words) : words;
}

std::string WhenInWords(const When& when, size_t steps_read) {
  const std::string first = when.steps.empty() ? "" : "#" + std::to_string(when.steps.front());
  switch (when.kind) {
    case WhenKind::kPersistent: return "in every step";
    case WhenKind::kOnset: return first.empty() ? "since some step" : "since step " + first;
    case WhenKind::kOnce: return first.empty() ? "once" : "once, in step " + first;
    case WhenKind::kIntermittent: break;
  }
  if (when.steps.empty() || steps_read == 0) return "in some steps";
  return "in " + FormatCount(static_cast<int64_t>(when.steps.size())) + " of " +
         FormatCount(static_cast<int64_t>(steps_read)) + " steps";
}

}  // namespace headway::report
