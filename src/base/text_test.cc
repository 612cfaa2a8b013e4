// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headway {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(FormatDuration, LargestUnitThatFits) {
  struct Case {
    Nanos ns;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {0, "0 ns"},
           {85, "85 ns"},
           {99, "99 ns"},
           {100, "0.1 us"},
           {149, "0.1 us"},
           {150, "0.2 us"},  // halves away from zero
           {400, "0.4 us"},
           {9'949, "9.9 us"},
           {9'950, "10 us"},
           {81'000, "81 us"},
           {999'499, "999 us"},
           {999'500, "1.0 ms"},
           {1'310'000, "1.3 ms"},
           {9'949'999, "9.9 ms"},
           {9'950'000, "10 ms"},
           {81'000'000, "81 ms"},
           {412'400'000, "412 ms"},
           {999'499'999, "999 ms"},
           {999'500'000, "1.00 s"},
           {1'314'999'999, "1.31 s"},
           {9'994'999'999, "9.99 s"},
           {9'995'000'000, "10.0 s"},
           {99'949'999'999, "99.9 s"},
           {99'950'000'000, "100 s"},
           {299'499'999'999, "299 s"},
           {299'500'000'000, "5 min 00 s"},
           {307'000'000'000, "5 min 07 s"},
           {3'599'499'999'999, "59 min 59 s"},
           {3'599'500'000'000, "1 h 00 min"},
           {7'500'000'000'000, "2 h 05 min"},
           {-81'000'000, "-81 ms"},
           {kMax, "2562047 h 47 min"},  // 2^63 ns = 9223372036.85 s = 2562047 h 47 min 16.9 s
           {kMin, "-2562047 h 47 min"},
       }) {
    EXPECT_EQ(FormatDuration(c.ns), c.text) << c.ns;
  }
}

TEST(FormatDuration, OneUnitForAColumn) {
  EXPECT_EQ(FormatDurationIn(81'234'500, TimeUnit::kMilliseconds, 1), "81.2");
  EXPECT_EQ(FormatDurationIn(81'250'000, TimeUnit::kMilliseconds, 1), "81.3");
  EXPECT_EQ(FormatDurationIn(-1, TimeUnit::kMilliseconds, 1), "0.0");
  EXPECT_EQ(FormatDurationIn(-60'000, TimeUnit::kMilliseconds, 1), "-0.1");
  EXPECT_EQ(FormatDurationIn(1'500, TimeUnit::kMicroseconds, 0), "2");
  EXPECT_EQ(FormatDurationIn(1, TimeUnit::kSeconds, 9), "0.000000001");
  EXPECT_EQ(FormatDurationIn(kMin, TimeUnit::kSeconds, 9), "-9223372036.854775808");
  EXPECT_EQ(UnitName(TimeUnit::kMicroseconds), "us");
}

TEST(FormatNumbers, FixedDigitsWithoutLocale) {
  EXPECT_EQ(FormatFixed(1234.5678, 2), "1234.57");
  EXPECT_EQ(FormatFixed(-0.004, 2), "0.00");
  EXPECT_EQ(FormatFixed(-0.006, 2), "-0.01");
  EXPECT_EQ(FormatFixed(std::nan(""), 2), "-");
  EXPECT_EQ(FormatFixed(1e300, 0).size(), 301u);
  EXPECT_EQ(FormatRatio(1.314), "1.31x");
  EXPECT_EQ(FormatRatio(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(FormatPercent(0.614), "61 %");
  EXPECT_EQ(FormatPercent(0.003, 1), "0.3 %");
  EXPECT_EQ(FormatPercent(std::nan("")), "-");
}

TEST(FormatNumbers, BytesInDecimalUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.00 KB");
  EXPECT_EQ(FormatBytes(9'994), "9.99 KB");
  EXPECT_EQ(FormatBytes(9'995), "10.0 KB");
  EXPECT_EQ(FormatBytes(26'214'400), "26.2 MB");  // 25 MiB
  EXPECT_EQ(FormatBytes(999'499), "999 KB");
  EXPECT_EQ(FormatBytes(999'500), "1.00 MB");
  EXPECT_EQ(FormatBytes(481'000'000'000), "481 GB");
  EXPECT_EQ(FormatBytes(-1'500), "-1.50 KB");
  EXPECT_EQ(FormatBytes(kMax), "9.22 EB");
  EXPECT_EQ(FormatBytes(kMin), "-9.22 EB");
  EXPECT_EQ(FormatRate(12.34e9), "12.3 GB/s");
  EXPECT_EQ(FormatRate(std::nan("")), "-");
  EXPECT_EQ(FormatRate(1e30), "-");
}

TEST(FormatNumbers, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'155), "1,155");
  EXPECT_EQ(FormatCount(-1'000'000), "-1,000,000");
  EXPECT_EQ(FormatCount(kMin), "-9,223,372,036,854,775,808");
  EXPECT_EQ(FormatCountShort(9'999), "9,999");
  EXPECT_EQ(FormatCountShort(10'000), "10.0 k");
  EXPECT_EQ(FormatCountShort(48'213'990), "48.2 M");
  EXPECT_EQ(FormatCountShort(999'500), "1.00 M");
  EXPECT_EQ(Counted(1, "rank"), "1 rank");
  EXPECT_EQ(Counted(0, "rank"), "0 ranks");
  EXPECT_EQ(Counted(1'200, "rank"), "1,200 ranks");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("µs…█▌"), 5);
  EXPECT_EQ(DisplayWidth("漢字"), 4);
  EXPECT_EQ(DisplayWidth("🙂"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1) << "combining accent";
  EXPECT_EQ(DisplayWidth("a\xff\xfe"), 3) << "invalid bytes";
  EXPECT_EQ(DisplayWidth(""), 0);
}

TEST(Truncate, CutsAtColumnsNotBytes) {
  EXPECT_EQ(Truncate("kernel", 6), "kernel");
  EXPECT_EQ(Truncate("kernel", 5), "kern…");
  EXPECT_EQ(Truncate("漢字漢字", 5), "漢字…");
  EXPECT_EQ(Truncate("漢字漢字", 4), "漢…") << "a wide character does not fit in half";
  EXPECT_EQ(Truncate("abc", 1), "…");
  EXPECT_EQ(TruncateMiddle("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(TruncateMiddle("abcdefghij", 6), "abc…ij");
  EXPECT_EQ(TruncateMiddle("abc", 5), "abc");
  for (int width = 1; width < 12; ++width) {
    EXPECT_LE(DisplayWidth(Truncate("a漢b字c🙂", width)), width);
    EXPECT_LE(DisplayWidth(TruncateMiddle("a漢b字c🙂", width)), width);
  }
}

TEST(Pad, ByColumns) {
  EXPECT_EQ(PadRight("漢", 4), "漢  ");
  EXPECT_EQ(PadLeft("7", 3), "  7");
  EXPECT_EQ(PadLeft("long", 3), "long");
}

TEST(Printable, EscapesWhatCouldFoolATerminal) {
  EXPECT_EQ(Printable("plain µs 漢"), "plain µs 漢");
  EXPECT_EQ(Printable("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(Printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(Printable("\u0085\u202egpj.exe"), "\\x85\\u202egpj.exe");
  EXPECT_EQ(Printable("bad \xff byte"), "bad \xef\xbf\xbd byte");
  EXPECT_EQ(Printable("0123456789", 4), "0123…");
}

TEST(FormatRanks, RunsOfThreeOrMore) {
  using Ranks = std::vector<RankId>;
  EXPECT_EQ(FormatRanks(Ranks{}), "");
  EXPECT_EQ(FormatRanks(Ranks{5}), "5");
  EXPECT_EQ(FormatRanks(Ranks{0, 1, 2, 3, 4, 5, 6, 7, 9}), "0-7, 9");
  EXPECT_EQ(FormatRanks(Ranks{4, 5}), "4, 5");
  EXPECT_EQ(FormatRanks(Ranks{1, 1, 2, 2, 3}), "1-3");
  EXPECT_EQ(FormatRanks(Ranks{1, 3, 5, 7, 7, 9}, 3), "1, 3, 5, … (5 in all)");
  EXPECT_EQ(FormatRanks(Ranks{1, 3, 5}, 3), "1, 3, 5");
}

TEST(ParseRanks, ReversesFormatRanks) {
  EXPECT_EQ(*ParseRanks("0-3,9"), (std::vector<RankId>{0, 1, 2, 3, 9}));
  EXPECT_EQ(*ParseRanks(" 9 , 1 - 2, 1"), (std::vector<RankId>{1, 2, 9}));
  for (const char* bad : {"", "-", "1-", "-1", "3-1", "1,,2", "1,", "a", "1;2", "99999999999", "0x1"}) {
    const auto ranks = ParseRanks(bad);
    ASSERT_FALSE(ranks) << bad;
    EXPECT_EQ(ranks.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(ParseRanks("0-2000000000"));
  EXPECT_FALSE(ParseRanks("0-2147483647"));
}

}  // namespace
}  // namespace headway
