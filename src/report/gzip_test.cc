// SPDX-License-Identifier: Apache-2.0
#include "report/gzip.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/gzip_source.h"
#include "base/memory_source.h"

namespace headway::report {
namespace {

// The test vectors of RFC 4648, section 10.
TEST(Base64, Rfc4648) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

TEST(Gzip, NoTimeNoName) {
  const std::string packed = Gzip("headway");
  // RFC 1952: magic, deflate, no flags (so no name), time 0.
  EXPECT_EQ(packed.substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_EQ(packed, Gzip("headway"));
  // The last eight bytes: CRC-32 of the text and its length, little endian. CRC-32 of "123456789" is 0xcbf43926.
  const std::string check = Gzip("123456789");
  EXPECT_EQ(check.substr(check.size() - 8), std::string("\x26\x39\xf4\xcb\x09\0\0\0", 8));
}

// Read back by the other library of the project, isa-l.
TEST(Gzip, AnotherDecoderReadsIt) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919 % 10007) + ",";
  GzipSource source(std::make_unique<MemorySource>(Gzip(text)));
  std::string unpacked;
  while (true) {
    const Result<std::string_view> chunk = source.Next();
    ASSERT_TRUE(chunk.has_value());
    if (chunk->empty()) break;
    unpacked += *chunk;
  }
  EXPECT_FALSE(source.damage().has_value());
  EXPECT_EQ(unpacked, text);
}

TEST(Gzip, RepetitionShrinks) { EXPECT_LT(Gzip(std::string(1'000'000, 'a')).size(), 2'000U); }

}  // namespace
}  // namespace headway::report
