// SPDX-License-Identifier: Apache-2.0
#include "base/varint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace headway {
namespace {

std::string Encoded(uint64_t value) {
  std::string out;
  AppendVarint(&out, value);
  return out;
}

// The examples of the DWARF 5 standard, table 7.7, and protobuf's encoding page (150, -2).
TEST(Varint, OutsideExamples) {
  EXPECT_EQ(Encoded(2), "\x02");
  EXPECT_EQ(Encoded(127), "\x7f");
  EXPECT_EQ(Encoded(128), std::string("\x80\x01"));
  EXPECT_EQ(Encoded(129), std::string("\x81\x01"));
  EXPECT_EQ(Encoded(12857), std::string("\xb9\x64"));
  EXPECT_EQ(Encoded(150), std::string("\x96\x01"));
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(-2), 3u);
  EXPECT_EQ(ZigZag(0x7fffffff), 0xfffffffeu);
  EXPECT_EQ(ZigZag(-0x7fffffff - 1), 0xffffffffu);
}

TEST(Varint, EveryWidthReadsBack) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> values = {0, 1, std::numeric_limits<uint64_t>::max()};
  for (int bits = 0; bits < 64; ++bits) {
    values.push_back(uint64_t{1} << bits);
    values.push_back((uint64_t{1} << bits) - 1);
    values.push_back(random() >> bits);
  }
  std::string bytes;
  for (const uint64_t value : values) {
    AppendVarint(&bytes, value);
    AppendSignedVarint(&bytes, static_cast<int64_t>(value));
  }
  VarintReader reader(bytes);
  for (const uint64_t value : values) {
    EXPECT_EQ(reader.Varint(), value);
    EXPECT_EQ(reader.SignedVarint(), static_cast<int64_t>(value));
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.empty());
}

TEST(VarintFault, NeverReadsBeyondTheEnd) {
  for (size_t size = 0; size < 10; ++size) {
    const std::string unfinished(size, '\xff');
    VarintReader reader(unfinished);
    EXPECT_EQ(reader.Varint(), 0u);
    EXPECT_FALSE(reader.ok());
    EXPECT_TRUE(reader.empty());
  }
}

TEST(VarintFault, RefusesMoreThan64Bits) {
  const std::string largest = std::string(9, '\xff') + "\x01";
  EXPECT_EQ(VarintReader(largest).Varint(), std::numeric_limits<uint64_t>::max());
  for (const std::string& bad :
       {std::string(9, '\xff') + "\x02", std::string(10, '\x80') + "\x01", std::string(20, '\xff')}) {
    VarintReader reader(bad);
    EXPECT_EQ(reader.Varint(), 0u);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(VarintFault, ClaimedSizesAreChecked) {
  VarintReader reader("abcdef");
  EXPECT_EQ(reader.Bytes(2), "ab");
  EXPECT_TRUE(reader.CanHold(2, 2));
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(VarintReader("abcdef").CanHold(std::numeric_limits<uint64_t>::max(), 8));
  EXPECT_EQ(reader.Bytes(std::numeric_limits<uint64_t>::max()), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Bytes(0), "");
  EXPECT_FALSE(reader.ok()) << "for good";
}

}  // namespace
}  // namespace headway
