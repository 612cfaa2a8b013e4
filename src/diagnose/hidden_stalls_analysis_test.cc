// SPDX-License-Identifier: Apache-2.0
// Pauses of hosts that own time hides.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::FunctionId;
using pattern::WorkClass;
using report::WhenKind;

// Functions in the order they are first called: 0 nothing recorded, 1 the kernel.
constexpr FunctionId kNone = -1, kSave = 2, kCompile = 3, kLog = 4, kBatch = 5;

// A host's longest pause in a step, where it is, and how long its device then has nothing to do.
struct Pause {
  Nanos length = Ms(5);
  FunctionId function = kNone;
  Nanos dry = 0;
};
using Pauses = std::function<Pause(int rank, int step)>;

// Four ranks in one group. A step is 100 ms of kernels and what is `computed` on top, 0.1 ms in each of four functions,
// what the device runs dry for, and an all-reduce of 1 ms. Without devices the pause is the longest stretch.
struct Made {
  Pauses pause;
  int steps = 10;
  bool device = true;
  std::function<Nanos(int rank, int step)> computed;
};

Look Make(const Made& made) {
  MadeMesh mesh({.ranks = 4, .device = made.device});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < made.steps; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(100) + (made.computed ? made.computed(r, s) : 0));
      mesh.Work(r, WorkClass::kHost, "train.py(50): save_checkpoint", Us(100));
      mesh.Work(r, WorkClass::kHost, "torch/_dynamo/convert_frame.py(100): compile_inner", Us(100));
      mesh.Work(r, WorkClass::kHost, "train.py(90): log_metrics", Us(100));
      mesh.Work(r, WorkClass::kInput, "fetch", Us(100));
      const Pause pause = made.pause(r, s);
      mesh.Hole(r, pause.dry);
      pattern::Step& step = mesh.StepOf(r);
      (made.device ? step.host_stretch : step.longest_stretch) = pause.length;
      (made.device ? step.host_stretch_function : step.longest_stretch_function) = pause.function;
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

std::vector<Candidate> Search(const Made& made) { return Make(made).Run(RunHiddenStallsAnalysis).candidates; }

// One rank, one step: `in` there, as ever elsewhere.
Pauses OnceOf(int rank, int step, const Pause& in) {
  return [=](int r, int s) { return r == rank && s == step ? in : Pause{}; };
}

// What its edit takes off own time.
Nanos Removed(const Look& look, const Candidate& candidate) {
  Nanos sum = 0;
  for (const replay::SegmentEdit::Own& own : candidate.edit.own) {
    sum += look.job.graph.marks[own.mark].Own() - own.own;
  }
  return sum;
}

TEST(HiddenStalls, APauseThatTheDeviceHidesMostOf) {
  // A host stands still for 60 ms, usually 5; the device has work for 40 of them, so the step is 20 ms longer.
  Look look = Make({.pause = OnceOf(2, 4, {Ms(60), kNone, Ms(20)})});
  const std::vector<Candidate> found = look.Run(RunHiddenStallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  const report::Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause, "paused-process");
  EXPECT_EQ(finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_EQ(finding.when.kind, WhenKind::kOnce);
  EXPECT_EQ(finding.when.steps, (std::vector<int64_t>{4}));
  for (size_t s = 0; s < 10; ++s) EXPECT_EQ(found[0].excess[s], s == 4 ? Ms(55) : 0) << s;
  EXPECT_NE(finding.sentence.find("this step is 20 ms longer"), std::string::npos) << finding.sentence;
  EXPECT_NEAR(static_cast<double>(Removed(look, found[0])), 20e6, 100);
}

TEST(HiddenStalls, WhatTheDeviceHidesAltogetherCostsNothing) {
  EXPECT_TRUE(Search({.pause = OnceOf(2, 4, {Ms(60)})}).empty());
}

TEST(HiddenStalls, WhereTheStepIsNoLongerTheDeviceHasToWait) {
  // It computes for as much less as it waits. 1 % of a step is 1 ms.
  const auto found = [](Nanos dry) {
    return Search({.pause = OnceOf(2, 4, {Ms(60), kNone, dry}),
                   .computed = [dry](int r, int s) { return r == 2 && s == 4 ? -dry : 0; }});
  };
  EXPECT_TRUE(found(Us(900)).empty());
  ASSERT_EQ(found(Us(1200)).size(), 1U);
  EXPECT_NE(found(Us(1200))[0].finding.sentence.find("and then waited"), std::string::npos);
}

TEST(HiddenStalls, AStepHasToBeLongerThanStepsDifferBy) {
  // All ranks compute for 0, 4 or -4 ms more in turn. Of the seven steps beside the first, the last and step 4 the mean
  // is 0.6 and the middle one 0, which five of them are 4 away from: 2 * 1.4826 * 4 = 11.9. The device never waits.
  const auto found = [](Nanos longer) {
    return Search({.pause = OnceOf(2, 4, {Ms(60)}), .computed = [longer](int, int s) {
                     constexpr int kTurn[] = {-4, 0, 4};
                     return s == 4 ? longer : Ms(kTurn[s % 3]);
                   }});
  };
  EXPECT_TRUE(found(Ms(11)).empty());
  EXPECT_EQ(found(Ms(14)).size(), 1U);
}

TEST(HiddenStalls, TheFirstAndTheLastStepAreNoMeasure) {
  // Either is 300 ms longer on all ranks, 33 each of nine steps. Step 4 is 20 ms longer than the seven between them.
  for (const int odd : {0, 9}) {
    const Made made{.pause = OnceOf(2, 4, {Ms(60)}), .computed = [odd](int, int s) {
                      return s == odd ? Ms(300) : s == 4 ? Ms(20) : Ms(0);
                    }};
    EXPECT_EQ(Search(made).size(), 1U) << odd;
  }
}

TEST(HiddenStalls, AnotherLongStepDoesNotHideAStall) {
  // Step 6 is 300 ms longer without a pause, 43 of the mean of seven quiet steps. Their middle is as ever, and step 4
  // is 20 ms longer than that.
  const std::vector<Candidate> found = Search({.pause = OnceOf(2, 4, {Ms(60)}), .computed = [](int, int s) {
                                                 return s == 6 ? Ms(300) : s == 4 ? Ms(20) : Ms(0);
                                               }});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{4}));
  EXPECT_NE(found[0].finding.sentence.find("this step is 20 ms longer"), std::string::npos)
      << found[0].finding.sentence;
}

TEST(HiddenStalls, ASentenceSaysTheWholePause) {
  // 60 ms, of which 55 are beyond the usual 5.
  for (const bool device : {true, false}) {
    const std::vector<Candidate> found = Search({.pause = OnceOf(2, 4, {Ms(60), kNone, Ms(60)}), .device = device});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].excess[4], Ms(55));
    EXPECT_NE(found[0].finding.sentence.find("for 60 ms in one piece"), std::string::npos) << found[0].finding.sentence;
  }
}

TEST(HiddenStalls, APauseInTheFirstStepCountsWhereTheDeviceWaited) {
  // That step is no measure, and all others are alike.
  EXPECT_TRUE(Search({.pause = OnceOf(2, 0, {Ms(60)})}).empty());
  const std::vector<Candidate> found = Search({.pause = OnceOf(2, 0, {Ms(60), kNone, Ms(20)})});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{0}));
  EXPECT_NE(found[0].finding.sentence.find("and then waited"), std::string::npos) << found[0].finding.sentence;
}

TEST(HiddenStalls, OfNearlyAllStepsTheOthersAreNoMeasure) {
  // Of twenty steps the last sixteen or fifteen have the pause and are 20 ms longer; the device never waits.
  const auto found = [](int from) {
    return Search({.pause = [from](int r, int s) { return r == 2 && s >= from ? Pause{Ms(60)} : Pause{}; },
                   .steps = 20,
                   .computed = [from](int, int s) { return s >= from ? Ms(20) : Ms(0); }})
        .size();
  };
  EXPECT_EQ(found(4), 0U);
  EXPECT_EQ(found(5), 1U);
}

TEST(HiddenStalls, APauseIsMoreThanTwiceTheUsualOne) {
  EXPECT_TRUE(Search({.pause = OnceOf(2, 4, {Ms(9), kNone, Ms(4)})}).empty());
  EXPECT_EQ(Search({.pause = OnceOf(2, 4, {Ms(11), kNone, Ms(4)})}).size(), 1U);
}

TEST(HiddenStalls, APauseIsFarFromWhatPausesVaryBy) {
  // They are 2, 4, …, 20 ms long. Usual is 6, a quarter up; the lower half, 2 to 10, is 4, 2, 0, 2 and 4 away from it,
  // of which the middle is 2: 6 * 1.4826 * 2 = 17.8 are asked for. 22 is 16 beyond 6, 26 is 20.
  const auto found = [](Nanos length) {
    return Search({.pause = [length](int r, int s) {
      return r == 2 && s == 8 ? Pause{length, kNone, Ms(10)} : Pause{.length = Ms(2) * (s + 1)};
    }});
  };
  EXPECT_TRUE(found(Ms(22)).empty());
  EXPECT_EQ(found(Ms(26)).size(), 1U);
}

TEST(HiddenStalls, ACheckpointOfAllRanks) {
  // 80 ms each, of which the devices hide 50.
  Look look = Make({.pause = [](int, int s) { return s == 4 ? Pause{Ms(80), kSave, Ms(30)} : Pause{}; }});
  const std::vector<Candidate> found = look.Run(RunHiddenStallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  const report::Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause, "checkpoint-stall");
  EXPECT_EQ(finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_NE(finding.scope.function.find("save_checkpoint"), std::string::npos);
  EXPECT_EQ(finding.when.steps, (std::vector<int64_t>{4}));
  EXPECT_EQ(found[0].excess[4], Ms(75));
  EXPECT_NEAR(static_cast<double>(Removed(look, found[0])), 4 * 30e6, 100);
}

TEST(HiddenStalls, TwoStallsOfAllRanksAreTwoFindings) {
  const std::vector<Candidate> found = Search({.pause = [](int, int s) {
    return s == 3 ? Pause{Ms(80), kSave, Ms(30)} : s == 6 ? Pause{Ms(60), kCompile, Ms(30)} : Pause{};
  }});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].finding.cause, "checkpoint-stall");
  EXPECT_EQ(found[0].finding.when.steps, (std::vector<int64_t>{3}));
  EXPECT_EQ(found[0].excess[3], Ms(75));
  EXPECT_EQ(found[0].excess[6], 0);
  EXPECT_EQ(found[1].finding.cause, "compile-or-load");
  EXPECT_EQ(found[1].finding.when.steps, (std::vector<int64_t>{6}));
  EXPECT_EQ(found[1].excess[6], Ms(55));
  EXPECT_EQ(found[1].excess[3], 0);
  for (const Candidate& c : found) EXPECT_EQ(c.finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
}

TEST(HiddenStalls, ARankThatIsStoppedForLongerThanAllIsAFindingToo) {
  // All for 40 ms, rank 2 for 90: 35 beyond the usual 5, and 50 more.
  const std::vector<Candidate> found =
      Search({.pause = [](int r, int s) { return s != 4 ? Pause{} : Pause{r == 2 ? Ms(90) : Ms(40), kSave, Ms(30)}; }});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1, 2, 3}));
  EXPECT_EQ(found[0].excess[4], Ms(35));
  EXPECT_EQ(found[1].finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_EQ(found[1].excess[4], Ms(50));
}

TEST(HiddenStalls, TwoRanksInTheSameStepsAreOneFindingWhereTheyAreAtTheSamePlace) {
  const auto found = [](FunctionId other) {
    return Search({.pause = [other](int r, int s) {
      return s == 4 && r < 2 ? Pause{Ms(60), r == 0 ? kSave : other, Ms(20)} : Pause{};
    }});
  };
  ASSERT_EQ(found(kSave).size(), 1U);
  EXPECT_EQ(found(kSave)[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  ASSERT_EQ(found(kCompile).size(), 2U);
  EXPECT_EQ(found(kCompile)[0].finding.scope.ranks, (std::vector<RankId>{0}));
  EXPECT_EQ(found(kCompile)[1].finding.scope.ranks, (std::vector<RankId>{1}));
}

TEST(HiddenStalls, APauseInEachStepIsHeldAgainstPeers) {
  // Its device waits for 10 ms in each of ten steps, that of no other.
  Look look = Make({.pause = [](int r, int) { return r == 2 ? Pause{Ms(60), kNone, Ms(10)} : Pause{}; }});
  const std::vector<Candidate> found = look.Run(RunHiddenStallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_EQ(found[0].finding.when.kind, WhenKind::kPersistent);
  EXPECT_EQ(found[0].excess, std::vector<Nanos>(10, Ms(55)));
  EXPECT_NEAR(static_cast<double>(Removed(look, found[0])), 10 * 10e6, 100);
}

TEST(HiddenStalls, APauseInEachStepThatTheDeviceHidesCostsNothing) {
  // Nor does it where the devices of all wait for as long.
  for (const Nanos dry : {Ms(0), Ms(10)}) {
    EXPECT_TRUE(Search({.pause = [dry](int r, int) { return Pause{r == 2 ? Ms(60) : Ms(5), kNone, dry}; }}).empty());
  }
}

TEST(HiddenStalls, APauseIsCalledByWhereItIs) {
  // What stops a process twice may find it in the same function by chance; three times is that function.
  const auto cause = [](FunctionId function, int times) {
    const std::vector<Candidate> found = Search({.pause = [=](int r, int s) {
      return r == 2 && s % 2 == 1 && s < 2 * times ? Pause{Ms(60), function, Ms(20)} : Pause{};
    }});
    return found.size() == 1 ? found[0].finding.cause : "";
  };
  EXPECT_EQ(cause(kLog, 2), "paused-process");
  EXPECT_EQ(cause(kLog, 3), "slow-host-code");
  EXPECT_EQ(cause(kNone, 3), "paused-process");
  EXPECT_EQ(cause(kSave, 1), "checkpoint-stall");
  EXPECT_EQ(cause(kCompile, 1), "compile-or-load");
  EXPECT_EQ(cause(kBatch, 1), "slow-input");
}

TEST(HiddenStalls, OfAFileThatBreaksOffAPauseMayBeRowsThatLack) {
  const Pauses pause = OnceOf(1, 4, {.length = Ms(60), .dry = Ms(20)});
  EXPECT_EQ(Search({.pause = pause}).size(), 1U);
  Look whole = Make({.pause = pause});
  std::vector<pattern::RankPattern> ranks = whole.job.ranks;
  ranks[1].log.Add(trace::ProblemKind::kRepaired, "truncated-tail", -1, "");
  Look cut(std::move(ranks));
  EXPECT_TRUE(cut.Run(RunHiddenStallsAnalysis).candidates.empty());
}

TEST(HiddenStalls, FewStepsSayNothing) {
  const auto found = [](int steps) {
    return Search({.pause = OnceOf(2, 2, {Ms(60), kNone, Ms(20)}), .steps = steps}).size();
  };
  EXPECT_EQ(found(4), 0U);
  EXPECT_EQ(found(5), 1U);
}

TEST(HiddenStalls, WithoutDevicesSingleRanksOnly) {
  const auto look = [](int ranks) {
    return Search(
        {.pause = [ranks](int r, int s) { return s == 4 && r < ranks ? Pause{Ms(60), kNone, Ms(60)} : Pause{}; },
         .device = false});
  };
  const std::vector<Candidate> found = look(1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "paused-process");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0}));
  EXPECT_EQ(found[0].excess[4], Ms(55));
  EXPECT_EQ(found[0].finding.sentence.find("It recorded nothing for "), 0U) << found[0].finding.sentence;
  EXPECT_EQ(found[0].finding.sentence.find("device"), std::string::npos) << found[0].finding.sentence;
  EXPECT_TRUE(look(4).empty());
}

TEST(HiddenStalls, Healthy) {
  for (const bool device : {true, false}) {
    EXPECT_TRUE(Search({.pause = [](int, int) { return Pause{}; }, .device = device}).empty());
  }
}

TEST(HiddenStalls, WhatHidesFourFifthsOfAStepOnAllRanksIsWorthARemark) {
  // A step is 100 ms of kernels, 0.4 of functions and 1 of the all-reduce: four fifths of it are 81.12 ms. Pauses are 5
  // ms otherwise; no device ever waits.
  const auto found = [](Nanos length, int ranks) {
    return Search({.pause = [=](int r, int s) { return r < ranks && s == 4 ? Pause{length} : Pause{}; }});
  };
  EXPECT_TRUE(found(Ms(86), 4).empty());
  EXPECT_TRUE(found(Ms(87), 1).empty());  // of a single one: its device had the work
  ASSERT_EQ(found(Ms(87), 4).size(), 1U);
  EXPECT_EQ(found(Ms(87), 4)[0].finding.cause, "paused-process");
  EXPECT_TRUE(found(Ms(87), 4)[0].at_most_info);
  EXPECT_TRUE(found(Ms(87), 4)[0].edit.own.empty());  // nothing to be won
}

TEST(HiddenStalls, WithoutDevicesAPauseThreeTimesAnyOtherIsWorthARemark) {
  // The own time of all ranks varies by tens of ms from step to step; rank 2 pauses in step 4, all others 5 ms in each.
  const auto found = [](Nanos length, Nanos other) {
    return Search({.pause =
                       [=](int r, int s) {
                         return r == 2 && s == 4 ? Pause{length} : r == 0 && s == 7 ? Pause{other} : Pause{};
                       },
                   .device = false,
                   .computed = [](int r, int s) { return Ms((r * 7 + s * 5) % 9 * 8); }});
  };
  ASSERT_EQ(found(Ms(16), Ms(5)).size(), 1U);
  EXPECT_EQ(found(Ms(16), Ms(5))[0].finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_TRUE(found(Ms(16), Ms(5))[0].at_most_info);
  EXPECT_TRUE(found(Ms(14), Ms(5)).empty());  // less than three times 5
  EXPECT_TRUE(found(Ms(16), Ms(6)).empty());  // three times 6 are 18
}

TEST(HiddenStalls, FarShorterPausesOfTheSameRankHaveAnotherReason) {
  // Beyond the usual 5 ms: 55 in step 4, and 13 (no quarter of it) or 14 (a quarter and more) in steps 2 and 7.
  const auto steps = [](Nanos shorter) {
    const std::vector<Candidate> found = Search({.pause = [=](int r, int s) {
      return r != 2             ? Pause{}
             : s == 4           ? Pause{Ms(60), kNone, Ms(20)}
             : s == 2 || s == 7 ? Pause{shorter, kNone, Ms(20)}
                                : Pause{};
    }});
    return found.size() == 1 ? found[0].finding.when.steps : std::vector<int64_t>();
  };
  EXPECT_EQ(steps(Ms(18)), (std::vector<int64_t>{4}));
  EXPECT_EQ(steps(Ms(19)), (std::vector<int64_t>{2, 4, 7}));
}

}  // namespace
}  // namespace headway::diagnose
