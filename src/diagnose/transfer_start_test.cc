// SPDX-License-Identifier: Apache-2.0
// What a transfer takes before data move, told from other transfers.
#include "diagnose/transfer_start.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Four ranks; each step has eight all-reduces of 1 MB and 130 us, and one other call.
Nanos StartBeside(CommOp op, Bytes bytes, Nanos transfer, Bytes small = 1'000'000) {
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    for (int k = 0; k < 8; ++k) mesh.Meet(dp, CommOp::kAllReduce, small, Us(130));
    mesh.Meet(dp, op, bytes, transfer);
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  Channel like = channels.front();
  std::erase_if(like.calls, [&](size_t c) { return job.comms.collectives[c].bytes != small; });
  return StartOf(job, channels, like, Us(130));
}

TEST(StartOf, WhatIsLeftAtTheRateOfLargerOnes) {
  // All-reduces among four move 1.5 times their payload: 150 MB in 10 ms are 15 GB/s, at which 1.5 MB take 100 us.
  EXPECT_NEAR(static_cast<double>(StartBeside(CommOp::kAllReduce, 100'000'000, Ms(10))), 30e3, 100);
  // All-gathers 0.75 times: 75 MB in 5 ms are as quick.
  EXPECT_NEAR(static_cast<double>(StartBeside(CommOp::kAllGather, 100'000'000, Ms(5))), 30e3, 100);
}

TEST(StartOf, SomewhatLargerOnesTellWhatMoreTakes) {
  // 3 MB payload move 4.5 MB: 3 MB more than those of 1 MB, which take 130 us. 330 us are 15 MB/ms for them, at which
  // 1.5 MB take 100 us.
  EXPECT_NEAR(static_cast<double>(StartBeside(CommOp::kAllReduce, 3'000'000, Us(330))), 30e3, 100);
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, 1'500'000, Us(180)), Us(130));  // half more is too little
}

TEST(StartOf, TinyOnesAreHardlyMoreThanTheirStart) {
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, 4, Us(25)), Us(25));
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, 4, Us(2)), Us(10));          // no network is that quick
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, 500'000, Us(80)), Us(130));  // half the payload is not tiny
  EXPECT_EQ(StartBeside(CommOp::kAllGather, 4, Us(25)), Us(130));        // nor is another operation the same
}

TEST(StartOf, EachCallGivesWhatItsOwnPayloadTakes) {
  // Buckets of 1 MB and 130 us, and of 8 MB and 830 us, beside 100 MB at 15 GB/s: 30 us are left of either. Of the
  // shortest by the mean payload less than nothing would be.
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    for (int k = 0; k < 4; ++k) {
      mesh.Meet(dp, CommOp::kAllReduce, 1'000'000, Us(130));
      mesh.Meet(dp, CommOp::kAllReduce, 8'000'000, Us(830));
    }
    mesh.Meet(dp, CommOp::kAllReduce, 100'000'000, Ms(10));
  }
  const Job job = JoinJob(mesh.Make());
  const std::vector<Channel> channels = CollectChannels(job);
  Channel like = channels.front();
  std::erase_if(like.calls, [&](size_t c) { return job.comms.collectives[c].bytes > 8'000'000; });
  EXPECT_NEAR(static_cast<double>(StartOf(job, channels, like, Us(130))), 30e3, 100);
}

TEST(StartOf, WithoutSizesOrOthersItIsAllOfTheShortest) {
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, -1, Ms(10)), Us(130));
  EXPECT_EQ(StartBeside(CommOp::kAllReduce, 1'000'000, Us(130)), Us(130));
}

}  // namespace
}  // namespace headway::diagnose
