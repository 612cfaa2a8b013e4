// SPDX-License-Identifier: Apache-2.0
#include "base/tar_archive.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_source.h"
#include "base/packed_samples.h"
#include "base/tar_header.h"
#include "base/test_folder.h"
#include "base/zstd_block.h"

namespace headway {
namespace {

std::string Unpack(const std::string& packed) {
  GzipSource source(std::make_unique<MemorySource>(packed));
  return ReadAll(source);
}

std::string ReadMember(const TarArchive& archive, const TarMember& member, size_t chunk = size_t{1} << 20) {
  auto source = archive.Open(member, member.name, {.chunk_size = chunk});
  if (!source) return source.error().ToString();
  std::string text = ReadAll(**source);
  EXPECT_FALSE((*source)->damage());
  EXPECT_EQ((*source)->compressed_position(), member.size);
  return text;
}

// The samples hold five files; the long name differs by format.
void ExpectSample(const TarArchive& archive, const std::string& long_name, const std::string& long_content) {
  EXPECT_FALSE(archive.damage());
  std::vector<std::string> names;
  for (const TarMember& member : archive.members()) names.push_back(member.name);
  EXPECT_EQ(names, (std::vector<std::string>{"./run/rank0.json", long_name, "run/empty.json", "run/.hidden",
                                             "run/last.json"}));
  ASSERT_EQ(names.size(), 5u);
  for (const size_t chunk : {size_t{1}, size_t{1} << 20}) {
    EXPECT_EQ(ReadMember(archive, archive.members()[0], chunk), SampleText());
    EXPECT_EQ(ReadMember(archive, archive.members()[1], chunk), long_content);
    EXPECT_EQ(ReadMember(archive, archive.members()[2], chunk), "");
    EXPECT_EQ(ReadMember(archive, archive.members()[4], chunk), "last");
  }
}

TEST(TarArchive, ReadsEveryFormatPlainAndPacked) {
  TestFolder folder;
  std::string long_name;
  for (int i = 0; i < 6; ++i) long_name += "folder_with_a_long_name/";
  long_name += "rank_with_a_very_long_name_" + std::string(60, 'x') + ".json";
  const std::string ustar_name = std::string(120, 'p') + "/" + std::string(90, 'n');
  struct Case {
    std::string_view packed;
    std::string name, content;
  };
  for (const Case& c : {Case{kTarGzUstar, ustar_name, "ustar prefix"}, Case{kTarGzGnu, long_name, "long name"},
                        Case{kTarGzPax, long_name, "long name"}}) {
    const std::string gz = folder.Write("a.tar.gz", FromHex(c.packed));
    const std::string tar = folder.Write("a.tar", Unpack(FromHex(c.packed)));
    const std::string zst = folder.Write("a.tar.zst", *CompressZstd(Unpack(FromHex(c.packed))));
    ExpectSample(**TarArchive::List(gz, "a.tar.gz", TarArchive::Packing::kGzip), c.name, c.content);
    ExpectSample(**TarArchive::List(tar, "a.tar", TarArchive::Packing::kNone), c.name, c.content);
    ExpectSample(**TarArchive::List(zst, "a.tar.zst", TarArchive::Packing::kZstd), c.name, c.content);
  }
}

// A gzipped archive of many members over 40 MB, so that checkpoints are taken and thinned: ten packed copies of one
// large member's worth. Every member read alone must give what was put in.
TEST(TarArchive, OpensMembersOfALargePackedArchiveAlone) {
  TestFolder folder;
  // Concatenated gzip members of whole tars without their end: gzip joins them, so does tar.
  const std::string one = Unpack(FromHex(kTarGzUstar));
  const std::string body = one.substr(0, one.find("run/last.json"));  // cut where the last member begins: block-aligned
  ASSERT_EQ(body.size() % kTarBlock, 0u);
  const std::string part = folder.Write("part.tar", body);
  ASSERT_EQ(std::system(("gzip -1 -k '" + part + "'").c_str()), 0);
  std::ifstream in(part + ".gz", std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::string archive_bytes;
  const int copies = 6000;  // 6000 x ~8 KB = ~45 MB
  for (int i = 0; i < copies; ++i) archive_bytes += packed;
  const std::string path = folder.Write("big.tar.gz", archive_bytes);
  const auto archive = TarArchive::List(path, "big.tar.gz", TarArchive::Packing::kGzip);
  ASSERT_TRUE(archive);
  ASSERT_EQ((*archive)->members().size(), static_cast<size_t>(copies) * 4);
  for (size_t i = 0; i < (*archive)->members().size(); i += 1999) {
    const TarMember& member = (*archive)->members()[i];
    const std::string expected = member.name == "./run/rank0.json" ? SampleText()
                                 : member.name == "run/.hidden"    ? "h"
                                 : member.name == "run/empty.json" ? ""
                                                                   : "ustar prefix";
    EXPECT_EQ(ReadMember(**archive, member), expected) << i;
  }
}

TEST(TarArchiveFault, TruncatedAtEveryBlock) {
  TestFolder folder;
  const std::string whole = Unpack(FromHex(kTarGzGnu));
  const size_t end = whole.find("run/last.json") + 2 * kTarBlock;
  for (size_t length = 1; length < end; length += 171) {
    const std::string path = folder.Write("cut.tar", whole.substr(0, length));
    const auto archive = TarArchive::List(path, "cut.tar", TarArchive::Packing::kNone);
    ASSERT_TRUE(archive);
    bool cut = false;
    for (const TarMember& member : (*archive)->members()) {
      auto source = (*archive)->Open(member, member.name);
      ASSERT_TRUE(source);
      const std::string text = ReadAll(**source);
      // Cut members say so; whole ones do not.
      EXPECT_EQ((*source)->damage().has_value(), static_cast<int64_t>(text.size()) < member.size) << length;
      cut = cut || (*source)->damage();
    }
    // A cut in the padding of a member or a long name loses nothing.
    const std::string lost = whole.substr(length, (kTarBlock - length % kTarBlock) % kTarBlock);
    const bool in_padding = lost.find_first_not_of('\0') == std::string::npos;
    EXPECT_TRUE((*archive)->damage() || in_padding) << length;
    EXPECT_TRUE(!cut || (*archive)->damage()) << length;
  }
}

TEST(TarArchiveFault, CorruptHeadersNeverCrash) {
  TestFolder folder;
  const std::string whole = Unpack(FromHex(kTarGzPax));
  int damaged = 0;
  for (size_t at = 0; at < whole.find("run/last.json") + kTarBlock; at += 29) {
    for (const char value : {'\0', '\xff', '7'}) {
      std::string corrupt = whole;
      corrupt[at] = value;
      const auto archive = TarArchive::List(folder.Write("c.tar", corrupt), "c.tar", TarArchive::Packing::kNone);
      ASSERT_TRUE(archive);
      damaged += (*archive)->damage() ? 1 : 0;
    }
  }
  EXPECT_GT(damaged, 100);
}

TEST(TarArchiveFault, PackedAndCutOff) {
  TestFolder folder;
  const std::string packed = FromHex(kTarGzGnu);
  const std::string path = folder.Write("cut.tar.gz", packed.substr(0, 700));
  const auto archive = TarArchive::List(path, "cut.tar.gz", TarArchive::Packing::kGzip);
  ASSERT_TRUE(archive);
  EXPECT_TRUE((*archive)->damage());
  ASSERT_GE((*archive)->members().size(), 1u);
  auto source = (*archive)->Open((*archive)->members()[0], "member");
  ASSERT_TRUE(source);
  EXPECT_TRUE(SampleText().starts_with(ReadAll(**source)));
  EXPECT_TRUE((*source)->damage());
}

// A header with a good checksum that claims any size.
std::string HeaderBlock(std::string_view name, std::string_view size_field, char type = '0') {
  std::string block(kTarBlock, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size_field.size(), size_field);
  block.replace(148, 8, "        ");
  block[156] = type;
  block.replace(257, 8, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", sum);
  block.replace(148, 7, std::string_view(text, 7));
  return block;
}

TEST(TarArchiveFault, HugeClaimedSizes) {
  TestFolder folder;
  for (const std::string& size :
       {std::string("77777777777"), std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")}) {
    for (const char type : {'0', 'x', 'L', 'S'}) {
      const std::string path = folder.Write("huge.tar", HeaderBlock("a.json", size, type) + "short");
      const auto archive = TarArchive::List(path, "huge.tar", TarArchive::Packing::kNone);
      ASSERT_TRUE(archive);
      EXPECT_TRUE((*archive)->damage());
      for (const TarMember& member : (*archive)->members()) {
        EXPECT_EQ(ReadAll(**(*archive)->Open(member, "member")), "short");
      }
    }
  }
}

TEST(TarHeader, ReadsBase256Sizes) {
  // 0x80 marks base 256: 0x02 00 00 00 00 = 8 GiB.
  const auto header = ParseTarHeader(HeaderBlock("big", std::string("\x80\0\0\0\0\0\0\x02\0\0\0\0", 12)));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->size, int64_t{8} << 30);
}

TEST(TarHeader, PaxRecordsOverrideAndDamagedOnesEnd) {
  // "20 path=a/b/c/d.json\n" counts its own two digits: 2 + 1 + 4 + 1 + 12 + 1 = 21.
  const PaxRecords good = ParsePax("21 path=a/b/c/d.json\n12 size=123\n22 GNU.sparse.major=1\n");
  EXPECT_EQ(good.path, "a/b/c/d.json");
  EXPECT_EQ(good.size, 123);
  EXPECT_TRUE(good.sparse);
  for (const char* bad : {"", "x", "5", "99999999999999999999999 a=b\n", "3 a", "2 a=b\n", "4 ab", "500 path=x\n"}) {
    const PaxRecords none = ParsePax(bad);
    EXPECT_FALSE(none.path || none.size || none.sparse) << bad;
  }
}

TEST(TarArchive, OutsideArchivesListAsTarDoes) {
  const std::string data = SharedData();
  if (data.empty()) GTEST_SKIP() << "no outside data";
  for (const char* name :
       {"/param/dlrm_kineto.tar.gz", "/chakra/json_trace.tar.gz", "/chakra/1.0.2-chakra.0.0.4.tgz"}) {
    const auto archive = TarArchive::List(data + name, name, TarArchive::Packing::kGzip);
    ASSERT_TRUE(archive);
    EXPECT_FALSE((*archive)->damage()) << name;
    // `tar tvzf` prints one line a member; a regular file's begins with '-' and has its size in the third column.
    std::FILE* listing =
        ::popen(("tar tvzf '" + data + name + "' | awk '/^-/ {n++; s += $3} END {print n, s}'").c_str(), "r");
    ASSERT_NE(listing, nullptr);
    long long count = 0;
    long long bytes = 0;
    ASSERT_EQ(std::fscanf(listing, "%lld %lld", &count, &bytes), 2);
    ::pclose(listing);
    int64_t read = 0;
    for (const TarMember& member : (*archive)->members()) {
      read += static_cast<int64_t>(ReadMember(**archive, member).size());
    }
    EXPECT_EQ(static_cast<long long>((*archive)->members().size()), count) << name;
    EXPECT_EQ(read, bytes) << name;
  }
}

}  // namespace
}  // namespace headway
