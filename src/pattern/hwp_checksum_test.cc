// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace headway::pattern::hwp {
namespace {

// Values of the reference implementation (libxxhash 0.8.1) for the bytes 3, 10, 17, … modulo 256; the lengths reach
// every branch: empty, 1, 4 and 8 byte tails, one and more stripes of 32.
TEST(Xxh64, EqualsTheReferenceImplementation) {
  const std::pair<size_t, uint64_t> expected[] = {
      {0, 0xef46db3751d8e999ULL},
      {1, 0x1f25c8d0bc1f4bb6ULL},
      {3, 0x31d2363f52e564c9ULL},
      {4, 0x9bb64b7d66ee9fdaULL},
      {7, 0x9a7b149959ce60d8ULL},
      {8, 0xdab99d95c6f90092ULL},
      {14, 0xc7f1d4d0acfa5a14ULL},
      {31, 0xa2aa5f33cc4a6119ULL},
      {32, 0x23c3c17ef790fd97ULL},
      {33, 0x50a7cfc7ba588784ULL},
      {63, 0x5e3e54b431c7493cULL},
      {100, 0xa61f8d4c170fe531ULL},
      {1000, 0x5f235fa033f1a3fbULL},
  };
  for (const auto& [length, checksum] : expected) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(i * 7 + 3));
    EXPECT_EQ(Xxh64(bytes), checksum) << length << " bytes";
  }
}

}  // namespace
}  // namespace headway::pattern::hwp
