// SPDX-License-Identifier: Apache-2.0
// Files that are cut, damaged, hostile or of the future.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/varint.h"
#include "pattern/hwp_blocks.h"
#include "pattern/hwp_format.h"
#include "pattern/hwp_reader.h"
#include "pattern/hwp_record.h"
#include "pattern/hwp_same_pattern.h"
#include "pattern/hwp_sample_pattern.h"
#include "pattern/hwp_validate.h"
#include "pattern/hwp_writer.h"

namespace headway::pattern {
namespace {

using hwp::FirstDifference;

std::vector<RankPattern> Ranks() {
  std::vector<RankPattern> ranks;
  for (RankId r = 0; r < 3; ++r) {
    ranks.push_back(hwp::MakeSamplePattern(
        {.functions = 12, .steps = 2, .collectives = 6, .rank = r, .world_size = 4, .table_seed = r == 2 ? 2u : 1u},
        static_cast<uint64_t>(r)));
  }
  return ranks;
}

// Either refused in one sentence, or only whole ranks come out and a problem is told.
void ExpectRefusedOrWhole(std::string_view bytes, const std::vector<RankPattern>& ranks, const std::string& what) {
  const auto contents = ReadHwp(bytes, "job.hwp");
  if (!contents) {
    EXPECT_FALSE(contents.error().message.empty()) << what;
    EXPECT_TRUE(contents.error().where.starts_with("job.hwp")) << what;
    return;
  }
  EXPECT_FALSE(contents->problems.empty()) << what;
  for (const RankPattern& rank : contents->ranks) {
    ASSERT_LT(static_cast<size_t>(rank.meta.rank), ranks.size()) << what;
    EXPECT_EQ(FirstDifference(ranks[static_cast<size_t>(rank.meta.rank)], rank), "") << what;
  }
}

TEST(HwpDamage, AnyByteThatFlipsIsNoticed) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp(ranks);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      ExpectRefusedOrWhole(bad, ranks, "byte " + std::to_string(at) + " ^ " + std::to_string(mask));
    }
  }
}

TEST(HwpDamage, OneDamagedRankLeavesTheOthers) {
  const auto ranks = Ranks();
  std::string bytes = WriteHwp(ranks);
  bytes.back() = static_cast<char>(bytes.back() ^ 4);  // rank 2 is last
  const auto contents = ReadHwp(bytes, "job.hwp");
  ASSERT_TRUE(contents.has_value());
  EXPECT_EQ(contents->ranks.size(), 2u);
  ASSERT_EQ(contents->problems.size(), 1u);
  EXPECT_EQ(contents->problems[0].message, "the section of rank 2 is damaged (its checksum does not match)");
  EXPECT_TRUE(contents->problems[0].where.starts_with("job.hwp, byte "));
}

TEST(HwpDamage, ADamagedTableIsToldOnceAndLeavesTheRanksOfAnother) {
  const auto ranks = Ranks();
  std::string bytes = WriteHwp(ranks);
  const auto directory = hwp::ReadDirectory(bytes, "job.hwp");
  ASSERT_TRUE(directory.has_value());
  // The table of ranks 0 and 1 is the larger or the smaller one: damage each in turn.
  for (size_t table = 0; table < 2; ++table) {
    ASSERT_EQ(directory->sections[table].tag, hwp::kTableTag);
    std::string bad = bytes;
    const auto at = static_cast<size_t>(directory->sections[table].bytes.data() - bytes.data()) + 20;
    bad[at] = static_cast<char>(bad[at] ^ 2);
    const auto contents = ReadHwp(bad, "job.hwp");
    ASSERT_TRUE(contents.has_value());
    EXPECT_EQ(contents->problems.size(), 1u);
    EXPECT_TRUE(contents->ranks.size() == 1 || contents->ranks.size() == 2);
  }
}

TEST(HwpDamage, ACutAnywhereKeepsTheWholeRanks) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp(ranks);
  size_t most = 0;
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string_view cut = std::string_view(good).substr(0, length);
    ExpectRefusedOrWhole(cut, ranks, "cut at " + std::to_string(length));
    const auto contents = ReadHwp(cut, "job.hwp");
    if (contents) most = std::max(most, contents->ranks.size());
  }
  EXPECT_EQ(most, 2u);
  const auto last = ReadHwp(std::string_view(good).substr(0, good.size() - 1), "job.hwp");
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->ranks.size(), 2u);
  ASSERT_EQ(last->problems.size(), 1u);
  EXPECT_EQ(last->problems[0].message, "the file is cut off: 2 of 3 ranks are whole");
}

TEST(HwpDamage, BytesBehindTheEndAreTold) {
  const auto ranks = Ranks();
  const auto contents = ReadHwp(WriteHwp(ranks) + "more", "job.hwp");
  ASSERT_TRUE(contents.has_value());
  EXPECT_EQ(contents->ranks.size(), 3u);
  ASSERT_EQ(contents->problems.size(), 1u);
  EXPECT_EQ(contents->problems[0].message, "4 bytes follow the last section and were left out");
}

TEST(HwpDamage, OtherFilesAreRefused) {
  for (const std::string_view bytes : {"", "\x89PNG\r\n\x1a\n............", "{\"traceEvents\":[]}"}) {
    EXPECT_FALSE(IsHwp(bytes));
    const auto contents = ReadHwp(bytes, "x");
    ASSERT_FALSE(contents.has_value());
    EXPECT_EQ(contents.error().ToString(), "x: this is not a .hwp file");
  }
}

TEST(HwpFuture, ANewerVersionSaysToUpdate) {
  std::string bytes = WriteHwp({});
  bytes[8] = 7;
  const auto contents = ReadHwp(bytes, "new.hwp");
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(contents.error().ToString(),
            "new.hwp: written by a newer headway (format version 7, this program reads up to 2): update headway");
}

TEST(HwpFuture, AnOlderVersionSaysToMakeItAgain) {
  std::string bytes = WriteHwp({});
  bytes[8] = 1;
  const auto contents = ReadHwp(bytes, "old.hwp");
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(
      contents.error().ToString(),
      "old.hwp: written by an older headway (format version 1, this program reads version 2): make it again from the "
      "trace");
}

// What the document shows byte for byte.
TEST(HwpFormat, AnEmptyFileIsTheOneInTheDocument) {
  const std::string expected(
      "\x89HWP\r\n\x1a\n\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\x5d\x45\x24\x0c\x4a\xff\xb2\x18",
      32);
  EXPECT_EQ(WriteHwp({}), expected);
}

std::string FileWith(const std::string& good, const hwp::Section& more) {
  auto directory = hwp::ReadDirectory(good, "good.hwp");
  directory->sections.push_back(more);
  return hwp::AssembleFile(std::move(directory->sections)).value_or("");
}

TEST(HwpFuture, AnOptionalSectionIsSkippedAndARequiredOneRefused) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp(ranks);
  std::string optional = FileWith(good, hwp::MakeSection({'h', 'i', 's', 't'}, 1, "new things"));
  const auto skipped = ReadHwp(optional, "job.hwp");
  ASSERT_TRUE(skipped.has_value());
  EXPECT_EQ(skipped->ranks.size(), 3u);
  EXPECT_TRUE(skipped->problems.empty());
  optional.back() = '?';  // sorted last; damage in it is told all the same
  EXPECT_EQ(ReadHwp(optional, "job.hwp")->problems.size(), 1u);

  const std::string required = FileWith(good, hwp::MakeSection({'H', 'I', 'S', '\x01'}, 1, "new things"));
  const auto refused = ReadHwp(required, "job.hwp");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().ToString(),
            "job.hwp: written by a newer headway (it needs section \"HIS?\", which this program does not know): "
            "update headway");
}

// A rank section with `change` made to its payload, in a file with right checksums.
template <typename Change>
std::string Forged(const std::string& good, Change change) {
  auto directory = hwp::ReadDirectory(good, "good.hwp");
  std::vector<std::string> payloads(directory->sections.size());
  std::vector<hwp::Section> sections;
  for (size_t i = 0; i < payloads.size(); ++i) {
    const hwp::Section& section = directory->sections[i];
    payloads[i] = section.bytes;
    if (section.tag == hwp::kRankTag) change(&payloads[i]);
    sections.push_back(hwp::MakeSection(section.tag, section.rank, payloads[i]));
  }
  return hwp::AssembleFile(std::move(sections)).value_or("");
}

TEST(HwpFuture, AnOptionalBlockIsSkippedAndARequiredOneRefused) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp({ranks.data(), 1});
  const auto with_block = [&](int id) {
    return ReadHwp(Forged(good, [id](std::string* s) { hwp::AppendBlock(static_cast<hwp::BlockId>(id), "abc", 0, s); }),
                   "job.hwp");
  };
  ASSERT_TRUE(with_block(0x99).has_value());
  EXPECT_EQ(FirstDifference(ranks[0], with_block(0x99)->ranks[0]), "");
  ASSERT_FALSE(with_block(0x19).has_value());
  EXPECT_EQ(with_block(0x19).error().code, ErrorCode::kUnsupported);
}

TEST(HwpFuture, SlicesOfStepsAreABlockThatOthersSkip) {
  auto ranks = Ranks();
  const std::string without = WriteHwp({ranks.data(), 1});
  ranks[0].steps.back().behind_host[3] = 7;
  const std::string with = WriteHwp({ranks.data(), 1});
  const auto read = ReadHwp(with, "job.hwp");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(FirstDifference(ranks[0], read->ranks[0]), "");
  // Behind all other bytes: two of its head, one or two of its length, sixteen a step.
  const size_t slices = kStepSlices * ranks[0].steps.size();
  EXPECT_EQ(with.size() - without.size(), slices + (slices < 128 ? 3 : 4));
  // Of another number of steps they are refused.
  const auto odd =
      ReadHwp(Forged(without, [](std::string* s) { hwp::AppendBlock(hwp::BlockId::kSlices, "abc", 0, s); }), "job.hwp");
  ASSERT_FALSE(odd.has_value());
  EXPECT_NE(odd.error().ToString().find("slices of steps"), std::string::npos);
}

// Damage that the checksums cannot see: nothing but what the types and promises allow comes out.
TEST(HwpHostile, BytesBehindRightChecksumsNeverBreakAPromise) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp({ranks.data(), 1});
  const size_t payload = hwp::ReadDirectory(good, "x")->sections.back().bytes.size();
  int accepted = 0, refused = 0;
  for (size_t at = 0; at < payload; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::string forged =
          Forged(good, [&](std::string* s) { (*s)[at] = static_cast<char>((*s)[at] ^ (1 << bit)); });
      const auto contents = ReadHwp(forged, "job.hwp");
      if (!contents) {
        ++refused;
        EXPECT_TRUE(contents.error().where.starts_with("job.hwp")) << contents.error().ToString();
        continue;
      }
      ++accepted;
      for (const RankPattern& rank : contents->ranks) EXPECT_EQ(hwp::BrokenPromise(rank), nullptr);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 1000);  // most bits are values
}

TEST(HwpHostile, HugeCountsAskForNoMemory) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp({ranks.data(), 1});
  // The record's first four numbers are the counts of functions, steps, own times and instances.
  for (int which = 0; which < 4; ++which) {
    const std::string forged = Forged(good, [&](std::string* s) {
      hwp::DecodeBudget budget(1 << 20);
      hwp::BlockUnpacker blocks;
      ASSERT_TRUE(blocks.Unpack(std::string_view(*s).substr(8), &budget).has_value());
      VarintReader in(blocks.Get(hwp::BlockId::kRecord));
      std::string record;
      for (int i = 0; i < 4; ++i) {
        const uint64_t count = in.Varint();
        AppendVarint(&record, i == which ? uint64_t{1} << 31 : count);
      }
      record += in.Bytes(in.left());
      std::string out = s->substr(0, 8);
      hwp::AppendBlock(hwp::BlockId::kRecord, record, 1, &out);
      for (const auto id :
           {hwp::BlockId::kSequences, hwp::BlockId::kWidths, hwp::BlockId::kHeads, hwp::BlockId::kBits}) {
        hwp::AppendBlock(id, blocks.Get(id), 0, &out);
      }
      *s = out;
    });
    EXPECT_FALSE(ReadHwp(forged, "job.hwp").has_value()) << which;
  }
}

// A block of 1 GB of zeros in 100 KB.
TEST(HwpHostile, ABlockThatUnpacksToTooMuchIsRefused) {
  const auto ranks = Ranks();
  const std::string forged = Forged(WriteHwp({ranks.data(), 1}), [](std::string* s) {
    std::string out = s->substr(0, 8);
    hwp::AppendBlock(hwp::BlockId::kRecord, std::string(size_t{1} << 26, '\0'), 1, &out);
    *s = out;
  });
  ASSERT_LT(forged.size(), 20'000u);
  const auto contents = ReadHwp(forged, "job.hwp");
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().message, "a block of a section claims to be larger than its bytes can be");
}

TEST(HwpHostile, ARankOfAnotherTableIsRefused) {
  const auto ranks = Ranks();
  const std::string good = WriteHwp({ranks.data(), 1});
  const std::string forged = Forged(good, [](std::string* s) { (*s)[0] = static_cast<char>((*s)[0] ^ 1); });
  const auto contents = ReadHwp(forged, "job.hwp");
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().message, "the function table of a rank is not in the file");
}

}  // namespace
}  // namespace headway::pattern
