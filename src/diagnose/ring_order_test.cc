// SPDX-License-Identifier: Apache-2.0
// Who ends first and last in a ring with a slow link.
#include "diagnose/ring_order.h"

#include <gtest/gtest.h>

#include <numeric>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// tools/synth/network.h: an all-reduce on a ring of four, 2 (4 - 1) = 6 chunks of 1 ms each, link 1 -> 2 three times as
// slow. Its receiver 2 gets the last chunk after 6 * 3 = 18 ms. Rank 3 has the same chunk 1 ms after rank 2 had the one
// before: 5 * 3 + 1 = 16; rank 0 two hops later, 4 * 3 + 2 = 14; and the sender 1, last in the row, 12.
const std::vector<Nanos> kSlowLink = {Ms(14), Ms(12), Ms(18), Ms(16)};

// One such operation in each of `steps` steps, the ranks on hosts of their own if `apart`.
Job Ring(CommOp op, int steps, const std::vector<Nanos>& ends, bool apart = false) {
  MadeMesh mesh({.ranks = 4, .per_host = apart ? 1 : 4});
  const int ring = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < steps; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(100));
    mesh.Meet(ring, op, 1'000'000, ends);
  }
  return JoinJob(mesh.Make());
}

RingOrder OrderOf(const Job& job) {
  std::vector<size_t> all(job.comms.collectives.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return OrderOfEnds(job, all);
}

TEST(RingOrder, TheReceiverEndsLastAndTheSenderFirst) {
  // Twelve times of twelve, where chance has one in four: (1 - 1/4) / sqrt(1/4 * 3/4 / 12) = 6 deviations.
  const RingOrder order = OrderOf(Ring(CommOp::kAllReduce, 12, kSlowLink));
  EXPECT_EQ(order.last, 2);
  EXPECT_EQ(order.first, 1);
  EXPECT_EQ(order.of, 12);
  EXPECT_EQ(order.times_last, 12);
  EXPECT_EQ(order.times_first, 12);
  EXPECT_DOUBLE_EQ(order.z_last, 6);
  EXPECT_DOUBLE_EQ(order.z_first, 6);
  EXPECT_EQ(order.lag, Ms(6));
}

TEST(RingOrder, EndsWithinTheResidualSayNothing) {
  // Neighbours in the order lie 2 ms apart. Clocks that agree to under that still tell who is last, others do not.
  Job job = Ring(CommOp::kAllReduce, 12, kSlowLink, true);
  ASSERT_EQ(job.comms.clocks.size(), 4U);
  for (trace::HostClock& clock : job.comms.clocks) clock = {.host = clock.host};
  job.graph = graph::BuildSegmentGraph(job.ranks, job.comms);
  job.comms.clocks[3].residual = Ms(2) - 1;
  EXPECT_EQ(OrderOf(job).last, 2);
  job.comms.clocks[3].residual = Ms(2);
  const RingOrder hidden = OrderOf(job);
  EXPECT_EQ(hidden.of, 0);
  EXPECT_EQ(hidden.last, -1);
  EXPECT_EQ(hidden.first, -1);
  EXPECT_EQ(hidden.z_last, 0);
  EXPECT_EQ(hidden.z_first, 0);
}

TEST(RingOrder, InsideAHostNoOtherClockMatters) {
  Job job = Ring(CommOp::kAllReduce, 12, kSlowLink);
  job.comms.clocks[0].residual = Ms(2);
  job.comms.clocks.push_back({.host = "n1", .residual = kSecond});
  EXPECT_EQ(OrderOf(job).last, 2);
  EXPECT_EQ(OrderOf(job).of, 12);
}

TEST(RingOrder, WhereNoFileNamesItsHostOneClockIsAGuess) {
  // One clock for all, as their times agree to 2 ms.
  Job job = Ring(CommOp::kAllReduce, 12, kSlowLink);
  for (pattern::RankPattern& rank : job.ranks) rank.comms.host_known = false;
  job.comms.clocks[0].residual = Ms(2);
  EXPECT_EQ(OrderOf(job).of, 0);
}

TEST(RingOrder, AllEndTogetherWithoutASlowLink) {
  const RingOrder order = OrderOf(Ring(CommOp::kAllReduce, 12, std::vector<Nanos>(4, Ms(6))));
  EXPECT_EQ(order.of, 0);
  EXPECT_EQ(order.z_last, 0);
}

TEST(RingOrder, AnyOrderOfEndsEquallyOftenIsChance) {
  // The order turns by one each step: each rank is last three times of twelve, as often as by chance.
  MadeMesh mesh({.ranks = 4});
  const int ring = mesh.Group("mesh_dp", {0, 1, 2, 3});
  std::vector<Nanos> ends = kSlowLink;
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(ring, CommOp::kAllReduce, 1'000'000, ends);
    std::rotate(ends.begin(), ends.begin() + 1, ends.end());
  }
  const RingOrder order = OrderOf(JoinJob(mesh.Make()));
  EXPECT_EQ(order.of, 12);
  EXPECT_EQ(order.times_last, 3);
  EXPECT_DOUBLE_EQ(order.z_last, 0);
}

TEST(RingOrder, AllToAllAndTreesAreNoRings) {
  for (const CommOp op : {CommOp::kAllReduce, CommOp::kAllGather, CommOp::kReduceScatter}) EXPECT_TRUE(IsRing(op));
  for (const CommOp op : {CommOp::kAllToAll, CommOp::kBroadcast, CommOp::kReduce, CommOp::kSendRecv}) {
    EXPECT_FALSE(IsRing(op));
  }
}

}  // namespace
}  // namespace headway::diagnose
