// SPDX-License-Identifier: Apache-2.0
// How numbers and names look everywhere: fixed digits, no locale, a space before the unit ("81 ms", "0.4 us", "61 %").
// Halves round away from zero. A value that is not finite prints as "-".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace headway {

// With `digits` behind the point (0..17); never in exponent form, never "-0".
[[nodiscard]] std::string FormatFixed(double value, int digits);

// In the largest unit that fits, about three digits: "85 ns", "0.4 us", "81 us", "1.3 ms", "412 ms", "1.31 s", "12.5
// s", "5 min 07 s", "2 h 05 min". From 100 ns on in us.
[[nodiscard]] std::string FormatDuration(Nanos duration);

// Columns of a table share one unit: the number alone, in ms, us or s, with fixed digits.
enum class TimeUnit : uint8_t { kMicroseconds, kMilliseconds, kSeconds };
[[nodiscard]] std::string FormatDurationIn(Nanos duration, TimeUnit unit, int digits);
[[nodiscard]] std::string_view UnitName(TimeUnit unit);  // "us", "ms", "s"

[[nodiscard]] std::string FormatRatio(double ratio, int digits = 2);    // 1.31 -> "1.31x"
[[nodiscard]] std::string FormatPercent(double share, int digits = 0);  // 0.61 -> "61 %"

// Decimal units (1 KB = 1,000 bytes), three digits: "999 B", "1.23 KB", "48.2 MB", "481 GB".
[[nodiscard]] std::string FormatBytes(Bytes bytes);
[[nodiscard]] std::string FormatRate(double bytes_per_second);  // "12.3 GB/s"

[[nodiscard]] std::string FormatCount(int64_t count);       // 1155 -> "1,155"
[[nodiscard]] std::string FormatCountShort(int64_t count);  // 48213990 -> "48.2 M"; below 10,000 as FormatCount

// "1 rank", "2 ranks": the count with thousands separators and the noun, with an s unless there is one.
[[nodiscard]] std::string Counted(int64_t count, std::string_view singular);

// Columns on a terminal. Invalid bytes count as one column each.
[[nodiscard]] int DisplayWidth(std::string_view utf8);
// At most `width` columns, the last of them "…" where something was cut. width >= 1.
[[nodiscard]] std::string Truncate(std::string_view utf8, int width);
// The same, but cut in the middle: for names whose ends tell most (paths, kernels).
[[nodiscard]] std::string TruncateMiddle(std::string_view utf8, int width);
[[nodiscard]] std::string PadRight(std::string_view utf8, int width);  // spaces behind
[[nodiscard]] std::string PadLeft(std::string_view utf8, int width);   // spaces before

// Text from a trace or an archive made safe for a terminal: control characters and the marks that reorder text become
// "\n", "\x1b", "\u202e"; invalid UTF-8 becomes U+FFFD. At most `max_bytes` of `text` are looked at ("…" says so).
[[nodiscard]] std::string Printable(std::string_view text, size_t max_bytes = 4096);

// {0,1,2,3,9} -> "0-3, 9"; runs of two stay apart ("4, 5"). `ranks` sorted; repeated ones count once. More than
// `max_parts` parts end in "… (N in all)"; 0 = no limit.
[[nodiscard]] std::string FormatRanks(std::span<const RankId> ranks, size_t max_parts = 0);
// The reverse, for options: "0-3,9" -> sorted, unique. kInvalidArgument for anything else, or for more than 10 million.
[[nodiscard]] Result<std::vector<RankId>> ParseRanks(std::string_view text);

}  // namespace headway
