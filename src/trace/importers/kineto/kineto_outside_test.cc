// SPDX-License-Identifier: Apache-2.0
// Every Kineto trace among the outside data, against counts made without any of our code
// (tests/outside/kineto_counts.py): rows by category, sum of durations and starts to the nanosecond; and the same rows
// whatever the chunks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/input_set.h"
#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

struct Expected {
  std::string path;
  std::string member;  // of an archive, else empty
  int64_t durations = 0;
  int64_t starts = 0;
  int64_t instants = 0;
  std::string categories;
};

std::string DataFolder() {
  const char* folder = std::getenv("HEADWAY_SHARED_DATA");
  return folder != nullptr ? folder : "../shared/data";
}

std::vector<Expected> ReadExpected() {
  std::vector<Expected> out;
  std::ifstream file("tests/outside/kineto_counts.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    Expected e;
    fields >> e.path >> e.durations >> e.starts >> e.instants >> e.categories;
    if (const size_t colon = e.path.find(':'); colon != std::string::npos) {
      e.member = e.path.substr(colon + 1);
      e.path.resize(colon);
    }
    out.push_back(std::move(e));
  }
  return out;
}

// The unpacked text, empty where there is none.
std::string ReadText(const Expected& expected) {
  const std::string path = DataFolder() + "/" + expected.path;
  std::string text;
  for (const InputItem& item : ListInputs(std::vector<std::string>{path}).items) {
    if (item.member != expected.member) continue;
    auto source = item.Open();
    if (!source) continue;
    for (auto chunk = (*source)->Next(); chunk && !chunk->empty(); chunk = (*source)->Next()) text += *chunk;
  }
  return text;
}

std::string Categories(const RankMeta& meta) {
  std::string out;
  for (const auto& [name, rows] : meta.categories) out += (out.empty() ? "" : ";") + name + "=" + std::to_string(rows);
  return out;
}

TEST(KinetoOutside, EveryTraceHasTheRowsThatAnIndependentCountFinds) {
  if (!std::filesystem::exists(DataFolder())) GTEST_SKIP() << "no outside data at " << DataFolder();
  const std::vector<Expected> all = ReadExpected();
  ASSERT_GT(all.size(), 100U);
  for (const Expected& expected : all) {
    const std::string text = ReadText(expected);
    ASSERT_FALSE(text.empty()) << expected.path;
    const Recorded read = ReadTrace(text);
    ASSERT_FALSE(read.error.has_value()) << expected.path << ": " << read.error->ToString();
    int64_t durations = 0;
    int64_t starts = 0;
    int64_t instants = 0;
    for (const Event& event : read.rows.events) {
      if (event.kind == EventKind::kInstant) {
        ++instants;
      } else {
        durations += event.duration;
        starts ^= event.start;
      }
    }
    EXPECT_EQ(Categories(read.meta), expected.categories) << expected.path;
    EXPECT_EQ(durations, expected.durations) << expected.path;
    EXPECT_EQ(starts, expected.starts) << expected.path;
    EXPECT_EQ(instants, expected.instants) << expected.path;
    EXPECT_EQ(read.log.Total(ProblemKind::kDropped), 0) << expected.path;

    const std::string digest = read.Digest();
    std::vector<size_t> chunks = {4096};
    if (text.size() < 4'000'000) chunks.push_back(7);
    if (text.size() < 1'000'000) chunks.push_back(1);
    for (const size_t chunk : chunks)
      EXPECT_EQ(ReadTrace(text, chunk).Digest() == digest, true) << expected.path << chunk;
    KinetoOptions portable;
    portable.scan = ScanPortable;
    EXPECT_EQ(ReadTrace(text, 1 << 20, portable).Digest() == digest, true) << expected.path;
  }
}

Recorded ReadOutside(const std::string& path, const std::string& member = "") {
  Expected file;
  file.path = path;
  file.member = member;
  return ReadTrace(ReadText(file));
}

// HTA's tests state: 21 NCCL kernels with metadata in nccl_data; of the longest kinds an all-reduce of 2,049,000
// elements (8,196,000 bytes of float), group "0" default_pg of ranks [0, 1].
TEST(KinetoOutside, CollectivesOfNcclData) {
  if (!std::filesystem::exists(DataFolder())) GTEST_SKIP() << "no outside data at " << DataFolder();
  const Recorded read = ReadOutside("hta/nccl_parser_config/nccl_data.json.gz");
  int with_group = 0;
  int of_that_size = 0;
  for (const Event& event : read.rows.events) {
    if (event.kind != EventKind::kCommKernel) continue;
    const CommDetail& comm = read.rows.comms.at(event.detail - 1);
    with_group += read.Name(comm.pg_name) == "0" && read.Name(comm.pg_ranks) == "[0, 1]" ? 1 : 0;
    of_that_size += comm.op == CommOp::kAllReduce && comm.bytes == 8'196'000 ? 1 : 0;
  }
  EXPECT_EQ(with_group, 21);
  EXPECT_GT(of_that_size, 0);
  EXPECT_EQ(read.meta.groups.at(0).desc, "default_pg");
}

// Facts that the files' publishers or HTA's tests state about single files.
TEST(KinetoOutside, Facts) {
  if (!std::filesystem::exists(DataFolder())) GTEST_SKIP() << "no outside data at " << DataFolder();
  // HTA: first start in Unix ns = 2413669096090100 + 1727743122000000000 (of the work, not of the profiler's own span).
  const Recorded triton = ReadOutside("hta/triton_example/triton_example.json.gz");
  Nanos first = std::numeric_limits<Nanos>::max();
  for (const Event& event : triton.rows.events) {
    if (event.kind != EventKind::kOther && event.kind != EventKind::kInstant) first = std::min(first, event.start);
  }
  EXPECT_EQ(first + triton.meta.time_base, 1'727'743'122'000'000'000 + 2'413'669'096'090'100);
  // Its name says rank 34; the content says the same, of 300.
  const Recorded cpu_only = ReadOutside("hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz");
  EXPECT_EQ(cpu_only.meta.rank, 34);
  EXPECT_EQ(cpu_only.meta.world_size, 300);
  // "Comms Id" is above int64.
  EXPECT_FALSE(ReadOutside("hta/large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz").error.has_value());
  // DLRM, rank 7: 5 SendRecv and 3 AllReduce.
  std::map<CommOp, int> ops;
  const Recorded dlrm =
      ReadOutside("param/dlrm_kineto.tar.gz", "dlrm_kineto/worker7_step_12.1694128201553.pt.trace.json");
  for (const Event& event : dlrm.rows.events) {
    if (event.kind == EventKind::kCommKernel) ++ops[dlrm.rows.comms.at(event.detail - 1).op];
  }
  EXPECT_EQ(ops[CommOp::kSendRecv], 5);
  EXPECT_EQ(ops[CommOp::kAllReduce], 3);
}

}  // namespace
}  // namespace headway::trace::kineto
