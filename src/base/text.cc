// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace headway {
namespace {

constexpr std::string_view kEllipsis = "…";

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// value / unit with `digits` behind the point, exactly, halves away from zero.
std::string Quotient(uint64_t value, uint64_t unit, int digits) {
  __extension__ using Wide = unsigned __int128;
  Wide scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const Wide scaled = (static_cast<Wide>(value) * scale + unit / 2) / unit;
  std::string text = std::to_string(static_cast<uint64_t>(scaled / scale));
  if (digits > 0) {
    const std::string fraction = std::to_string(static_cast<uint64_t>(scaled % scale));
    text += "." + std::string(static_cast<size_t>(digits) - fraction.size(), '0') + fraction;
  }
  return text;
}

std::string TwoDigits(uint64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

// From here on a value rounds to 10 (or 100) at the finer form, and takes the coarser one.
constexpr uint64_t kUs = kMicrosecond;
constexpr uint64_t kMs = kMillisecond;
constexpr uint64_t kS = kSecond;

std::string DurationText(uint64_t ns) {
  if (ns < 100) return std::to_string(ns) + " ns";
  if (ns < 9950) return Quotient(ns, kUs, 1) + " us";
  if (ns < 999'500) return Quotient(ns, kUs, 0) + " us";
  if (ns < 9'950'000) return Quotient(ns, kMs, 1) + " ms";
  if (ns < 999'500'000) return Quotient(ns, kMs, 0) + " ms";
  if (ns < 9'995'000'000) return Quotient(ns, kS, 2) + " s";
  if (ns < 99'950'000'000) return Quotient(ns, kS, 1) + " s";
  const uint64_t seconds = ns / kS + (ns % kS >= kS / 2 ? 1 : 0);
  if (seconds < 300) return std::to_string(seconds) + " s";
  if (seconds < 3600) return std::to_string(seconds / 60) + " min " + TwoDigits(seconds % 60) + " s";
  const uint64_t minutes = (seconds + 30) / 60;
  return std::to_string(minutes / 60) + " h " + TwoDigits(minutes % 60) + " min";
}

// Three digits of value / unit.
std::string ThreeDigits(uint64_t value, uint64_t unit) {
  // 9.995 and 99.95 units are where rounding reaches the next digit.
  if (value < unit * 10 - unit / 200) return Quotient(value, unit, 2);
  if (value < unit * 100 - unit / 20) return Quotient(value, unit, 1);
  return Quotient(value, unit, 0);
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  constexpr std::array<std::string_view, 6> kUnits = {"KB", "MB", "GB", "TB", "PB", "EB"};
  uint64_t unit = 1000;
  size_t index = 0;
  while (index + 1 < kUnits.size() && bytes >= unit * 1000 - unit / 2) {
    unit *= 1000;
    ++index;
  }
  return ThreeDigits(bytes, unit) + " " + std::string(kUnits[index]);
}

std::string Grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string Signed(bool negative, std::string text) {
  if (negative) text.insert(0, 1, '-');
  return text;
}

// The longest beginning of `text` that takes at most `width` columns.
std::string_view Head(std::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = DecodeUtf8(text.substr(at));
    const int columns = step.valid ? CodePointWidth(step.code) : 1;
    if (columns > width) break;
    width -= columns;
    at += step.length;
  }
  return text.substr(0, at);
}

// The longest end of `text` that takes at most `width` columns.
std::string_view Tail(std::string_view text, int width) {
  int left = DisplayWidth(text);
  while (left > width) {
    const Utf8Step step = DecodeUtf8(text);
    left -= step.valid ? CodePointWidth(step.code) : 1;
    text.remove_prefix(step.length);
  }
  return text;
}

bool ReordersText(char32_t code) {
  return code == 0x200e || code == 0x200f || code == 0x061c || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || code == 0x2028 || code == 0x2029;
}

void AppendEscape(std::string* out, char32_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (code) {
    case '\n': out->append("\\n"); return;
    case '\r': out->append("\\r"); return;
    case '\t': out->append("\\t"); return;
    default: break;
  }
  out->append(code < 0x100 ? "\\x" : "\\u");
  for (int shift = code < 0x100 ? 4 : 12; shift >= 0; shift -= 4) out->push_back(kHex[(code >> shift) & 0xf]);
}

}  // namespace

std::string FormatFixed(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 400> buffer;  // 309 digits before the point at most
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed,
                                    std::clamp(digits, 0, 17));
  std::string text(buffer.data(), result.ptr);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string FormatDuration(Nanos duration) { return Signed(duration < 0, DurationText(Magnitude(duration))); }

std::string FormatDurationIn(Nanos duration, TimeUnit unit, int digits) {
  const uint64_t size = unit == TimeUnit::kMicroseconds ? kUs : unit == TimeUnit::kMilliseconds ? kMs : kS;
  std::string text = Quotient(Magnitude(duration), size, std::clamp(digits, 0, 9));
  const bool negative = duration < 0 && text.find_first_not_of("0.") != std::string::npos;
  return Signed(negative, std::move(text));
}

std::string_view UnitName(TimeUnit unit) {
  return unit == TimeUnit::kMicroseconds ? "us" : unit == TimeUnit::kMilliseconds ? "ms" : "s";
}

std::string FormatRatio(double ratio, int digits) {
  return std::isfinite(ratio) ? FormatFixed(ratio, digits) + "x" : "-";
}

std::string FormatPercent(double share, int digits) {
  return std::isfinite(share) ? FormatFixed(share * 100, digits) + " %" : "-";
}

std::string FormatBytes(Bytes bytes) { return Signed(bytes < 0, BytesText(Magnitude(bytes))); }

std::string FormatRate(double bytes_per_second) {
  constexpr double kLargest = 9e18;
  if (!std::isfinite(bytes_per_second) || std::abs(bytes_per_second) > kLargest) return "-";
  return FormatBytes(std::llround(bytes_per_second)) + "/s";
}

std::string FormatCount(int64_t count) { return Signed(count < 0, Grouped(Magnitude(count))); }

std::string FormatCountShort(int64_t count) {
  const uint64_t size = Magnitude(count);
  if (size < 10'000) return FormatCount(count);
  constexpr std::array<std::string_view, 4> kUnits = {" k", " M", " G", " T"};
  uint64_t unit = 1000;
  size_t index = 0;
  while (index + 1 < kUnits.size() && size >= unit * 1000 - unit / 2) {
    unit *= 1000;
    ++index;
  }
  return Signed(count < 0, ThreeDigits(size, unit) + std::string(kUnits[index]));
}

std::string Counted(int64_t count, std::string_view singular) {
  return FormatCount(count) + " " + std::string(singular) + (count == 1 ? "" : "s");
}

int DisplayWidth(std::string_view utf8) {
  int width = 0;
  while (!utf8.empty()) {
    const Utf8Step step = DecodeUtf8(utf8);
    width += step.valid ? CodePointWidth(step.code) : 1;
    utf8.remove_prefix(step.length);
  }
  return width;
}

std::string Truncate(std::string_view utf8, int width) {
  if (DisplayWidth(utf8) <= width) return std::string(utf8);
  return std::string(Head(utf8, width - 1)).append(kEllipsis);
}

std::string TruncateMiddle(std::string_view utf8, int width) {
  if (DisplayWidth(utf8) <= width) return std::string(utf8);
  const int head = width / 2;
  return std::string(Head(utf8, head)).append(kEllipsis).append(Tail(utf8, width - 1 - head));
}

std::string PadRight(std::string_view utf8, int width) {
  return std::string(utf8) + std::string(static_cast<size_t>(std::max(0, width - DisplayWidth(utf8))), ' ');
}

std::string PadLeft(std::string_view utf8, int width) {
  return std::string(static_cast<size_t>(std::max(0, width - DisplayWidth(utf8))), ' ') + std::string(utf8);
}

std::string Printable(std::string_view text, size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  text = text.substr(0, max_bytes);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    if (!step.valid) {
      AppendUtf8(&out, kReplacement);
    } else if (step.code < 0x20 || (step.code >= 0x7f && step.code < 0xa0) || ReordersText(step.code)) {
      AppendEscape(&out, step.code);
    } else {
      out.append(text.substr(0, step.length));
    }
    text.remove_prefix(step.length);
  }
  if (cut) out.append(kEllipsis);
  return out;
}

}  // namespace headway
