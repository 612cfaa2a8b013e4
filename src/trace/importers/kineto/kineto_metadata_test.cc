// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/kineto_metadata.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

constexpr const char* kRow = R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";

Recorded Before(const std::string& members) { return ReadTrace("{" + members + R"(, "traceEvents": [)" + kRow + "]}"); }
Recorded After(const std::string& members) {
  return ReadTrace(R"({"traceEvents": [)" + std::string(kRow) + "], " + members + "}");
}

struct RankCase {
  const char* members;
  RankId rank;
  int world;
  size_t groups;
};

TEST(KinetoMetadata, RankAndGroupsOfEveryEra) {
  const RankCase cases[] = {
      {R"("distributedInfo": {"rank": 3})", 3, -1, 0},
      {R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2})", 1, 2, 0},
      {R"("distributedInfo": {"rank": "34", "world_size": "300", "backend": "mtia:hccl,cpu:gloo"})", 34, 300, 0},
      {R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config":
          [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}],
          "nccl_version": "2.17.1"})",
       0, 2, 1},
      {R"("distributedInfo": {"rank": 0, "world_size": 4, "pg_config": [{"uid": "u1", "ranks": "[0, 1, 2, 3]"}]})", 0,
       4, 1},
      {R"("distributedInfo": {"rank": 0, "world_size": 4, "pg_config": "[{\"pg_name\": \"7\", \"ranks\": [2, 3]}]"})",
       0, 4, 1},
      {R"("job_groups": {"rank": 5, "world": 8, "mesh": {"ranks": [[[0, 1]]]},
          "groups": [{"dim": "tp", "pg_name": "9", "pg_desc": "mesh_tp", "ranks": [4, 5]}]})",
       5, 8, 1},
      {R"("job_groups": "{\"rank\": 5, \"world\": 8, \"groups\": [{\"dim\": \"tp\", \"ranks\": [4, 5]}]}")", 5, 8, 1},
      {R"("metadata": {"rank": 9, "profiler": {"repeats": 1}})", -1, -1, 0},
      {R"("schemaVersion": 1)", -1, -1, 0},
  };
  for (const RankCase& c : cases) {
    for (const Recorded& read : {Before(c.members), After(c.members)}) {
      EXPECT_FALSE(read.error.has_value());
      EXPECT_EQ(read.meta.rank, c.rank) << c.members;
      EXPECT_EQ(read.meta.world_size, c.world) << c.members;
      EXPECT_EQ(read.meta.groups.size(), c.groups) << c.members;
      EXPECT_EQ(read.meta.rank_source, c.rank >= 0 ? "content" : "") << c.members;
      EXPECT_EQ(read.rows.events.size(), 1U) << c.members;
    }
  }
}

TEST(KinetoMetadata, Groups) {
  const Recorded read = Before(
      R"("distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 4, "pg_config": [
           {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cpu:gloo", "pg_size": 4, "ranks": [0, 1, 2, 3]},
           {"pg_name": "1", "pg_desc": "mesh_pp", "ranks": []}]},
         "job_groups": {"rank": 0, "world": 4, "groups": [{"dim": "pp", "pg_name": "1", "pg_desc": "mesh_pp",
           "ranks": [0, 2]}, {"dim": "dp", "pg_name": "2", "ranks": [0, 1]}]})");
  ASSERT_EQ(read.meta.groups.size(), 3U);
  EXPECT_EQ(read.meta.groups[0].backend, "cpu:gloo");
  EXPECT_EQ(read.meta.groups[1].ranks, (std::vector<RankId>{0, 2}));  // filled in from the other list
  EXPECT_EQ(read.meta.groups[2].desc, "dp");
  EXPECT_EQ(read.meta.backend, "gloo");
}

TEST(KinetoMetadata, TheRest) {
  const Recorded read = After(
      R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100", "numSms": 108}, {"id": 1, "name": "NVIDIA \"B\""}],
         "cuda_runtime_version": 12010, "cupti_version": 18, "hip_driver_version": "6.2", "with_stack": 1,
         "record_shapes": true, "host_name": "node-7", "trace_id": "C499", "displayTimeUnit": "ns",
         "INFO": ["one", "two, [three]"], "WARNING": ["four \"five\""], "profile_memory": 0, "username": "u")");
  EXPECT_EQ(read.meta.devices, (std::vector<std::string>{"NVIDIA A100", "NVIDIA \"B\""}));
  const std::vector<std::pair<std::string, std::string>> versions = {
      {"cuda_runtime_version", "12010"}, {"cupti_version", "18"}, {"hip_driver_version", "6.2"}};
  EXPECT_EQ(read.meta.versions, versions);
  EXPECT_TRUE(read.meta.with_stack);
  EXPECT_TRUE(read.meta.record_shapes);
  EXPECT_EQ(read.meta.host, "node-7");
  EXPECT_EQ(read.meta.trace_id, "C499");
  EXPECT_EQ(read.meta.profiler_messages, (std::vector<std::string>{"one", "two, [three]", "four \"five\""}));
  EXPECT_EQ(read.log.Total(ProblemKind::kRepaired) + read.log.Total(ProblemKind::kDropped), 0);
}

TEST(KinetoMetadata, RankOfTheFileNameComesLast) {
  KinetoOptions options;
  options.source = "runs/rank-7.pt.trace.json";
  const std::string text = R"({"traceEvents": [)" + std::string(kRow) + "]}";
  const Recorded named = ReadTrace(text, 64, options);
  EXPECT_EQ(named.meta.rank, 7);
  EXPECT_EQ(named.meta.rank_source, "file name");
  EXPECT_EQ(named.log.Count("rank-from-file-name"), 1);
  EXPECT_EQ(named.log.Count("no-distributed-info"), 1);
  const Recorded content = ReadTrace(R"({"distributedInfo": {"rank": 2}, )" + text.substr(1), 64, options);
  EXPECT_EQ(content.meta.rank, 2);
  EXPECT_EQ(content.meta.source, "runs/rank-7.pt.trace.json");
}

TEST(KinetoMetadata, RankLists) {
  bool cut = true;
  EXPECT_EQ(ParseRanks("[0, 1,2]", &cut), (std::vector<RankId>{0, 1, 2}));
  EXPECT_FALSE(cut);
  EXPECT_EQ(ParseRanks("\"[10, 11, ...]\"", &cut), (std::vector<RankId>{10, 11}));
  EXPECT_TRUE(cut);
  EXPECT_TRUE(ParseRanks("[]", &cut).empty());
  EXPECT_TRUE(ParseRanks("[99999999999999999999]", &cut).empty());
}

// What stands in the place of the devices of a damaged file may be its events, a million of them.
TEST(KinetoMetadata, NoMoreDevicesThanAHostCanHave) {
  std::string list;
  for (int i = 0; i < 3000; ++i) list += std::string(i == 0 ? "" : ",") + R"({"name": "aten::mm"})";
  const Recorded read = ReadTrace(R"({"deviceProperties": [)" + list + R"(], "traceEvents": []})");
  EXPECT_EQ(read.meta.devices.size(), 1024U);
}

}  // namespace
}  // namespace headway::trace::kineto
