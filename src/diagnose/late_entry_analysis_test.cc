// SPDX-License-Identifier: Apache-2.0
// Who enters the window late, and who only seems to.
#include <gtest/gtest.h>

#include "diagnose/analyses.h"
#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"
#include "diagnose/step_selection.h"
#include "diagnose/summary.h"

namespace headway::diagnose {
namespace {

// Two tp pairs, and all four in dp, six steps. Every rank works 50 ms to its tp all-reduce and 80 ms in the rest of the
// step, which for ranks 0 and 1 lie before the dp all-reduce; of ranks 2 and 3 the last 30 lie behind it. So these
// begin every step 30 ms (`place`) after the others, and come to tp 30 ms after them, though nobody waits for them. The
// first one each begins at its place in `begin`.
std::vector<pattern::RankPattern> MakeEach(const std::vector<Nanos>& begin, Nanos place, int per_host = 4) {
  MadeMesh mesh({.ranks = 4, .per_host = per_host});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int r = 0; r < 4; ++r) mesh.Delay(r, begin[static_cast<size_t>(r)]);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r < 2 ? Ms(80) : Ms(80) - place);
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
    for (const int r : {2, 3}) mesh.Compute(r, place);
  }
  return mesh.Make();
}

// The first one, too, at their places, ranks 2 and 3 `late` on top.
std::vector<pattern::RankPattern> Make(Nanos late, Nanos place = Ms(30), int per_host = 4) {
  return MakeEach({0, 0, place + late, place + late}, place, per_host);
}

TEST(LateEntry, ARanksUsualPlaceInTheProgramIsNotLateness) {
  Look look(Make(0));
  EXPECT_TRUE(look.Run(RunLateEntryAnalysis).candidates.empty());
}

TEST(LateEntry, WhatComesOnTopOfItIs) {
  // 40 ms later than their place: the first dp all-reduce ends 40 later, 6.7 ms a step.
  const Diagnosis d = Diagnose(Make(Ms(40)));
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].cause, "late-entry");
  EXPECT_EQ(d.findings[0].scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 40e6 / 6, 1e4);
  EXPECT_EQ(d.findings[0].worst_step, Ms(40));
}

TEST(LateEntry, WhereAllBeganTogetherTheirPlacesInLaterStepsTellNothing) {
  // The recording begins behind a barrier: three ranks begin at once, and rank 1 comes 8 ms after them, which the
  // meeting of its pair shows. Were places of 30 ms taken off, ranks 2 and 3 would be early and rank 0 late as well.
  Look look(MakeEach({0, Ms(8), 0, 0}, Ms(30)));
  const std::vector<Candidate> found = look.Run(RunLateEntryAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, std::vector<RankId>{1});
  EXPECT_EQ(found[0].excess.front(), Ms(8));
  Look nobody(MakeEach({0, 0, 0, 0}, Ms(30)));
  EXPECT_TRUE(nobody.Run(RunLateEntryAnalysis).candidates.empty());
}

// Of one step nothing tells where a rank usually begins but the steps beside it, selected or not.
TEST(LateEntry, StepsThatWereNotSelectedTellThePlace) {
  const auto late_of_step = [](Nanos late, int step) {
    std::vector<pattern::RankPattern> ranks = Make(late);
    for (pattern::RankPattern& rank : ranks) SelectSteps(step, step, &rank);
    Look look(std::move(ranks));
    const std::vector<Candidate> found = look.Run(RunLateEntryAnalysis).candidates;
    return found.empty() ? std::vector<RankId>{} : found[0].finding.scope.ranks;
  };
  EXPECT_EQ(late_of_step(0, 4), std::vector<RankId>{});
  EXPECT_EQ(late_of_step(0, 0), std::vector<RankId>{});
  EXPECT_EQ(late_of_step(Ms(40), 0), (std::vector<RankId>{2, 3}));
  EXPECT_EQ(late_of_step(Ms(40), 3), std::vector<RankId>{});  // it was caught up at the first dp all-reduce
}

// A pipeline of four with one micro-batch, two steps: 40 ms forward and 80 back on each stage, nothing over all ranks.
// The last stage is done first and begins its next step, each other one 81 ms after the one behind it: so the two in
// the middle, which do the same, begin 81 ms apart by design. Of one other step that cannot be known.
TEST(LateEntry, ThePlaceInAPipelineIsUnknownRatherThanLate) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> next = mesh.Groups("", {{0, 1}, {1, 2}, {2, 3}});
  for (int s = 0; s < 3; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(40));
      if (r < 3) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Ms(1));
    }
    for (int r = 3; r >= 0; --r) {
      mesh.Compute(r, Ms(80));
      if (r > 0) mesh.Send(next[static_cast<size_t>(r) - 1], r, 1000, Ms(1));
    }
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::RankPattern& rank : ranks) SelectSteps(1, 2, &rank);
  Look look(std::move(ranks));
  ASSERT_EQ(look.job.peer_class[1], look.job.peer_class[2]);
  EXPECT_TRUE(look.Run(RunLateEntryAnalysis).candidates.empty());
}

TEST(LateEntry, WithoutAPlaceOfTheirOwnAllOfItIs) {
  Look look(Make(Ms(40), 0));
  const std::vector<Candidate> found = look.Run(RunLateEntryAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3}));
  EXPECT_EQ(found[0].excess.front(), Ms(40));
}

TEST(LateEntry, AnUncertainClockIsNoLateness) {
  // Ranks 2 and 3 on a host of their own, 40 ms late on a clock that may be off by 25: 50 between two of that kind.
  Look look(Make(Ms(40), 0, 2));
  ASSERT_EQ(look.job.comms.clocks.size(), 2U);
  EXPECT_EQ(look.Run(RunLateEntryAnalysis).candidates.size(), 1U);
  look.job.comms.clocks[1].residual = Ms(25);
  EXPECT_TRUE(look.Run(RunLateEntryAnalysis).candidates.empty());
}

TEST(LateEntry, OfHostsThatNeverMeetNobodyKnowsWhoCameFirst) {
  // Two pairs of hosts without an operation of all: whether ranks 2 and 3 begin 50 ms late or their clocks are ahead by
  // that is the same to see.
  MadeMesh mesh({.ranks = 4, .per_host = 1});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  for (const int r : {2, 3}) mesh.Delay(r, Ms(50));
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const AnalysisOutput out = look.Run(RunLateEntryAnalysis);
  EXPECT_TRUE(out.candidates.empty());
  ASSERT_EQ(out.not_checked.size(), 1U);
  EXPECT_EQ(out.not_checked[0].what, "late entry of 2 ranks");
  EXPECT_EQ(ClockResidual(look.job), std::nullopt);
  const std::vector<report::ClockSummary> clocks = ClockSummaries(look.job);
  ASSERT_EQ(clocks.size(), 4U);
  EXPECT_TRUE(clocks[1].residual.has_value());
  EXPECT_EQ(clocks[2].residual, std::nullopt);
  EXPECT_EQ(clocks[3].residual, std::nullopt);
}

TEST(LateEntry, NobodyNeedsToBeOnTime) {
  // Ranks enter 0, 20, 40 and 60 ms after the first one: three come late, and had all entered with the first the window
  // of six steps were 60 ms shorter.
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int r = 0; r < 4; ++r) mesh.Delay(r, Ms(20) * r);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].cause, "late-entry");
  EXPECT_EQ(d.findings[0].scope.ranks, (std::vector<RankId>{1, 2, 3}));
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 10e6, 1e4);
  EXPECT_EQ(d.findings[0].worst_step, Ms(60));
}

TEST(LateEntry, OnAHostBackendLessIsAskedWhereMoreStepsAreKnown) {
  // 8 ms of a step of 101: a thirtieth is 3.4, a tenth 10.
  const auto is_late = [](int steps) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
    mesh.Delay(3, Ms(8));
    for (int s = 0; s < steps; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    return !look.Run(RunLateEntryAnalysis).candidates.empty();
  };
  EXPECT_FALSE(is_late(5));
  EXPECT_TRUE(is_late(6));
}

// Rank 3 comes `late` before its first step and works `first` in it, `others` in each later one; the other ranks 100
// ms.
bool IsLateEntry(Nanos late, Nanos first, Nanos others) {
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  mesh.Delay(3, late);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 3; ++r) mesh.Compute(r, Ms(100));
    mesh.Compute(3, s == 0 ? first : others);
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return !look.Run(RunLateEntryAnalysis).candidates.empty();
}

TEST(LateEntry, AHostBehindThatHoldsNobodyUp) {
  // It begins 40 ms after the others, and has caught up at the first meeting: its host marks the step later.
  EXPECT_FALSE(IsLateEntry(Ms(40), Ms(60), Ms(100)));
  EXPECT_TRUE(IsLateEntry(Ms(40), Ms(100), Ms(100)));  // had it not
}

// All begin their steps together, but ranks 2 and 3 come to their first meeting 30 ms after their peers, in every step.
// In the first one they begin 30 ms late; of the 80 ms to that meeting they have `first` before them.
bool IsLateAtItsFirstMeeting(Nanos first) {
  MadeMesh mesh({.ranks = 4});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (const int r : {2, 3}) mesh.Delay(r, Ms(30));
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r < 2 ? Ms(50) : s == 0 ? first : Ms(80));
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r < 2 ? Ms(80) : Ms(50));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return !look.Run(RunLateEntryAnalysis).candidates.empty();
}

TEST(LateEntry, WhatItIsAlwaysLaterByAtTheFirstMeetingIsNoLateness) {
  EXPECT_FALSE(IsLateAtItsFirstMeeting(Ms(50)));  // there 30 ms after the others, as ever
  EXPECT_TRUE(IsLateAtItsFirstMeeting(Ms(80)));   // there after 60
}

// Rank 3 begins its later steps 40, 20, 0, 40 and 20 ms after the others: 20 usually, and twice 1.4826 * 20 ms is what
// chance may make of it. It works for as much less to the meeting 100 ms into the step, but for 0.1 ms that come and
// go. In the first step it begins `late` and has `first` before it, so that it meets them late by what is beyond 100.
Look BeginsAsEver(Nanos late, Nanos first) {
  constexpr int kBehind[] = {40, 20, 0, 40, 20, 0};
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  mesh.Delay(3, late);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 3; ++r) mesh.Compute(r, Ms(100));
    mesh.Compute(3, s == 0 ? first : Ms(100) - Ms(kBehind[s - 1]) + s % 3 * Us(100));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
    mesh.Compute(3, Ms(kBehind[s]));
  }
  return Look(mesh.Make());
}

TEST(LateEntry, WhereStepsBeginNowHereNowThereTheFirstMeetingTells) {
  // Its steps begin 30 ms after the others' at times, anyway; but to the first meeting it comes 30 ms late, where it is
  // late by 0.1 in the middle of the others.
  Look look = BeginsAsEver(Ms(30), Ms(100));
  const std::vector<Candidate> found = look.Run(RunLateEntryAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{3}));
  EXPECT_EQ(found[0].excess.front(), Us(29900));
  Look caught_up = BeginsAsEver(Ms(30), Ms(70));
  EXPECT_TRUE(caught_up.Run(RunLateEntryAnalysis).candidates.empty());
}

TEST(LateEntry, OnlyWhatTheFirstMeetingShowsIsTakenAway) {
  // It begins 80 ms late, 60 more than usual, which chance may make of it. It meets the others 30 ms late.
  Look look = BeginsAsEver(Ms(80), Ms(50));
  const std::vector<Candidate> found = look.Run(RunLateEntryAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].excess.front(), Us(29900));
  ASSERT_EQ(found[0].edit.starts.size(), 1U);
  EXPECT_EQ(found[0].edit.starts[0].rank, 3U);
  EXPECT_EQ(found[0].edit.starts[0].start, look.job.graph.chain_start[3] - Us(29900));
}

TEST(LateEntry, WhatComesOnTopBehindTheBeginIsNoEntry) {
  // It begins 10 or 16 ms late and needs as much more as makes it 30: the one is less than half of that. No more than
  // what it began late by goes.
  Look few = BeginsAsEver(Ms(10), Ms(120));
  EXPECT_TRUE(few.Run(RunLateEntryAnalysis).candidates.empty());
  Look half = BeginsAsEver(Ms(16), Ms(114));
  const std::vector<Candidate> found = half.Run(RunLateEntryAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].excess.front(), Ms(16));
}

// A pipeline of three single ranks, each a program of its own, six steps of 50 ms; the first enters `late`.
std::vector<Candidate> EnterAlone(Nanos late) {
  MadeMesh mesh({.ranks = 3});
  const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 1}, {1, 2}});
  mesh.Delay(0, late);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (int r = 0; r < 2; ++r) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Us(100));
    for (int r = 1; r >= 0; --r) mesh.Send(next[static_cast<size_t>(r)], r + 1, 1000, Us(100));
  }
  Look look(mesh.Make());
  return look.Run(RunLateEntryAnalysis).candidates;
}

TEST(LateEntry, ARankWithoutPeersHasToBeClearlyLate) {
  // Twice half a per cent of a step of 50 ms.
  const std::vector<Candidate> found = EnterAlone(Ms(20));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0}));
  EXPECT_TRUE(EnterAlone(Us(400)).empty());
  EXPECT_TRUE(EnterAlone(0).empty());
}

// A pipeline of two stages of two ranks, eight steps of 55 ms; both ranks of the first enter `late`, so that their
// first meeting, with each other, shows nothing.
std::vector<Candidate> EnterAsAStage(bool device, Nanos late) {
  MadeMesh mesh({.ranks = 4, .device = device});
  const std::vector<int> tp = mesh.Groups("mesh_tp", {{0, 1}, {2, 3}});
  const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (const int r : {0, 1}) mesh.Delay(r, late);
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(50));
    for (const int g : tp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
    for (int r = 0; r < 2; ++r) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Ms(2));
    for (int r = 0; r < 2; ++r) mesh.Send(next[static_cast<size_t>(r)], r + 2, 1000, Ms(2));
  }
  Look look(mesh.Make());
  return look.Run(RunLateEntryAnalysis).candidates;
}

TEST(LateEntry, AWholeStageWithoutDevicesHasToBeClearlyLate) {
  // Twice a thirtieth of a step: 3.7 ms.
  const std::vector<Candidate> found = EnterAsAStage(false, Ms(5));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_EQ(found[0].excess.front(), Ms(5));
  EXPECT_TRUE(EnterAsAStage(false, Ms(3)).empty());
  // Devices of a stage begin when what they are given comes.
  EXPECT_TRUE(EnterAsAStage(true, Ms(5)).empty());
}

TEST(LateEntry, ASlowRankWasSlowBeforeTheWindowToo) {
  // It needs 20 ms more in every step, and came 20 ms late: the step before was like the others.
  EXPECT_FALSE(IsLateEntry(Ms(20), Ms(120), Ms(120)));
  EXPECT_TRUE(IsLateEntry(Ms(20), Ms(100), Ms(100)));
}

TEST(LateEntry, WithOthersLateASlowRankIsTakenToHaveComeLateWithThem) {
  // Ranks 1 and 2 come 40 ms late, and rank 3, which needs 20 ms more in every step, 30 ms: it alone would be called 10
  // ms late. The first meeting is its, at 150 ms; had all come with rank 0, at 120. Were it as quick as the others: at
  // 140 and 100. Between 30 and 40 ms in six steps.
  MadeMesh mesh({.ranks = 4});
  const int dp = mesh.Group("mesh_dp", {0, 1, 2, 3});
  const Nanos late[] = {0, Ms(40), Ms(40), Ms(30)};
  for (int r = 0; r < 4; ++r) mesh.Delay(r, late[r]);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, Ms(r == 3 ? 120 : 100));
    mesh.Meet(dp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  const Diagnosis d = Diagnose(mesh.Make());
  ASSERT_EQ(d.findings.size(), 2U);
  EXPECT_EQ(d.findings[0].cause, "slow-device");
  EXPECT_EQ(d.findings[1].cause, "late-entry");
  EXPECT_NEAR(static_cast<double>(d.findings[1].recoverable_per_step), 35e6 / 6, 1e4);
}

}  // namespace
}  // namespace headway::diagnose
