// SPDX-License-Identifier: Apache-2.0
// Which of two candidates says nothing that the other one does not say.
#include "diagnose/repeats.h"

#include <gtest/gtest.h>

#include <string>

namespace headway::diagnose {
namespace {

Candidate Of(const std::string& id, const std::string& cause, std::vector<RankId> ranks, std::vector<Nanos> excess) {
  Candidate candidate;
  candidate.finding.id = id;
  candidate.finding.cause = cause;
  candidate.finding.scope.ranks = std::move(ranks);
  candidate.excess = std::move(excess);
  return candidate;
}

std::string Left(std::vector<Candidate> candidates) {
  DropRepeats(&candidates);
  std::string out;
  for (const Candidate& c : candidates) out += c.finding.id;
  return out;
}

TEST(Repeats, OneRankOfAllThatAreStruckAlike) {
  const Candidate all = Of("a", "slow-input", {0, 1, 2, 3}, {10, 10, 10});
  EXPECT_EQ(Left({all, Of("b", "slow-input", {1}, {8, 0, 10})}), "a");
  EXPECT_EQ(Left({Of("b", "slow-input", {1}, {8, 0, 10}), all}), "a");
}

TEST(Repeats, ARankThatIsStruckHarderStays) {
  const Candidate all = Of("a", "slow-input", {0, 1, 2, 3}, {10, 10, 10});
  EXPECT_EQ(Left({all, Of("b", "slow-input", {1}, {8, 0, 12})}), "ab");
}

TEST(Repeats, WhatAllThatLoadWaitIsMostOfWhatAStageOfThemTakesLonger) {
  // All that load wait 120 at least; a stage of them takes 136 longer than the stages that load nothing. A rank that
  // takes as much longer than its peers does so on top.
  const Candidate all = Of("a", "slow-input", {0, 1, 6, 7}, {120, 120});
  const auto left = [&](bool stage, Nanos most) {
    Candidate of_stage = Of("b", "slow-input", {6, 7}, {136, most});
    if (stage) of_stage.against = HeldAgainst::kOtherStages;
    return Left({of_stage, all});
  };
  EXPECT_EQ(left(true, 180), "a");
  EXPECT_EQ(left(true, 181), "ba");
  EXPECT_EQ(left(false, 136), "ba");
}

TEST(Repeats, WhatOneTakesBeyondItsPeersIsOnTopOfWhatAllTake) {
  // All wait 28 for a batch, one of them 41.
  const Candidate all = Of("a", "slow-input", {0, 1, 2, 3}, {28, 28});
  Candidate one = Of("b", "slow-input", {0}, {13, 13});
  EXPECT_EQ(Left({one, all}), "a");
  one.against = HeldAgainst::kPeers;
  EXPECT_EQ(Left({one, all}), "ba");
  // So it is with a host of two of them, and with a rank beyond its host.
  Candidate host = Of("h", "slow-input", {0, 1}, {13, 13});
  host.against = HeldAgainst::kPeers;
  EXPECT_EQ(Left({host, all}), "ha");
  EXPECT_EQ(Left({host, one}), "h");
  one.is_beyond_host = true;
  EXPECT_EQ(Left({host, one}), "hb");
}

TEST(Repeats, WhatARankTakesBeyondWhatAllTakeAlikeStays) {
  // All stop for 84 in a step, one of them for 62 more: two pauses. For 40 more, it is a little slower at the first.
  Candidate all = Of("a", "paused-process", {0, 1, 2, 3}, {0, 84});
  all.against = HeldAgainst::kOtherSteps;
  EXPECT_EQ(Left({Of("b", "paused-process", {1}, {0, 62}), all}), "ba");
  EXPECT_EQ(Left({Of("b", "paused-process", {1}, {0, 40}), all}), "a");
  Candidate few = Of("b", "paused-process", {0, 1}, {0, 62});
  few.against = HeldAgainst::kOtherSteps;
  EXPECT_EQ(Left({few, all}), "a");
}

TEST(Repeats, WhatAProgramDoesShowsNowHereNowThere) {
  const Candidate all = Of("a", "launch-bound", {0, 1, 2, 3}, {0, 0, 10});
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {1}, {1, 1, 1})}), "a");
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {1}, {1, 1, 0})}), "ab");
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {0, 1, 2, 3}, {1, 1, 1})}), "a");
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {0, 1, 2, 3}, {9, 9, 9})}), "b");
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {0, 1, 2}, {9, 9, 9})}), "b");  // the costlier, be it of fewer
  EXPECT_EQ(Left({all, Of("b", "launch-bound", {0, 1, 4}, {9, 9, 9})}), "ab");
}

TEST(Repeats, OtherStepsOtherRanksAndOtherCausesStay) {
  const Candidate all = Of("a", "slow-input", {0, 1, 2, 3}, {10, 0, 0});
  EXPECT_EQ(Left({all, Of("b", "slow-input", {1}, {0, 5, 5})}), "ab");
  EXPECT_EQ(Left({all, Of("b", "slow-input", {3, 4}, {5, 0, 0})}), "ab");
  EXPECT_EQ(Left({all, Of("b", "gc-pause", {1}, {5, 0, 0})}), "ab");
}

TEST(Repeats, OfEqualRanksTheLaterGoesWhateverItCosts) {
  const Candidate first = Of("a", "slow-input", {0, 1}, {10, 0, 10});
  EXPECT_EQ(Left({first, Of("b", "slow-input", {0, 1}, {0, 5, 99})}), "a");
  EXPECT_EQ(Left({first, Of("b", "slow-input", {0, 1}, {0, 99, 0})}), "ab");
}

TEST(Repeats, OfEqualRanksWhatClaimsMoreStays) {
  Candidate remark = Of("a", "slow-copy", {4, 5}, {10, 10});
  remark.at_most_info = true;
  EXPECT_EQ(Left({remark, Of("b", "slow-copy", {4, 5}, {9, 9})}), "b");
  EXPECT_EQ(Left({Of("b", "slow-copy", {4, 5}, {9, 9}), remark}), "b");
}

TEST(Repeats, ThreeOfAKindLeaveOne) {
  const std::vector<Nanos> cost = {10, 10};
  EXPECT_EQ(Left({Of("a", "x", {0}, cost), Of("b", "x", {0, 1}, cost), Of("c", "x", {0, 1}, cost)}), "b");
}

TEST(Repeats, WhatGoesItselfCoversNothing) {
  // b goes as a names the same ranks. c costs something in the second step only, of which a says nothing.
  EXPECT_EQ(Left({Of("a", "x", {0, 1}, {10, 0}), Of("b", "x", {0, 1}, {10, 10}), Of("c", "x", {0}, {0, 10})}), "ac");
}

TEST(Repeats, WhatASlowHostDoesSlowlyIsPartOfIt) {
  Candidate host = Of("h", "slow-host", {0, 1}, {10, 10, 0, 0});
  Candidate input = Of("i", "slow-input", {0, 1}, {20, 5, 0, 0});
  host.edit.own = {{7, 50}, {9, 50}};
  input.edit.own = {{7, 40}, {8, 30}};
  std::vector<Candidate> both = {input, host};
  DropRepeats(&both);
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(both[0].finding.id, "h");
  EXPECT_EQ(both[0].excess, (std::vector<Nanos>{20, 10, 0, 0}));
  ASSERT_EQ(both[0].edit.own.size(), 3U);  // of mark 7 what the input takes away
  EXPECT_EQ(both[0].edit.own[0].own, 40);
  EXPECT_EQ(both[0].edit.own[1].own, 30);
  EXPECT_EQ(both[0].edit.own[2].own, 50);
  // Other ranks, other steps, and what no slow host explains.
  EXPECT_EQ(Left({host, Of("i", "slow-input", {0, 1, 2}, {20, 5, 0, 0})}), "hi");
  EXPECT_EQ(Left({host, Of("i", "slow-input", {0, 1}, {0, 5, 5, 5})}), "hi");
  EXPECT_EQ(Left({host, Of("p", "paused-process", {0, 1}, {20, 0, 0, 0})}), "hp");
}

TEST(Repeats, WhatTakesFarLongerThanItsHostIsSlowIsNoPartOfThat) {
  const auto left = [](double host_longer, double input_longer) {
    Candidate host = Of("h", "slow-host", {0, 1}, {10, 10});
    Candidate input = Of("i", "slow-input", {0, 1}, {20, 5});
    host.longer = host_longer;
    input.longer = input_longer;
    return Left({host, input});
  };
  EXPECT_EQ(left(1.4, 2.9), "h");  // three times at least
  EXPECT_EQ(left(1.4, 3), "hi");
  EXPECT_EQ(left(2, 3.9), "h");  // twice what the host is slow by
  EXPECT_EQ(left(2, 4), "hi");
  EXPECT_EQ(left(2, 0), "h");  // not known
  EXPECT_EQ(left(0, 100), "h");
}

TEST(Repeats, AStallThatHasANameIsTheUnnamedPauseOfItsRanks) {
  // Whichever comes first. The stall is as it was.
  for (const char* cause : {"checkpoint-stall", "compile-or-load", "gc-pause"}) {
    const Candidate stall = Of("s", cause, {0, 1, 2, 3}, {0, 50, 20});
    const Candidate pause = Of("p", "paused-process", {1, 2}, {0, 40, 0});
    EXPECT_EQ(Left({stall, pause}), "s") << cause;
    EXPECT_EQ(Left({pause, stall}), "s") << cause;
    std::vector<Candidate> all = {stall, Of("p", "paused-process", {0, 1, 2, 3}, {0, 90, 0})};
    DropRepeats(&all);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].excess, (std::vector<Nanos>{0, 50, 20})) << cause;
  }
}

TEST(Repeats, APauseThatCostsMoreThanTwiceTheStallIsNotOnlyThat) {
  const Candidate stall = Of("s", "checkpoint-stall", {0, 1, 2, 3}, {0, 50, 20});
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {1}, {0, 100, 40})}), "s");
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {1}, {0, 101, 0})}), "sp");
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {1}, {0, 10, 41})}), "sp");
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {1}, {1, 10, 0})}), "sp");  // nor is it in other steps
}

TEST(Repeats, AKernelThatIsLongerOnAStageWithMoreToDoIsThat) {
  // All kernels in proportion are a slow device; which of the two it is the stages tell.
  const Candidate stage = Of("a", "stage-imbalance", {2}, {300, 300});
  Candidate kernel = Of("b", "slow-device", {2}, {290, 290});
  EXPECT_EQ(Left({kernel, stage}), "ba");
  kernel.finding.scope.function = "gemm";
  EXPECT_EQ(Left({kernel, stage}), "a");
  kernel.finding.scope.ranks = {3};
  EXPECT_EQ(Left({kernel, stage}), "ba");
}

TEST(Repeats, SlowCopiesFromPageableMemoryAreUnpinned) {
  const auto left = [](const std::string& function, std::vector<RankId> ranks) {
    Candidate copy = Of("a", "slow-copy", std::move(ranks), {90, 90});
    copy.finding.scope.function = function;
    return Left({copy, Of("b", "unpinned-copy", {2, 3}, {60, 60})});
  };
  EXPECT_EQ(left("Memcpy HtoD (Pageable -> Device)", {3}), "b");
  EXPECT_EQ(left("Memcpy HtoD (Pinned -> Device)", {3}), "ab");
  EXPECT_EQ(left("Memcpy HtoD (Pageable -> Device)", {3, 4}), "ab");
}

TEST(Repeats, WhatAStageTakesLongerForItsSlowHostIsNoMoreToDo) {
  const Candidate host = Of("a", "slow-host", {2, 3, 4, 5}, {40, 40});
  const auto left = [&](std::vector<RankId> ranks, Nanos excess) {
    Candidate stage = Of("b", "stage-imbalance", std::move(ranks), {excess, excess});
    stage.against = HeldAgainst::kOtherStages;
    return Left({stage, host});
  };
  EXPECT_EQ(left({2, 3}, 60), "a");
  EXPECT_EQ(left({2, 3}, 61), "ba");  // it has more to do besides
  EXPECT_EQ(left({5, 6}, 40), "ba");  // and one that is not all on the host
}

TEST(Repeats, HolesOfAStageAreThePausesOfItsRanks) {
  const auto left = [](const std::string& function, std::vector<RankId> ranks, Nanos excess) {
    Candidate stage = Of("b", "slow-host-code", std::move(ranks), {excess, excess});
    stage.against = HeldAgainst::kOtherStages;
    stage.finding.scope.function = function;
    return Left({stage, Of("a", "paused-process", {2}, {100, 100})});
  };
  EXPECT_EQ(left("", {2}, 140), "a");
  EXPECT_EQ(left("", {2}, 160), "ba");
  EXPECT_EQ(left("", {2, 3}, 100), "ba");
  EXPECT_EQ(left("f", {2}, 100), "ba");
  // In a step of its own the stage is longer for something else: by a quarter of it all, by a third, by most.
  const auto beside = [](std::vector<Nanos> excess) {
    Candidate stage = Of("b", "slow-host-code", {2}, std::move(excess));
    stage.against = HeldAgainst::kOtherStages;
    return Left({stage, Of("a", "paused-process", {2}, {100, 100, 100, 0})});
  };
  EXPECT_EQ(beside({100, 100, 100, 100}), "a");
  EXPECT_EQ(beside({100, 0, 100, 100}), "ba");
  EXPECT_EQ(beside({100, 100, 100, 1000}), "ba");  // most of it is something else
}

TEST(Repeats, APauseInAFunctionThatOnlyThisRankRunsIsThat) {
  Candidate code = Of("a", "slow-host-code", {7}, {0, 150});
  EXPECT_EQ(Left({Of("b", "paused-process", {7}, {0, 100}), code}), "ba");
  code.only_here = true;
  EXPECT_EQ(Left({Of("b", "paused-process", {7}, {0, 100}), code}), "a");
  EXPECT_EQ(Left({Of("b", "paused-process", {7}, {0, 1400}), code}), "a");  // most of it behind the device
  EXPECT_EQ(Left({Of("b", "paused-process", {7}, {100, 100}), code}), "ba");
}

TEST(Repeats, PausesOfOtherRanksAndOtherCausesAreNoStall) {
  const std::vector<Nanos> cost = {0, 50, 0};
  const Candidate stall = Of("s", "checkpoint-stall", {0, 1}, cost);
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {1, 2}, cost)}), "sp");
  EXPECT_EQ(Left({stall, Of("p", "paused-process", {}, cost)}), "sp");
  EXPECT_EQ(Left({stall, Of("p", "slow-input", {0, 1}, cost)}), "sp");
  EXPECT_EQ(Left({Of("s", "slow-host-code", {0, 1}, cost), Of("p", "paused-process", {0, 1}, cost)}), "sp");
}

TEST(Repeats, WhatNamesNoRankStays) {
  EXPECT_EQ(Left({Of("a", "x", {}, {10}), Of("b", "x", {}, {10}), Of("c", "x", {0}, {10})}), "abc");
}

TEST(Repeats, AStageThatIsLongerByOneFunctionHasNoMoreWork) {
  const auto left = [](Nanos of_function, const std::string& function, bool* at_most_info) {
    Candidate stage = Of("s", "stage-imbalance", {3}, {100, 100});
    Candidate code = Of("c", "slow-host-code", {3}, {of_function, of_function});
    code.finding.scope.function = function;
    code.at_most_info = true;
    std::vector<Candidate> both = {stage, code};
    DropRepeats(&both);
    std::string out;
    for (const Candidate& c : both) out += c.finding.id;
    *at_most_info = both.back().at_most_info;
    return out;
  };
  bool at_most_info = true;
  EXPECT_EQ(left(75, "augment_batch", &at_most_info), "c");
  EXPECT_FALSE(at_most_info);  // of two that show the same
  EXPECT_EQ(left(74, "augment_batch", &at_most_info), "sc");
  EXPECT_TRUE(at_most_info);
  EXPECT_EQ(left(75, "", &at_most_info), "sc");
}

}  // namespace
}  // namespace headway::diagnose
