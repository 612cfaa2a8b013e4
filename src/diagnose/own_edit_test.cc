// SPDX-License-Identifier: Apache-2.0
// Which pieces of a rank's own time give what it takes longer than its peers.
#include "diagnose/own_edit.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// One step of pieces of own time, each up to an all-reduce of all: those of rank 0, and 10 ms each of its two peers.
Job Pieces(const std::vector<Nanos>& own) {
  MadeMesh mesh({.ranks = 3});
  const int world = mesh.Group("default_pg", {0, 1, 2});
  for (int s = 0; s < 2; ++s) {  // a second step, as the last one is cut at its last arrival
    mesh.Step();
    for (const Nanos piece : own) {
      for (int r = 0; r < 3; ++r) mesh.Compute(r, r == 0 ? piece : Ms(10));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
  }
  return JoinJob(mesh.Make());
}

// By piece of the first step: what it gives.
std::vector<Nanos> GivenBy(const Job& job, const replay::SegmentEdit& edit, size_t pieces) {
  std::vector<Nanos> out(pieces, 0);
  size_t piece = 0;
  for (const uint32_t index : job.graph.Chain(0)) {
    const graph::Mark& mark = job.graph.marks[index];
    for (const auto& given : edit.own) {
      if (given.mark == index && piece < out.size()) out[piece] += mark.Own() - given.own;
    }
    if (mark.kind == graph::MarkKind::kArrive) ++piece;
  }
  return out;
}

// What each piece of the first step gives of `amount`.
std::vector<Nanos> Given(const std::vector<Nanos>& own, Nanos amount, const std::vector<size_t>& peers = {1, 2}) {
  const Job job = Pieces(own);
  replay::SegmentEdit edit;
  RemoveOwnTime(job, 0, peers, {amount, 0}, &edit);
  return GivenBy(job, edit, own.size());
}

void ExpectNear(const std::vector<Nanos>& given, const std::vector<double>& ms) {
  ASSERT_EQ(given.size(), ms.size());
  for (size_t k = 0; k < ms.size(); ++k) EXPECT_NEAR(static_cast<double>(given[k]), ms[k] * 1e6, 2e3) << k;
}

TEST(RemoveOwnTime, ThePieceThatIsLongerGives) {
  ExpectNear(Given({Ms(10), Ms(14), Ms(10)}, Ms(4)), {0, 4, 0});
  ExpectNear(Given({Ms(10), Ms(14), Ms(10)}, Ms(3)), {0, 3, 0});
  ExpectNear(Given({Ms(10), Ms(14), Ms(10)}, Ms(9)), {0, 4, 0});  // no more than it is longer
}

TEST(RemoveOwnTime, ThoseThatAreLongerByChanceGiveLittle) {
  // Beyond the peers 4, 0.4, 0.4, 0.4, -0.8 and -0.4 ms, and nothing from the last arrival to the end. So far behind:
  // 4, 4.4, 4.8, 5.2, 4.4, 4 and 4. Rising only: 4, 4.4 and the mean of the other five, 4.48. Of 4 ms they give 4
  // / 4.48 of 4, 0.4 and 0.08; in proportion to their excess the long piece would give 3.1.
  const std::vector<Nanos> own{Ms(14), Us(10'400), Us(10'400), Us(10'400), Us(9'200), Us(9'600)};
  ExpectNear(Given(own, Ms(4)), {4 * 4 / 4.48, 0.4 * 4 / 4.48, 0.08 * 4 / 4.48, 0, 0, 0});
}

TEST(RemoveOwnTime, APieceThatIsCutLaterTakesFromTheNext) {
  // 6 ms of the third piece are in the second one: 6, 0, 4 and 4 behind are, rising only, 3, 3, 4 and 4.
  ExpectNear(Given({Ms(10), Ms(16), Ms(4), Ms(14)}, Ms(4)), {0, 3, 0, 1});
}

TEST(RemoveOwnTime, WithoutPeersInProportionToTheirLength) {
  ExpectNear(Given({Ms(10), Ms(20), Ms(10)}, Ms(4), {}), {1, 2, 1});
}

TEST(RemoveFromStepBegins, TakesWhatComesFirst) {
  const Job job = Pieces({Ms(3), Ms(10)});
  replay::SegmentEdit edit;
  RemoveFromStepBegins(job, 0, {Ms(5), Ms(5)}, &edit);
  // Of each of the two steps the first piece, 3 ms, and 2 of the next.
  ASSERT_EQ(edit.own.size(), 4U);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(static_cast<double>(edit.own[k].own), k % 2 == 0 ? 0 : 8e6, 2e3) << k;
  }
  replay::SegmentEdit of_one;
  RemoveFromStepBegins(job, 0, {0, Ms(5)}, &of_one);
  ASSERT_EQ(of_one.own.size(), 2U);
  EXPECT_EQ(of_one.own[0].mark, edit.own[2].mark);
}

TEST(RemoveBeyondQuietSteps, ThePieceThatIsLongerThanInOtherStepsGives) {
  // In the first step the second piece takes 4 ms longer than in the others, on all ranks; in a quiet one chance has
  // made the first piece longer, which the middle of them does not follow.
  MadeMesh mesh({.ranks = 2});
  const int world = mesh.Group("default_pg", {0, 1});
  for (int s = 0; s < 5; ++s) {
    mesh.Step();
    for (int piece = 0; piece < 3; ++piece) {
      mesh.ComputeAll(s == 0 && piece == 1 ? Ms(14) : s == 2 && piece == 0 ? Ms(12) : Ms(10));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
  }
  const Job job = JoinJob(mesh.Make());
  replay::SegmentEdit edit;
  const size_t quiet[] = {1, 2, 3, 4};
  RemoveBeyondQuietSteps(job, 0, {Ms(4), 0, 0, 0, 0}, quiet, &edit);
  ExpectNear(GivenBy(job, edit, 3), {0, 4, 0});
  // Where every step is struck there are no quiet ones: by length.
  replay::SegmentEdit all;
  RemoveBeyondQuietSteps(job, 0, {Us(3'400), Ms(1), Ms(1), Ms(1), Ms(1)}, {}, &all);
  ExpectNear(GivenBy(job, all, 3), {1, 1.4, 1});
}

TEST(RemoveBeyondQuietSteps, APieceThatHasMostOfItGivesFirst) {
  // In the first step a stall of 4 ms lies in the second piece; by chance the first one is 2 ms shorter than elsewhere,
  // and the last one 1.5 ms. Sums that only rise would be smoothed flat by that: -2, 2, 0.5.
  // Of 5 ms one is left for the next longest, and none of them is longer.
  MadeMesh mesh({.ranks = 2});
  const int world = mesh.Group("default_pg", {0, 1});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    for (const Nanos piece : {Us(s == 0 ? 8'000 : 10'000), Us(s == 0 ? 14'000 : 10'000), Us(s == 0 ? 8'500 : 10'000)}) {
      mesh.ComputeAll(piece);
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
  }
  const Job job = JoinJob(mesh.Make());
  const size_t quiet[] = {1, 2};
  for (const Nanos amount : {Ms(4), Ms(5)}) {
    replay::SegmentEdit edit;
    RemoveBeyondQuietSteps(job, 0, {amount, 0, 0, 0}, quiet, &edit);
    ExpectNear(GivenBy(job, edit, 3), {0, 4, 0});
  }
}

TEST(RemoveBeyondQuietSteps, StepsThatAreCutOtherwiseDoNotStandInForOthers) {
  // Nine steps are cut into one piece more, as by a check of the loss; then come ten of the kind of the struck one.
  MadeMesh mesh({.ranks = 2});
  const int world = mesh.Group("default_pg", {0, 1});
  std::vector<size_t> quiet;
  std::vector<Nanos> amount(20, 0);
  for (size_t s = 0; s < 20; ++s) {
    mesh.Step();
    for (int piece = 0; piece < (s < 9 ? 4 : 3); ++piece) {
      mesh.ComputeAll(s == 9 && piece == 1 ? Ms(14) : Ms(10));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    if (s != 9) quiet.push_back(s);
  }
  amount[9] = Ms(4);
  const Job job = JoinJob(mesh.Make());
  replay::SegmentEdit edit;
  RemoveBeyondQuietSteps(job, 0, amount, quiet, &edit);
  for (const auto& given : edit.own) EXPECT_EQ(job.graph.marks[given.mark].Own(), Ms(14));  // the long piece alone
  ASSERT_EQ(edit.own.size(), 1U);
}

}  // namespace
}  // namespace headway::diagnose
