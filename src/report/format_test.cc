// SPDX-License-Identifier: Apache-2.0
#include "report/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace headway::report {
namespace {

TEST(FormatValue, SaysTheUnit) {
  EXPECT_EQ(FormatValue(int64_t{81'000'000}, Unit::kDuration), "81 ms");
  EXPECT_EQ(FormatValue(int64_t{101}, Unit::kStep), "#101");
  EXPECT_EQ(FormatValue(int64_t{1155}, Unit::kCount), "1,155");
  EXPECT_EQ(FormatValue(int64_t{1155}, Unit::kRank), "1155");  // a name, not an amount
  EXPECT_EQ(FormatValue(1.31, Unit::kRatio), "1.31x");
  EXPECT_EQ(FormatValue(12.3e9, Unit::kBytesPerSecond), "12.3 GB/s");
  EXPECT_EQ(FormatValue(std::string("ring"), Unit::kText), "ring");
  EXPECT_EQ(FormatValue({}, Unit::kDuration), "-");
}

TEST(FormatValue, NumbersHaveThreeSignificantDigits) {
  EXPECT_EQ(FormatValue(0.0, Unit::kNumber), "0");
  EXPECT_EQ(FormatValue(0.012345, Unit::kNumber), "0.0123");
  EXPECT_EQ(FormatValue(12.345, Unit::kNumber), "12.3");
  EXPECT_EQ(FormatValue(12345.6, Unit::kNumber), "12346");
  EXPECT_EQ(FormatValue(std::numeric_limits<double>::quiet_NaN(), Unit::kNumber), "-");
}

TEST(FormatShare, KeepsADigitWhereItMatters) {
  EXPECT_EQ(FormatShare(0), "0 %");
  EXPECT_EQ(FormatShare(0.0004), "<0.1 %");
  EXPECT_EQ(FormatShare(0.007), "0.7 %");
  EXPECT_EQ(FormatShare(0.0994), "9.9 %");
  EXPECT_EQ(FormatShare(0.0996), "10 %");  // 9.96 rounds to 10.0: no digit any more
  EXPECT_EQ(FormatShare(-0.2), "-20 %");
}

TEST(FormatForColumn, OneUnitForAllCells) {
  const std::vector<Value> values = {int64_t{900}, int64_t{81'000'000}, Value{}};
  const ColumnFormat format = FormatForColumn(values, Unit::kDuration);
  EXPECT_EQ(format.suffix, "ms");
  // The largest is 81 ms, below 100: two digits for all.
  EXPECT_EQ(format.Cell(values[0]), "0.00");
  EXPECT_EQ(format.Cell(values[1]), "81.00");
  EXPECT_EQ(format.Cell(values[2]), "-");
}

TEST(FormatForColumn, UnitFollowsTheLargest) {
  const auto suffix = [](Nanos largest) {
    const std::vector<Value> values = {largest};
    return FormatForColumn(values, Unit::kDuration).suffix;
  };
  EXPECT_EQ(suffix(999'999), "us");
  EXPECT_EQ(suffix(1'000'000), "ms");
  EXPECT_EQ(suffix(9'999'999'999), "ms");
  EXPECT_EQ(suffix(10'000'000'000), "s");
}

TEST(FormatForColumn, SharesAreInPercent) {
  const std::vector<Value> values = {0.292, 0.05};
  const ColumnFormat format = FormatForColumn(values, Unit::kShare);
  EXPECT_EQ(format.suffix, "%");
  EXPECT_EQ(format.Cell(values[0]), "29.2");
  EXPECT_EQ(format.Cell(values[1]), "5.0");
}

TEST(FormatForColumn, NothingIsZeroWithoutDigits) {
  const std::vector<Value> counts = {0.0, 0.0};
  EXPECT_EQ(FormatForColumn(counts, Unit::kNumber).Cell(counts[0]), "0");
  const std::vector<Value> times = {int64_t{0}, int64_t{0}};
  EXPECT_EQ(FormatForColumn(times, Unit::kDuration).Cell(times[0]), "0");
  EXPECT_EQ(FormatForColumn(times, Unit::kDuration).suffix, "ms");
  const std::vector<Value> shares = {0.0, 0.4};
  EXPECT_EQ(FormatForColumn(shares, Unit::kShare).Cell(shares[0]), "0");
}

TEST(FormatForColumn, NumbersHaveNoMoreDigitsThanTheyNeed) {
  const std::vector<Value> whole = {2.0, 31.0};
  EXPECT_EQ(FormatForColumn(whole, Unit::kNumber).Cell(whole[0]), "2");
  const std::vector<Value> mixed = {2.0, 1.25};
  EXPECT_EQ(FormatForColumn(mixed, Unit::kNumber).Cell(mixed[1]), "1.250");
  // The largest keeps three significant digits, however small it is.
  const std::vector<Value> small = {0.00012345, 0.0};
  EXPECT_EQ(FormatForColumn(small, Unit::kNumber).Cell(small[0]), "0.000123");
  EXPECT_EQ(FormatForColumn(small, Unit::kNumber).Cell(small[1]), "0");
}

TEST(CauseInWords, HyphensBecomeSpaces) {
  EXPECT_EQ(CauseInWords("slow-host-code", false), "slow host code");
  EXPECT_EQ(CauseInWords("slow-host-code", true), "SLOW HOST CODE");
}

TEST(WhenInWords, EachKind) {
  EXPECT_EQ(WhenInWords({WhenKind::kPersistent, {}}, 12), "in every step");
  EXPECT_EQ(WhenInWords({WhenKind::kOnset, {107}}, 12), "since step #107");
  EXPECT_EQ(WhenInWords({WhenKind::kOnce, {104}}, 12), "once, in step #104");
  EXPECT_EQ(WhenInWords({WhenKind::kIntermittent, {101, 104, 110}}, 12), "in 3 of 12 steps");
  EXPECT_EQ(WhenInWords({WhenKind::kIntermittent, {}}, 0), "in some steps");
}

}  // namespace
}  // namespace headway::report
