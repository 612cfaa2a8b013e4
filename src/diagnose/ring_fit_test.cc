// SPDX-License-Identifier: Apache-2.0
// The slow link of a ring whose hosts' clocks are off.
#include "diagnose/ring_fit.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Eight ranks, four to a host whose clock is off by `off`, each sending to the next: an all-gather in each of six
// steps. Behind the link out of `sender` ends go down by 50 us from member to member; a member ends `odd` later in
// every second.
std::optional<RingFit> Fit(int sender, Nanos off, Nanos odd = 0) {
  constexpr int kRanks = 8;
  MadeMesh mesh({.ranks = kRanks, .per_host = 4});
  MadeMesh::Members all(kRanks);
  std::iota(all.begin(), all.end(), 0);
  const int ring = mesh.Group("mesh_dp", all);
  for (int s = 0; s < 6; ++s) {
    std::vector<Nanos> ends(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      const int behind = (r - (sender + 1) + 2 * kRanks) % kRanks;
      ends[static_cast<size_t>(r)] = Ms(10) - Us(50) * behind + (r % 2 == 0 ? odd : 0);
    }
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(ring, trace::CommOp::kAllGather, 1'000'000, ends);
  }
  Job job = JoinJob(mesh.Make());
  for (trace::HostClock& clock : job.comms.clocks) clock = {.host = clock.host};
  job.comms.clocks.back().offset = off;
  std::vector<size_t> collectives(job.comms.collectives.size());
  std::iota(collectives.begin(), collectives.end(), size_t{0});
  std::vector<size_t> order(kRanks);
  std::iota(order.begin(), order.end(), size_t{0});
  return FitRing(job, order, collectives);
}

TEST(RingFit, ALinkInsideAHostIsToldWhateverTheClocksAre) {
  for (const Nanos off : {Nanos{0}, Ms(30), -Ms(30)}) {
    const auto fit = Fit(2, off);
    ASSERT_TRUE(fit.has_value()) << off;
    EXPECT_EQ(fit->senders, std::vector<RankId>{2});
    EXPECT_EQ(fit->receivers, std::vector<RankId>{3});
    EXPECT_EQ(fit->hop, Us(50));
  }
}

TEST(RingFit, BetweenTwoHostsItMayBeEitherLink) {
  const auto fit = Fit(3, Ms(30));
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ(fit->senders, (std::vector<RankId>{3, 7}));
  EXPECT_EQ(fit->receivers, (std::vector<RankId>{4, 0}));
}

TEST(RingFit, EndsThatLieOtherwiseAreNoRing) {
  // Every second member ends 100 us later: of stairs of 50 us that leaves a good half.
  EXPECT_FALSE(Fit(2, 0, Us(100)).has_value());
}

}  // namespace
}  // namespace headway::diagnose
