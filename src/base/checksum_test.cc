// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>

#include "base/little_endian.h"
#include "base/zstd_block.h"

namespace headway {
namespace {

std::string Sequence(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 131 + 7));
  return bytes;
}

// Computed with the reference implementation (Python package xxhash 3).
TEST(XxHash64, ReferenceVectors) {
  struct Case {
    size_t size;
    uint64_t plain, seeded;
  };
  constexpr uint64_t kSeed = 0x9e3779b97f4a7c15;
  for (const Case& c :
       {Case{0, 0xef46db3751d8e999, 0xc4349fc93c010000}, Case{1, 0xa96c7f0ce858bbb7, 0x585882422a6165e7},
        Case{3, 0xbed43740ee6332bb, 0x45fa1406538fa168}, Case{4, 0xfa212ae44b3bb23d, 0xa65107f22943365a},
        Case{7, 0x2744460dd675d2c0, 0xc9b637e2c4599de2}, Case{8, 0x994b676b71ce94dd, 0xce592d5f53e192ec},
        Case{31, 0x6711d55e306b5d8f, 0x24c4e99ab0404b5e}, Case{32, 0x07f7b8e3bc5d6e25, 0x046e99bbda1a814b},
        Case{33, 0x09f85eeb4e1cbe9f, 0xd7fe2bfee6e4cded}, Case{63, 0xb7c9968c066cb6a5, 0xbd457f9ea47180c8},
        Case{64, 0x50d4159a0411632e, 0xa768f350a8e4fcf6}, Case{100, 0x9ddada11d3dc2d8f, 0x35546bd9a4779ae4},
        Case{1000, 0x0bf0bdbcc82eb373, 0x3ecb5d7b5e7c64cf}}) {
    EXPECT_EQ(XxHash64(Sequence(c.size)), c.plain) << c.size;
    EXPECT_EQ(XxHash64(Sequence(c.size), kSeed), c.seeded) << c.size;
  }
  EXPECT_EQ(XxHash64("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

// A zstd frame ends in the low 32 bits of this checksum of its content (RFC 8878, 3.1.1).
TEST(XxHash64, AgreesWithZstdOnAnyLength) {
  for (size_t size = 0; size < 300; size += 7) {
    const std::string bytes = Sequence(size);
    const std::string packed = *CompressZstd(bytes);
    EXPECT_EQ(static_cast<uint32_t>(XxHash64(bytes)), LoadLittleEndian<uint32_t>(packed.substr(packed.size() - 4)));
  }
}

}  // namespace
}  // namespace headway
