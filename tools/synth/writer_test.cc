// SPDX-License-Identifier: Apache-2.0
// The files themselves, checked by check_traces.py: valid, sound, and of the form of real traces.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "synth/trace_writer.h"
#include "synth/truth.h"

namespace headway::synth {
namespace {

namespace fs = std::filesystem;

std::string SharedData() {
  const char* set = std::getenv("HEADWAY_SHARED_DATA");
  const std::string dir = set != nullptr ? set : "../shared/data";
  return fs::exists(dir) ? dir : "";
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() /
           ("synth_test_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "_" +
            std::to_string(::getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void Write(const std::string& text, bool gzip) {
    const JobSpec spec = Calibrated(*Validated(*ParseSpec(text)));
    const JobRun run = Simulate(spec);
    for (int r = 0; r < spec.world(); ++r) {
      ASSERT_TRUE(WriteRankTrace(run, r, dir_.string(), gzip).has_value());
    }
    std::ofstream(dir_ / "truth.json") << TruthJson(spec, run, Measure(spec, run));
  }

  // Exit status of check_traces.py; `real` is relative to the folder with the outside data.
  int Check(const std::vector<std::string>& real) {
    std::string command = "python3 " SYNTH_CHECK_SCRIPT " " + dir_.string();
    const std::string data = SharedData();
    if (data.empty()) {
      std::cout << "no outside data: the form is not compared with real traces\n";
    } else {
      command += " --real";
      for (const std::string& file : real) command += " " + data + "/" + file;
    }
    return std::system(command.c_str());
  }

  fs::path dir_;
};

TEST_F(Files, NcclWithArguments) {
  Write("dp=2,tp=2,pp=2,steps=2,fault=slow_compute:rank=5:size=0.3", false);
  EXPECT_EQ(Check({"hta/nccl_parser_config/nccl_data.json.gz", "tracelens/b200/eager_trace.json.gz"}), 0);
}

TEST_F(Files, NcclWithStacksShapesAndExpertsGzipped) {
  Write("dp=4,ep=2,dp_kind=fsdp,stacks=1,shapes=1,steps=2,sync=0,fault=gc_pause:rank=1:size=5", true);
  EXPECT_EQ(Check({"hta/nccl_parser_config/nccl_data.json.gz", "tracelens/b200/eager_trace.json.gz",
                   "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"}),
            0);
}

TEST_F(Files, NcclWithoutArguments) {
  Write("dp=4,args=none,whole_us=1,steps=2,fault=hidden_sync:size=2", false);
  EXPECT_EQ(Check({"param/dlrm_kineto.tar.gz", "hta/nccl_parser_config/nccl_data.json.gz"}), 0);
}

TEST_F(Files, Gloo) {
  Write("dp=2,tp=2,pp=2,backend=gloo,steps=2,layer_mb=4,activation_mb=0.3,stacks=1,shapes=1,job_groups=1", false);
  EXPECT_EQ(Check({"cpu_mesh/slow-loader-pp/rank0.json.gz", "cpu_mesh/healthy-dp-pp/rank0.json.gz"}), 0);
}

std::string Bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(Files, SameSeedSameBytes) {
  Write("dp=2,steps=2", true);
  const std::string first = Bytes(dir_ / "rank1.json.gz"), truth = Bytes(dir_ / "truth.json");
  Write("dp=2,steps=2", true);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(Bytes(dir_ / "rank1.json.gz"), first);
  EXPECT_EQ(Bytes(dir_ / "truth.json"), truth);
}

// The clock of a host is off by its offset and runs (1 + drift) as fast.
TEST(Clock, OffsetAndDrift) {
  const HostClock clock{1'000'000, 1e-4};
  EXPECT_EQ(clock.At(0), 1'000'000);
  EXPECT_EQ(clock.At(10'000'000'000), 10'002'000'000);
  const JobSpec spec = *ParseSpec("dp=4,ranks_per_host=2");
  const Job job(spec);
  EXPECT_EQ(ClockOf(job, 0).offset, ClockOf(job, 1).offset);  // one host, one clock
  EXPECT_NE(ClockOf(job, 0).offset, ClockOf(job, 2).offset);
  EXPECT_LE(std::abs(ClockOf(job, 0).offset - ClockOf(job, 2).offset), 100'000'000);
}

}  // namespace
}  // namespace headway::synth
