// SPDX-License-Identifier: Apache-2.0
// Which lane is which declared group, where the other members of some groups have no file.
#include "trace/lane_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {
namespace {

constexpr int64_t kWorldThread = 10, kReplicaThread = 14;  // the world's first thread, and that of the third group

// A rank of two replicas of a pipeline of four: in each of eight steps an all-reduce of the loss (0.4 ms), then one of
// the gradients (99 ms), which the stage begins and ends `late` after the first stage. A group makes one call a step,
// always on the first of its two threads.
RankComms StageOf(RankId rank, Nanos late) {
  RankComms out{.rank = rank, .host = "node0", .host_known = true};
  const RankId first = rank % 2;
  out.declared.push_back({.name = "0", .desc = "default_pg", .backend = "gloo", .ranks = {0, 1, 2, 3, 4, 5, 6, 7}});
  out.declared.push_back(
      {.name = "1", .desc = "mesh_pp", .backend = "gloo", .ranks = {first, first + 2, first + 4, first + 6}});
  out.declared.push_back(
      {.name = "3", .desc = "mesh_dp", .backend = "gloo", .ranks = {rank - first, rank - first + 1}});
  for (const int64_t tid : {kWorldThread, kReplicaThread}) {
    out.groups.push_back({.lane_tid = tid});
    out.runloop_tids.push_back(tid);
  }
  for (int step = 0; step < 8; ++step) {
    const Nanos start = step * 400 * kMillisecond;
    out.step_numbers.push_back(step);
    out.step_starts.push_back(start);
    const Nanos loss = start + 100 * kMillisecond, gradients = start + 200 * kMillisecond + late;
    for (const auto& [lane, at, length] :
         {std::tuple{0, loss, 400 * kMicrosecond}, std::tuple{1, gradients, 99 * kMillisecond}}) {
      out.instances.push_back(
          {.start = at, .end = at + length, .local_group = lane, .step = step, .op = CommOp::kAllReduce});
    }
  }
  return out;
}

std::vector<RankComms> Replica(RankId first) {
  std::vector<RankComms> out;
  for (const RankId stage : {0, 1, 2, 3}) out.push_back(StageOf(first + 2 * stage, stage * 21 * kMillisecond));
  return out;
}

// Of how many operations in steps the rows of `thread` are part.
int64_t Joined(const std::vector<RankComms>& ranks, const JobComms& joined, int64_t thread) {
  return std::count_if(joined.collectives.begin(), joined.collectives.end(), [&](const Collective& c) {
    return std::any_of(c.members.begin(), c.members.end(), [&](const CollectiveMember& m) {
      const RankComms& rank = ranks[static_cast<size_t>(m.rank_index)];
      const CommInstance& row = rank.instances[static_cast<size_t>(m.instance)];
      return rank.groups[static_cast<size_t>(row.local_group)].lane_tid == thread;
    });
  });
}

// One replica has files. Its stages' all-reduces of the gradients overlap, in turn with those of the loss, but end 21,
// 42 or 63 ms apart, a fifth to two thirds of what they take: the partners are ranks without a file.
TEST(LaneAssignment, AThreadWhosePartnersAreMissingIsNotTheOtherOneOfTheWorld) {
  const std::vector<RankComms> ranks = Replica(0);
  const JobComms joined = JoinComms(ranks, 8);
  EXPECT_EQ(Joined(ranks, joined, kWorldThread), 8);
  EXPECT_EQ(Joined(ranks, joined, kReplicaThread), 0);
}

}  // namespace
}  // namespace headway::trace
