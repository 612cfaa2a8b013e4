// SPDX-License-Identifier: Apache-2.0
#include "base/zip_archive.h"

#include <gtest/gtest.h>

#include <string>

#include "base/little_endian.h"
#include "base/packed_samples.h"
#include "base/test_folder.h"

namespace headway {
namespace {

const ZipMember* Find(const std::vector<ZipMember>& members, std::string_view name) {
  for (const ZipMember& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

TEST(ZipArchive, ListsAndReadsMembers) {
  TestFolder folder;
  const std::string path = folder.Write("a.zip", FromHex(kZip));
  const auto members = ListZip(path, "a.zip");
  ASSERT_TRUE(members) << members.error().ToString();
  ASSERT_EQ(members->size(), 4u) << "the folder is left out";
  const ZipMember* deflated = Find(*members, "run/rank0.json");
  const ZipMember* stored = Find(*members, "run/rank1.txt");
  ASSERT_TRUE(deflated != nullptr && stored != nullptr);
  EXPECT_EQ(deflated->size, static_cast<int64_t>(SampleText().size()));
  for (const size_t chunk : {size_t{1}, size_t{10}, size_t{1} << 20}) {
    auto source = OpenZipMember(path, "a.zip:run/rank0.json", *deflated, {.chunk_size = chunk});
    ASSERT_TRUE(source) << source.error().ToString();
    EXPECT_EQ(ReadAll(**source), SampleText());
    EXPECT_FALSE((*source)->damage());
    EXPECT_EQ((*source)->compressed_position(), deflated->packed_size);
    auto plain = OpenZipMember(path, "a.zip:run/rank1.txt", *stored, {.chunk_size = chunk});
    ASSERT_TRUE(plain);
    EXPECT_EQ(ReadAll(**plain), "stored text");
    EXPECT_FALSE((*plain)->damage());
  }
}

TEST(ZipArchive, ReadsZip64AndDataDescriptors) {
  TestFolder folder;
  const std::string local = folder.Write("local64.zip", FromHex(kZipLocal64));
  auto members = ListZip(local, "local64.zip");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ(ReadAll(**OpenZipMember(local, "m", (*members)[0])), "zip64 text");

  const std::string piped = folder.Write("piped.zip", FromHex(kZipPiped));
  members = ListZip(piped, "piped.zip");
  ASSERT_TRUE(members) << members.error().ToString();
  ASSERT_EQ(members->size(), 1u);
  auto source = OpenZipMember(piped, "m", (*members)[0]);
  EXPECT_EQ(ReadAll(**source), SampleText());
  EXPECT_FALSE((*source)->damage());
}

TEST(ZipArchive, ReadsBehindAnythingPutBefore) {
  TestFolder folder;
  const std::string path = folder.Write("sfx.zip", "#!/bin/sh\nexit\n" + FromHex(kZip));
  const auto members = ListZip(path, "sfx.zip");
  ASSERT_TRUE(members) << members.error().ToString();
  EXPECT_EQ(ReadAll(**OpenZipMember(path, "m", *Find(*members, "run/rank0.json"))), SampleText());
}

TEST(ZipArchiveFault, TruncatedAtEveryLengthIsOneClearError) {
  TestFolder folder;
  const std::string whole = FromHex(kZip);
  for (size_t length = 0; length < whole.size(); length += 3) {
    const auto members = ListZip(folder.Write("cut.zip", whole.substr(0, length)), "cut.zip");
    // The archive ends in a comment: without a part of it the directory is still all there.
    if (length + std::string("a comment").size() >= whole.size()) continue;
    ASSERT_FALSE(members) << length;
    EXPECT_EQ(members.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(members.error().where, "cut.zip");
  }
}

// Every byte of the directory and the end record set to 0, 0x7f and 0xff: an error or members, never a crash; and no
// member can be read that is larger than the file allows.
TEST(ZipArchiveFault, CorruptDirectoryNeverCrashes) {
  TestFolder folder;
  for (const std::string_view sample : {kZip, kZipPiped, kZipLocal64}) {
    const std::string whole = FromHex(sample);
    int listed = 0;
    for (size_t at = whole.find("PK\x01\x02"); at < whole.size(); ++at) {
      for (const char value : {'\0', '\x7f', '\xff'}) {
        std::string corrupt = whole;
        corrupt[at] = value;
        const std::string path = folder.Write("corrupt.zip", corrupt);
        const auto members = ListZip(path, "corrupt.zip");
        if (!members) continue;
        ++listed;
        for (const ZipMember& member : *members) {
          auto source = OpenZipMember(path, "member", member);
          if (source) {
            EXPECT_LE(ReadAll(**source).size(), 100'000u);
          }
        }
      }
    }
    EXPECT_GT(listed, 0);
  }
}

TEST(ZipArchiveFault, ClaimedSizesAllocateNothing) {
  TestFolder folder;
  std::string zip = FromHex(kZip);
  const size_t end = zip.rfind("PK\x05\x06");
  std::string size;
  AppendLittleEndian<uint32_t>(&size, 0xfffffff0);
  zip.replace(end + 12, 4, size);  // the directory's size
  const auto members = ListZip(folder.Write("huge.zip", zip), "huge.zip");
  ASSERT_FALSE(members);
  EXPECT_EQ(members.error().code, ErrorCode::kCorrupt);
}

TEST(ZipArchiveFault, CutInsideAMemberGivesWhatIsThere) {
  TestFolder folder;
  const std::string path = folder.Write("a.zip", FromHex(kZip));
  const auto members = ListZip(path, "a.zip");
  ASSERT_TRUE(members);
  const ZipMember member = *Find(*members, "run/rank0.json");
  // The file shrinks after it was listed.
  folder.Write("a.zip", FromHex(kZip).substr(0, static_cast<size_t>(member.header_offset) + 500));
  auto source = OpenZipMember(path, "a.zip:run/rank0.json", member);
  ASSERT_TRUE(source);
  const std::string text = ReadAll(**source);
  EXPECT_GT(text.size(), 500u);
  EXPECT_TRUE(SampleText().starts_with(text));
  ASSERT_TRUE((*source)->damage());
  EXPECT_NE((*source)->damage()->message.find("cut off"), std::string::npos);
  EXPECT_EQ((*source)->damage()->where, "a.zip:run/rank0.json");
}

TEST(ZipArchiveFault, WrongChecksumIsDamage) {
  TestFolder folder;
  const std::string path = folder.Write("a.zip", FromHex(kZip));
  ZipMember member = *Find(*ListZip(path, "a.zip"), "run/rank1.txt");
  member.crc ^= 1;
  auto source = OpenZipMember(path, "m", member);
  EXPECT_EQ(ReadAll(**source), "stored text");
  EXPECT_TRUE((*source)->damage());
}

TEST(ZipArchive, RefusesWhatItCannotRead) {
  TestFolder folder;
  const std::string path = folder.Write("a.zip", FromHex(kZip));
  ZipMember member = *Find(*ListZip(path, "a.zip"), "run/rank0.json");
  member.flags |= 1;
  EXPECT_EQ(OpenZipMember(path, "m", member).error().code, ErrorCode::kUnsupported);
  member.flags = 0;
  member.method = 14;  // LZMA
  EXPECT_EQ(OpenZipMember(path, "m", member).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace headway
