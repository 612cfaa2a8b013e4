// SPDX-License-Identifier: Apache-2.0
#include "trace/rank_identity.h"

#include <gtest/gtest.h>

#include <deque>

namespace headway::trace {
namespace {

TEST(RankIdentity, FromFileNames) {
  const std::pair<const char*, RankId> cases[] = {
      {"rank-3.Mar_25_20_48_12.2861.pt.trace.json.gz", 3},
      {"runs/rank3.json", 3},
      {"trace_rank_3.json", 3},
      {"inference_rank_1.json.gz", 1},
      {"Rank=12.json", 12},
      {"worker3.1694128201557.pt.trace.json", 3},
      {"worker2_step_12.1694128201554.pt.trace.json", 2},
      {"resnet50_num_workers_0.worker4.1623143089861.pt.trace.json", 4},
      {"runs.zip:rank7.json", 7},
      {"rank_5/trace.json", 5},
      {"x_3.json", 3},
      {"3.json.gz", 3},
      {"step-3.json", 3},                                 // last resort, and no better than that
      {"host_12345678.1694128201554.pt.trace.json", -1},  // a process id and a time
      {"libkineto_activities_1234567.json", -1},
      {"trace.json", -1},
      {"frank.json", -1},
      {"", -1},
      {"rank99999999999.json", -1},
  };
  for (const auto& [name, rank] : cases) EXPECT_EQ(RankFromFileName(name), rank) << name;
}

class Files {
 public:
  RankMeta* Add(const char* source, RankId rank = -1, const char* from = "") {
    RankMeta& meta = metas_.emplace_back();
    meta.source = source;
    meta.rank = rank;
    meta.rank_source = from;
    all.push_back(&meta);
    return &meta;
  }
  std::vector<RankMeta*> all;

 private:
  std::deque<RankMeta> metas_;
};

TEST(RankIdentity, UnknownRanksAreAssumedInOrderOfSource) {
  Files files;
  const RankMeta* b = files.Add("b.json");
  const RankMeta* a = files.Add("a.json");
  const RankMeta* one = files.Add("c.json", 1, "content");
  ImportLog log;
  EXPECT_TRUE(AssignRanks(files.all, {}, &log).empty());
  EXPECT_EQ(a->rank, 0);
  EXPECT_EQ(b->rank, 2);
  EXPECT_EQ(one->rank, 1);
  EXPECT_EQ(a->rank_source, "assumed");
  EXPECT_EQ(log.Count("rank-assumed"), 2);
}

TEST(RankIdentity, TheSecondFileOfARankIsLeftOut) {
  Files files;
  files.Add("z.json", 0, "content");
  files.Add("a.json", 0, "content");
  ImportLog log;
  EXPECT_EQ(AssignRanks(files.all, {}, &log), std::vector<size_t>{0});
  EXPECT_EQ(log.Count("duplicate-rank"), 1);
}

// Every file says rank 0, as single-process captures do; the names tell them apart.
TEST(RankIdentity, NamesDecideBetweenEqualClaims) {
  Files files;
  const RankMeta* three = files.Add("rank3.json", 0, "content");
  const RankMeta* zero = files.Add("rank0.json", 0, "content");
  ImportLog log;
  EXPECT_TRUE(AssignRanks(files.all, {}, &log).empty());
  EXPECT_EQ(three->rank, 3);
  EXPECT_EQ(zero->rank, 0);
  EXPECT_EQ(three->rank_source, "file name");
  EXPECT_EQ(log.Count("rank-conflict"), 1);
}

// A rank that no job has is not written in earnest: a list of all ranks below it would fill the memory.
TEST(RankIdentity, NumbersOutOfRangeAreNoRanks) {
  Files files;
  const RankMeta* named = files.Add("rank3.json", 2147483647, "content");
  const RankMeta* nameless = files.Add("trace.json", 1000000, "content");
  const RankMeta* largest = files.Add("last.json", 999999, "content");
  ImportLog log;
  EXPECT_TRUE(AssignRanks(files.all, {}, &log).empty());
  EXPECT_EQ(named->rank, 3);
  EXPECT_EQ(named->rank_source, "file name");
  EXPECT_EQ(nameless->rank, 0);
  EXPECT_EQ(nameless->rank_source, "assumed");
  EXPECT_EQ(largest->rank, 999999);
  EXPECT_EQ(largest->rank_source, "content");
  EXPECT_EQ(log.Count("rank-out-of-range"), 2);
}

TEST(RankIdentity, TheUsersTableWins) {
  const auto map = RankMap::Parse("# which is which\nhost-a*.json 4\n run/b.json\t7 # comment\n\n", "map.txt");
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->Find("run/host-a.17.json"), 4);
  EXPECT_EQ(map->Find("run/b.json"), 7);
  EXPECT_EQ(map->Find("b.json"), -1);
  Files files;
  const RankMeta* meta = files.Add("host-a.json", 0, "content");
  ImportLog log;
  AssignRanks(files.all, *map, &log);
  EXPECT_EQ(meta->rank, 4);
  EXPECT_EQ(meta->rank_source, "--rank-map");
}

TEST(RankIdentity, AWrongTableIsRefusedWithItsLine) {
  for (const char* text : {"a.json", "a.json x", "ok 1\na.json 1x", "a.json -1", "a.json 1000000"}) {
    const auto map = RankMap::Parse(text, "map.txt");
    ASSERT_FALSE(map.has_value()) << text;
    EXPECT_NE(map.error().where.find("map.txt, line"), std::string::npos);
  }
}

TEST(RankIdentity, Missing) {
  Files files;
  files.Add("a", 0, "content");
  files.Add("b", 2, "content");
  EXPECT_EQ(MissingRanks(files.all, 4), (std::vector<RankId>{1, 3}));
  EXPECT_TRUE(MissingRanks(files.all, -1).empty());
}

}  // namespace
}  // namespace headway::trace
