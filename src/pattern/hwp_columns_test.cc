// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace headway::pattern::hwp {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Column {
  std::vector<int64_t> values;
  std::vector<uint32_t> lengths;
};

ColumnStreams Write(const Column& column) {
  ColumnWriter writer;
  writer.Rows(column.values, column.lengths);
  return writer.Take();
}

size_t Bytes(const ColumnStreams& s) {
  return s.widths.size() + s.heads.size() + s.tops.size() + s.bits.size() - kBitPadding;
}

void ExpectRoundTrip(const Column& column) {
  const ColumnStreams streams = Write(column);
  ColumnReader reader(streams.widths, streams.heads, streams.tops, streams.bits);
  std::vector<int64_t> read(column.values.size());
  reader.Rows(column.lengths, read);
  EXPECT_FALSE(reader.failed());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(read, column.values);
}

TEST(HwpColumns, AnyRowsComeBack) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Column column;
    const int magnitude = static_cast<int>(random() % 64);
    for (auto rows = random() % 12; rows > 0; --rows) {
      column.lengths.push_back(static_cast<uint32_t>(random() % 80));
      for (uint32_t i = 0; i < column.lengths.back(); ++i) {
        column.values.push_back(static_cast<int64_t>(random()) >> (random() % 10 == 0 ? 0 : magnitude));
      }
    }
    ExpectRoundTrip(column);
  }
}

TEST(HwpColumns, ExtremesComeBack) {
  ExpectRoundTrip({{kLeast, kMost, 0, -1, 1, kLeast, kMost}, {7}});
  ExpectRoundTrip({{kLeast}, {1}});
  ExpectRoundTrip({{kMost, kMost}, {1, 1}});
  ExpectRoundTrip({{0, 0, 0}, {3}});
  ExpectRoundTrip({{}, {0, 0}});
}

TEST(HwpColumns, CommonDivisorCostsNothing) {
  Column fine, coarse;
  for (int64_t i = 0; i < 32; ++i) fine.values.push_back(i * i % 31);
  for (const int64_t v : fine.values) coarse.values.push_back(v * 1000);
  fine.lengths = coarse.lengths = {32};
  // 31 = 2^5 - 1: five bits each, 20 bytes, a width, a base, a scale of one and of two bytes.
  EXPECT_EQ(Bytes(Write(fine)), 20u + 1 + 1 + 1);
  EXPECT_EQ(Bytes(Write(coarse)), 20u + 1 + 1 + 2);
  ExpectRoundTrip(coarse);
}

TEST(HwpColumns, AnOutlierDoesNotWidenItsRow) {
  Column column{std::vector<int64_t>(32, 0), {32}};
  for (size_t i = 0; i < 32; ++i) column.values[i] = static_cast<int64_t>(i % 2);
  column.values[7] = 1'000'000;
  // One bit each is 4 bytes; the outlier is a count, a position and the varint of 1,000,000 / 2 (3 bytes).
  EXPECT_EQ(Bytes(Write(column)), 4u + 5 + 1 + 1 + 1);
  ExpectRoundTrip(column);
}

// The price of jitter: a row of 20 log-normal durations of sigma 5 % takes 7.5 bits a number where an ideal coder that
// knew mean and deviation would take log2(4.13 x 0.05 x 500) = 6.7.
TEST(HwpColumns, JitterCostsLittleMoreThanItsEntropy) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Column column;
  for (int row = 0; row < 500; ++row) {
    column.lengths.push_back(20);
    for (int i = 0; i < 20; ++i) column.values.push_back(std::llround(500 * std::exp(0.05 * normal(random))));
  }
  const double bits = 8.0 * static_cast<double>(Bytes(Write(column))) / static_cast<double>(column.values.size());
  EXPECT_LT(bits, 8.0);
  EXPECT_GT(bits, 6.7);
  ExpectRoundTrip(column);
}

TEST(HwpColumns, PlainNumbersComeBack) {
  const std::vector<int64_t> values = {kLeast, 3, -70000, 0, kMost};
  ColumnWriter writer;
  writer.Plain(values);
  writer.Plain({});
  writer.Row(values);
  const ColumnStreams streams = writer.Take();
  ColumnReader reader(streams.widths, streams.heads, streams.tops, streams.bits);
  std::vector<int64_t> plain(values.size()), row(values.size());
  reader.Plain(plain);
  reader.Plain({});
  reader.Row(row);
  EXPECT_EQ(plain, values);
  EXPECT_EQ(row, values);
  EXPECT_TRUE(reader.AtEnd());
}

TEST(HwpColumns, StreamsThatEndEarlyFail) {
  Column column;
  for (int64_t i = 0; i < 100; ++i) column.values.push_back(i * 977 % 1009);
  column.lengths = {40, 60};
  const ColumnStreams whole = Write(column);
  const auto fails = [&](const ColumnStreams& s) {
    ColumnReader reader(s.widths, s.heads, s.tops, s.bits);
    std::vector<int64_t> read(column.values.size());
    reader.Rows(column.lengths, read);
    return reader.failed();
  };
  ASSERT_FALSE(fails(whole));
  for (std::string ColumnStreams::* stream :
       {&ColumnStreams::widths, &ColumnStreams::heads, &ColumnStreams::tops, &ColumnStreams::bits}) {
    ASSERT_FALSE((whole.*stream).empty());
    for (size_t n = 0; n < (whole.*stream).size(); ++n) {
      ColumnStreams cut = whole;
      (cut.*stream).resize(n);
      EXPECT_TRUE(fails(cut));
    }
  }
  ColumnStreams wide = whole;
  wide.widths[0] = 57;  // bits a value: one more than there may be
  EXPECT_TRUE(fails(wide));
}

TEST(HwpColumns, AnOutlierOutsideItsPieceFails) {
  Column column{{0, 1, 0, 1, 1'000'000, 0, 1, 1}, {8}};
  ColumnStreams streams = Write(column);
  const size_t at = streams.heads.find(char{4});  // its position
  ASSERT_NE(at, std::string::npos);
  streams.heads[at] = 8;
  ColumnReader reader(streams.widths, streams.heads, streams.tops, streams.bits);
  std::vector<int64_t> read(8);
  reader.Rows(column.lengths, read);
  EXPECT_TRUE(reader.failed());
}

}  // namespace
}  // namespace headway::pattern::hwp
