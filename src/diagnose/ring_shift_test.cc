// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_shift.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

struct Made {
  std::function<bool(int step)> struck = [](int s) { return s % 2 == 1; };
  std::vector<Nanos> late = {Us(60), Us(40), Us(20), 0};  // of the four members' ends where it is struck
  Nanos scatter = Us(1);                                  // of each end, either way in turn
  int steps = 14;
  Nanos residual = 0;  // of the clocks
};

// A ring of four ranks on four hosts, one all-reduce a step. What their clocks are off: 300, -200, 50 and 0 us.
std::optional<report::Link> Find(const Made& made) {
  constexpr Nanos kOff[] = {300 * kMicrosecond, -200 * kMicrosecond, 50 * kMicrosecond, 0};
  MadeMesh mesh({.ranks = 4, .per_host = 1});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < made.steps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    std::vector<Nanos> transfer;
    for (size_t m = 0; m < 4; ++m) {
      const auto turn = static_cast<Nanos>((static_cast<size_t>(s / 2) + m) % 3) - 1;
      transfer.push_back(Ms(5) + (made.struck(s) ? made.late[m] : 0) + turn * made.scatter);
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, transfer);
  }
  Job job = JoinJob(mesh.Make());
  for (size_t i = 0; i < job.comms.clocks.size(); ++i) {
    job.comms.clocks[i].offset += kOff[i];
    job.comms.clocks[i].residual = made.residual;
  }
  std::vector<size_t> struck, quiet;
  for (int s = 0; s < made.steps; ++s) (made.struck(s) ? struck : quiet).push_back(static_cast<size_t>(s));
  return LinkByShift(job, struck, quiet);
}

TEST(RingShift, FromWhoEndsEarlierToWhoEndsLaterWhateverTheClocksAre) {
  const std::optional<report::Link> link = Find({});
  ASSERT_TRUE(link);
  EXPECT_EQ(link->from, 3);
  EXPECT_EQ(link->to, 0);
}

TEST(RingShift, NothingWhereEndsMoveByNoMoreThanChance) {
  // Ends are 10 us early, right or late in turn: 1.4826 * 10 * 1.2533 / sqrt(7) = 7.0 us of error for the middle of
  // seven, 14 for what two members' ends move by against each other. 3.5 times that are 49 us.
  EXPECT_TRUE(Find({.late = {Us(220), Us(140), Us(80), 0}, .scatter = Us(10)}));
  EXPECT_FALSE(Find({.late = {Us(160), Us(140), Us(80), 0}, .scatter = Us(10)}));
}

TEST(RingShift, NothingBelowWhatEndsOnDevicesLieApartByAnyway) {
  EXPECT_TRUE(Find({.late = {Us(9), Us(6), Us(3), 0}, .scatter = 0}));
  EXPECT_FALSE(Find({.late = {Us(7), Us(4), Us(2), 0}, .scatter = 0}));
}

TEST(RingShift, FromSomeStepOnClocksMayHaveDrifted) {
  // 60 us from first to last: twice what clocks are uncertain by, or less.
  const auto onset = [](int s) { return s >= 7; };
  EXPECT_TRUE(Find({.struck = onset, .residual = Us(29)}));
  EXPECT_FALSE(Find({.struck = onset, .residual = Us(31)}));
  EXPECT_TRUE(Find({.residual = Us(31)}));  // quiet steps before and behind
}

TEST(RingShift, NothingFromUnderSixOperations) {
  EXPECT_TRUE(Find({.steps = 12}));
  EXPECT_FALSE(Find({.steps = 11}));
}

}  // namespace
}  // namespace headway::diagnose
