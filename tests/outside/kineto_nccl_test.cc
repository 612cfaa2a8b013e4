// SPDX-License-Identifier: Apache-2.0
// distributed_nccl of the TensorBoard plugin's tests. The plugin's own definition, which is not the program's: an
// operation runs while its host row nccl:* or its kernel does; the step lasts from the first host row to the end of the
// last one and cuts everything off; between ranks host rows are matched with host rows and kernels with kernels, and of
// each the last part, as long as the shortest of the ranks', moved data. So only the rows, the pairing and the sums are
// ours here. Times in microseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "pattern/step_split.h"
#include "tests/outside/read_job.h"
#include "trace/comm_time.h"
#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

using pattern::StepPart;
using pattern::StepSplit;
using pattern::StepSplitSweep;

class DistributedNccl : public testing::Test {
 protected:
  void SetUp() override {
    for (int rank = 0; rank < 2; ++rank) {
      const std::string path = SharedData() + "/kineto/inline/test_distributed_nccl_" + std::to_string(rank) + ".json";
      SKIP_WITHOUT(path);
      std::ifstream in(path);
      std::stringstream text;
      text << in.rdbuf();
      ranks_.push_back(ReadTrace(text.str()));
      ASSERT_FALSE(ranks_.back().error.has_value());
      ASSERT_EQ(ranks_.back().rows.events.size(), 6U);
    }
  }
  std::vector<Recorded> ranks_;
};

bool IsHost(const Event& e) { return e.kind == EventKind::kCpuOp || e.kind == EventKind::kCommIssue; }

// The one step of a rank.
StepSplit SplitStep(const Recorded& read) {
  StepSplit step;
  step.start = INT64_MAX;
  std::vector<Nanos> bounds;
  for (const Event& e : read.rows.events) {
    bounds.insert(bounds.end(), {e.start, e.end()});
    if (!IsHost(e)) continue;
    step.start = std::min(step.start, e.start);
    step.end = std::max(step.end, e.end());
  }
  std::sort(bounds.begin(), bounds.end());
  StepSplitSweep sweep({step});
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (!sweep.Wants(bounds[i], bounds[i + 1])) continue;
    StepSplitSweep::Running running;
    for (const Event& e : read.rows.events) {
      if (e.start > bounds[i] || e.end() < bounds[i + 1]) continue;
      running.kernel |= e.kind == EventKind::kKernel;
      running.communication |= e.kind == EventKind::kCommKernel || e.kind == EventKind::kCommIssue;
      running.host |= e.kind == EventKind::kCpuOp;
    }
    running.compute = running.kernel;
    sweep.Add(bounds[i], bounds[i + 1], running);
  }
  return sweep.Finish(0).at(0);
}

// Compute only, both, communication only, neither.
std::vector<Nanos> Overlap(const StepSplit& s) {
  const Nanos neither = s.end - s.start - s.compute - s.communication + s.overlapped;
  return {(s.compute - s.overlapped) / kMicrosecond, s.overlapped / kMicrosecond,
          (s.communication - s.overlapped) / kMicrosecond, neither / kMicrosecond};
}

TEST_F(DistributedNccl, ComputationAndCommunication) {
  EXPECT_EQ(Overlap(SplitStep(ranks_.at(0))), (std::vector<Nanos>{30, 75, 75, 55}));
  EXPECT_EQ(Overlap(SplitStep(ranks_.at(1))), (std::vector<Nanos>{121, 40, 74, 0}));
}

TEST_F(DistributedNccl, PartsOfTheStep) {
  const StepSplit step = SplitStep(ranks_.at(0));
  const auto part = [&step](StepPart p) { return step.by_part[static_cast<size_t>(p)] / kMicrosecond; };
  EXPECT_EQ(part(StepPart::kKernel), 105);
  EXPECT_EQ(part(StepPart::kCopy), 0);
  EXPECT_EQ(part(StepPart::kSet), 0);
  EXPECT_EQ(part(StepPart::kCommunication), 75);
  EXPECT_EQ(part(StepPart::kRuntime), 0);
  EXPECT_EQ(part(StepPart::kInput), 0);
  EXPECT_EQ(part(StepPart::kHost), 20);
  EXPECT_EQ(part(StepPart::kOther), 35);
  EXPECT_EQ((step.end - step.start) / kMicrosecond, 235);
}

TEST_F(DistributedNccl, TransferAndWaiting) {
  std::vector<RankComms> comms;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    RankComms rank;
    rank.rank = static_cast<RankId>(r);
    for (const char* name : {"host rows", "kernels"}) rank.groups.push_back({.name = name, .ranks = {0, 1}, .size = 2});
    for (const Event& e : ranks_[r].rows.events) {
      if (e.kind != EventKind::kCommIssue && e.kind != EventKind::kCommKernel) continue;
      CommInstance row;
      row.start = row.exposed_begin = row.exposed_end = e.start;
      row.end = e.end();
      row.local_group = e.kind == EventKind::kCommKernel ? 1 : 0;
      row.op = ranks_[r].rows.comms.at(e.detail - 1).op;
      rank.instances.push_back(row);
    }
    std::stable_sort(rank.instances.begin(), rank.instances.end(),
                     [](const CommInstance& a, const CommInstance& b) { return a.start < b.start; });
    comms.push_back(std::move(rank));
  }
  const JobComms job = JoinComms(comms, 2);
  ASSERT_EQ(job.collectives.size(), 4U);
  const std::vector<CommTime> times = SplitCommTime(comms, job);
  EXPECT_EQ(times[0].transfer / kMicrosecond, 1169);
  EXPECT_EQ(times[0].waiting() / kMicrosecond, 464);
  EXPECT_EQ(times[1].transfer / kMicrosecond, 1169);
  EXPECT_EQ(times[1].waiting() / kMicrosecond, 3);
}

}  // namespace
}  // namespace headway::trace::kineto
