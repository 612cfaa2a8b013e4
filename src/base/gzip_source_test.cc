// SPDX-License-Identifier: Apache-2.0
#include "base/gzip_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/file_source.h"
#include "base/little_endian.h"
#include "base/memory_source.h"
#include "base/packed_samples.h"
#include "base/peek_source.h"
#include "base/test_folder.h"
#include "base/zstd_source.h"

namespace headway {
namespace {

struct Unpacking {
  std::string text;
  std::string damage;  // empty = none
};

Unpacking Unpack(const std::string& packed, size_t chunk = size_t{1} << 20) {
  const auto source = Unpacked(std::make_unique<MemorySource>(packed, SourceOptions{.chunk_size = chunk}),
                               SourceOptions{.chunk_size = chunk});
  Unpacking result{.text = ReadAll(*source), .damage = ""};
  if (source->damage()) result.damage = source->damage()->message;
  EXPECT_TRUE(source->Next()->empty());
  return result;
}

TEST(GzipSource, UnpacksWhatGzipPacked) {
  for (const size_t chunk : {size_t{1}, size_t{2}, size_t{7}, size_t{100}, size_t{1} << 20}) {
    const Unpacking result = Unpack(FromHex(kGzip), chunk);
    EXPECT_EQ(result.text, SampleText()) << "chunk " << chunk;
    EXPECT_EQ(result.damage, "");
  }
}

TEST(GzipSource, ReadsEveryHeaderField) {
  for (const size_t chunk : {size_t{1}, size_t{1} << 20}) {
    const Unpacking result = Unpack(FromHex(kGzipAllFields), chunk);
    EXPECT_EQ(result.text, SampleText()) << "chunk " << chunk;
    EXPECT_EQ(result.damage, "");
  }
}

TEST(GzipSource, ReadsSeveralMembersAndPadding) {
  const std::string packed = FromHex(kGzip) + FromHex(kGzipAllFields) + FromHex(kGzip) +
                             std::string(1000, '\0');  // zeroes as tapes leave them
  for (const size_t chunk : {size_t{1}, size_t{13}, size_t{1} << 20}) {
    const Unpacking result = Unpack(packed, chunk);
    EXPECT_EQ(result.text, SampleText() + SampleText() + SampleText()) << "chunk " << chunk;
    EXPECT_EQ(result.damage, "");
  }
}

TEST(GzipSource, ReportsWhatFollows) {
  const Unpacking result = Unpack(FromHex(kGzip) + "rubbish");
  EXPECT_EQ(result.text, SampleText());
  EXPECT_EQ(result.damage, "something that is not gzip data follows the gzip data; it was ignored");
}

// A file so short that nothing of it can be unpacked is cut off, not empty.
TEST(GzipSourceFault, NothingCouldBeUnpacked) {
  for (const size_t length : {2, 9, 10, 11}) {
    const Unpacking result = Unpack(FromHex(kGzip).substr(0, length));
    EXPECT_EQ(result.text, "") << length;
    EXPECT_EQ(result.damage, "the gzip data are cut off; nothing in them could be read") << length;
  }
}

// Cut off at every length: what comes is always a beginning of the text, more of it for more bytes, equal for all chunk
// sizes; and the damage is reported.
TEST(GzipSourceFault, TruncatedAtEveryLength) {
  const std::string whole = SampleText();
  for (const std::string& packed : {FromHex(kGzip), FromHex(kGzipAllFields)}) {
    size_t before = 0;
    for (size_t length = 2; length < packed.size(); ++length) {
      const std::string part = packed.substr(0, length);
      const Unpacking coarse = Unpack(part);
      EXPECT_TRUE(whole.starts_with(coarse.text)) << length;
      EXPECT_GE(coarse.text.size(), before) << length;
      EXPECT_NE(coarse.damage.find("cut off"), std::string::npos) << length << " " << coarse.damage;
      before = coarse.text.size();
      if (length % 9 != 0) continue;
      const Unpacking fine = Unpack(part, 1);
      EXPECT_EQ(fine.text, coarse.text) << length;
      EXPECT_EQ(fine.damage, coarse.damage) << length;
    }
    EXPECT_EQ(before, whole.size()) << "only the checksum was missing at last";
  }
}

// Any byte of the packed data or the trailer changed: never a crash, never a wrong text without damage (unused bits,
// and copies from another place with the same bytes, change nothing), and the same for all chunk sizes.
TEST(GzipSourceFault, CorruptAtEveryByte) {
  const std::string packed = FromHex(kGzip);
  const size_t body = packed.find("sample.json") + 12;
  for (size_t at = body; at < packed.size(); ++at) {
    for (const int flip : {0x01, 0x90}) {
      std::string corrupt = packed;
      corrupt[at] = static_cast<char>(corrupt[at] ^ flip);
      const Unpacking coarse = Unpack(corrupt);
      EXPECT_TRUE(!coarse.damage.empty() || coarse.text == SampleText()) << "byte " << at << " flip " << flip;
      for (const size_t chunk : {at % 8 == 0 ? size_t{1} : size_t{17}, size_t{300}}) {
        const Unpacking fine = Unpack(corrupt, chunk);
        EXPECT_EQ(coarse.damage, fine.damage) << "byte " << at << " flip " << flip << " chunk " << chunk;
        EXPECT_TRUE(coarse.text == fine.text) << "byte " << at << " flip " << flip << " chunk " << chunk;
      }
    }
  }
}

TEST(GzipSourceFault, WrongChecksumKeepsTheText) {
  std::string packed = FromHex(kGzip);
  packed[packed.size() - 8] ^= 1;
  const Unpacking result = Unpack(packed);
  EXPECT_EQ(result.text, SampleText());
  EXPECT_EQ(result.damage, "the gzip data do not match their checksum: some of them may be wrong");
}

TEST(GzipSource, GoesOnFromACheckpoint) {
  // Three members; the buffer of 256 KB forces several chunks only with more text than the samples hold: repeat them.
  std::string packed;
  std::string whole;
  for (int i = 0; i < 200; ++i) {
    packed += FromHex(kGzip);
    whole += SampleText();
  }
  GzipSource source(std::make_unique<MemorySource>(packed));
  std::string seen;
  int checkpoints = 0;
  while (true) {
    if (const auto checkpoint = source.Save()) {
      ++checkpoints;
      EXPECT_EQ(checkpoint->unpacked_offset, static_cast<int64_t>(seen.size()));
      GzipSource rest(std::make_unique<MemorySource>(packed.substr(static_cast<size_t>(checkpoint->packed_offset))),
                      *checkpoint);
      EXPECT_EQ(seen + ReadAll(rest), whole);
      EXPECT_FALSE(rest.damage());
    }
    const auto chunk = source.Next();
    ASSERT_TRUE(chunk);
    if (chunk->empty()) break;
    seen.append(*chunk);
  }
  EXPECT_EQ(seen, whole);
  EXPECT_GE(checkpoints, 3);
}

TEST(GzipSource, OutsideFilesHaveTheSizeTheirTrailersSay) {
  const std::string data = SharedData();
  if (data.empty()) GTEST_SKIP() << "no outside data";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    if (entry.path().extension() != ".gz" || entry.file_size() > 3'000'000) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto raw = FileSource::Open(entry.path().string(), "file", {.chunk_size = 1000});
    ASSERT_TRUE(raw);
    GzipSource source(std::move(*raw));
    const std::string text = ReadAll(source);
    EXPECT_FALSE(source.damage()) << entry.path();  // the CRC-32 that gzip itself wrote holds
    EXPECT_EQ(static_cast<uint32_t>(text.size()), LoadLittleEndian<uint32_t>(packed.substr(packed.size() - 4)));
    ++files;
  }
  EXPECT_GT(files, 100);
}

TEST(ZstdSource, UnpacksAndReportsDamage) {
  const std::string packed = FromHex(kZstd);
  for (const size_t chunk : {size_t{1}, size_t{1} << 20}) {
    const Unpacking result = Unpack(packed + packed, chunk);
    EXPECT_EQ(result.text, SampleText() + SampleText());
    EXPECT_EQ(result.damage, "");
  }
  for (size_t length = 4; length < packed.size(); ++length) {
    const Unpacking result = Unpack(packed.substr(0, length));
    EXPECT_TRUE(SampleText().starts_with(result.text)) << length;
    EXPECT_NE(result.damage.find("cut off"), std::string::npos) << length;
  }
  std::string corrupt = packed;
  corrupt[packed.size() / 2] ^= 0x55;
  EXPECT_NE(Unpack(corrupt).damage.find("corrupt"), std::string::npos);
}

TEST(Unpacked, LeavesPlainBytesAlone) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("\x1f"), std::string("plain text")}) {
    EXPECT_EQ(Unpack(text).text, text);
    EXPECT_EQ(Unpack(text, 1).text, text);
  }
}

}  // namespace
}  // namespace headway
