// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_block.h"

#include <gtest/gtest.h>

#include <string>

#include "base/packed_samples.h"

namespace headway {
namespace {

TEST(ZstdBlock, ReadsBackWhatItPacked) {
  for (const std::string& bytes : {std::string(), std::string("x"), SampleText(), std::string(1'000'000, 'a')}) {
    for (const int level : {1, 3, 19}) {
      const auto packed = CompressZstd(bytes, level);
      ASSERT_TRUE(packed);
      const auto unpacked = DecompressZstd(*packed, bytes.size());
      ASSERT_TRUE(unpacked) << unpacked.error().ToString();
      EXPECT_TRUE(*unpacked == bytes);
    }
  }
  EXPECT_LT(CompressZstd(SampleText())->size(), SampleText().size() / 2);
}

TEST(ZstdBlock, ReadsWhatTheZstdProgramPacked) { EXPECT_EQ(*DecompressZstd(FromHex(kZstd), 1 << 20), SampleText()); }

TEST(ZstdBlockFault, StopsAtTheLimit) {
  std::string zeros;
  zeros.resize(50'000'000);
  const std::string bomb = *CompressZstd(zeros);
  EXPECT_LT(bomb.size(), 10'000u);
  const auto unpacked = DecompressZstd(bomb, 1'000'000);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().code, ErrorCode::kTooLarge);
  EXPECT_FALSE(DecompressZstd(*CompressZstd("12345"), 4));
  EXPECT_TRUE(DecompressZstd(*CompressZstd("12345"), 5));
}

TEST(ZstdBlockFault, TruncatedOrCorruptIsAnError) {
  const std::string packed = *CompressZstd(SampleText());
  for (size_t length = 0; length < packed.size(); ++length) {
    const auto unpacked = DecompressZstd(packed.substr(0, length), 1 << 20);
    ASSERT_FALSE(unpacked) << length;
    EXPECT_EQ(unpacked.error().code, ErrorCode::kCorrupt);
  }
  for (size_t at = 0; at < packed.size(); ++at) {
    std::string corrupt = packed;
    corrupt[at] = static_cast<char>(corrupt[at] ^ 0x41);
    const auto unpacked = DecompressZstd(corrupt, 1 << 20);
    EXPECT_TRUE(!unpacked || *unpacked == SampleText()) << "the checksum let byte " << at << " pass";
  }
  EXPECT_FALSE(DecompressZstd(packed + "rubbish", 1 << 20));
}

}  // namespace
}  // namespace headway
