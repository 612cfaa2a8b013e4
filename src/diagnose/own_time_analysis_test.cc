// SPDX-License-Identifier: Apache-2.0
// What a rank that takes longer than its peers suffers from.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Eight ranks without devices in one group; 24 steps of six operators of 20 ms, which on rank 3 take `percent(step,
// operator)` of that.
AnalysisOutput AnalyseEach(const std::function<int(int step, int op)>& percent) {
  MadeMesh mesh({.ranks = 8, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 24; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      for (int f = 0; f < 6; ++f) {
        const Nanos time = Us(200) * (r == 3 ? percent(s, f) : 100);
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), time, 4);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunOwnTimeAnalysis);
}

// All of them alike.
AnalysisOutput Analyse(const std::function<int(int step)>& percent) {
  return AnalyseEach([&](int s, int) { return percent(s); });
}

std::string CauseOf(const std::function<int(int step)>& percent) {
  const AnalysisOutput out = Analyse(percent);
  EXPECT_EQ(out.candidates.size(), 1U);
  return out.candidates.empty() ? "" : out.candidates[0].finding.cause;
}

TEST(OwnTime, TheSameShareOfEverythingNowAndThenIsAThrottledHost) {
  // 30 % more of everything in every third step: 36 of 120 ms.
  const AnalysisOutput out = Analyse([](int s) { return s % 3 == 0 ? 130 : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  const Candidate& found = out.candidates[0];
  EXPECT_EQ(found.finding.cause, "slow-host");
  EXPECT_EQ(found.finding.scope.ranks, (std::vector<RankId>{3}));
  EXPECT_EQ(found.finding.when.kind, report::WhenKind::kIntermittent);
  EXPECT_TRUE(found.at_most_info);  // a neighbour may take its share of the processor now and then
  for (size_t s = 0; s < 24; ++s) EXPECT_EQ(found.excess[s], s % 3 == 0 ? Ms(36) : 0) << s;
}

TEST(OwnTime, UnevenSharesAreOtherWorkOnTheMachine) {
  // 10, 90, 20 and 60 % more in turn: 12, 108, 24 and 72 ms, the middle is 48. None is within a third of it.
  constexpr int kPercent[] = {110, 190, 120, 160};
  const AnalysisOutput out = Analyse([&](int s) { return s % 3 == 0 ? kPercent[s / 3 % 4] : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "shared-host");
  EXPECT_TRUE(out.candidates[0].at_most_info);
}

TEST(OwnTime, AQuarterOfTheStruckStepsMayBeOfAnotherShare) {
  // Of eight struck steps two, then three, take three times as much more as the others.
  const auto with_far_ones = [](int far) {
    return CauseOf([far](int s) { return s % 3 != 0 ? 100 : s / 3 < far ? 190 : 130; });
  };
  EXPECT_EQ(with_far_ones(2), "slow-host");
  EXPECT_EQ(with_far_ones(3), "shared-host");
}

TEST(OwnTime, TheSameAmountInOtherFunctionsEachTimeIsOtherWork) {
  // 40 ms in every third step, of three operators now in this and now in that one; the other three are as ever.
  const AnalysisOutput out = AnalyseEach([](int s, int f) { return s % 3 == 0 && f == s / 3 % 3 ? 300 : 100; });
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "shared-host");
}

TEST(OwnTime, ThreeStruckStepsShowAShareOnlyIfItIsLargeAndTheSame) {
  EXPECT_EQ(CauseOf([](int s) { return s % 8 == 3 ? 130 : 100; }), "shared-host");
  EXPECT_EQ(CauseOf([](int s) { return s % 6 == 3 ? 130 : 100; }), "slow-host");  // four
  // Half more three times is one. Of 52, 68 and 60 % all are within 15 % of the middle (51 to 69), of 50, 70 and 60
  const auto in_turn = [](int a, int b, int c) {
    const int percent[] = {a, b, c};
    return CauseOf([=](int s) { return s % 8 == 3 ? percent[s / 8] : 100; });
  };
  EXPECT_EQ(in_turn(151, 151, 151), "slow-host");
  EXPECT_EQ(in_turn(148, 148, 148), "shared-host");
  EXPECT_EQ(in_turn(152, 168, 160), "slow-host");
  EXPECT_EQ(in_turn(150, 170, 160), "shared-host");
}

TEST(OwnTime, ASlowRankThatStandsStillOnceHasTwoFindings) {
  // Kernels of rank 2 take 10 % longer; in step 5 they do not, but it stands still for 40 ms. What it usually takes
  // longer is taken to be in those 40.
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r == 2 && s != 5 ? Ms(110) : Ms(100));
    if (s == 5) mesh.Hole(2, Ms(40));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const AnalysisOutput out = look.Run(RunOwnTimeAnalysis);
  ASSERT_EQ(out.candidates.size(), 2U);
  const Candidate &slow = out.candidates[0], &pause = out.candidates[1];
  EXPECT_EQ(slow.finding.id, "slow-device-2");
  EXPECT_EQ(pause.finding.id, "paused-process-2-in-one-piece");
  for (size_t s = 0; s < 12; ++s) {
    EXPECT_EQ(slow.excess[s], Ms(10)) << s;
    EXPECT_EQ(pause.excess[s], s == 5 ? Ms(30) : 0) << s;
  }
}

TEST(OwnTime, AStepThatAPauseTookIsNotPricedTwice) {
  // Rank 2 waits 10 ms for each batch, in step 5 too, and stands still there for 40 more: of those 50 40 are the
  // pause's.
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Work(2, WorkClass::kInput, "train.py(7): read_shard", Ms(10));
    if (s == 5) mesh.Hole(2, Ms(40));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const AnalysisOutput out = look.Run(RunOwnTimeAnalysis);
  ASSERT_EQ(out.candidates.size(), 2U);
  EXPECT_EQ(out.candidates[0].finding.cause, "slow-input");
  EXPECT_EQ(out.candidates[1].finding.cause, "paused-process");
  for (size_t s = 0; s < 12; ++s) {
    EXPECT_EQ(out.candidates[0].excess[s], Ms(10)) << s;
    EXPECT_EQ(out.candidates[1].excess[s], s == 5 ? Ms(40) : 0) << s;
  }
}

TEST(OwnTime, APauseShorterThanWhatEveryRankWaitsForIsOneAllTheSame) {
  // Of a host backend: all wait 300 ms for a batch, in one piece; rank 2 records nothing for 100 ms, in step 5 or in
  // all.
  const auto cause = [](bool always) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3});
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      for (int r = 0; r < 4; ++r) {
        mesh.Work(r, WorkClass::kInput, "train.py(7): read_shard", Ms(300));
        mesh.StepOf(r).longest_stretch = Ms(300);
      }
      if (always || s == 5) mesh.Work(2, WorkClass::kIdle, "(nothing recorded)", Ms(100));
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
    EXPECT_EQ(found.size(), 1U);
    EXPECT_EQ(found.at(0).finding.scope.ranks, std::vector<RankId>{2});
    return found.at(0).finding.cause;
  };
  EXPECT_EQ(cause(false), "paused-process");
  EXPECT_EQ(cause(true), "slow-host-code");
}

TEST(OwnTime, ARankThatSlowPeersHideIsFoundToo) {
  // Against the middle of its seven peers, a slow one, rank 4 is ahead: kernels of 122 ms beside four of 147.
  MadeMesh mesh({.ranks = 8});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) mesh.Compute(r, r < 4 ? Ms(147) : r == 4 ? Ms(122) : Ms(100));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  std::set<RankId> found;
  for (const Candidate& candidate : look.Run(RunOwnTimeAnalysis).candidates) {
    found.insert(candidate.finding.scope.ranks.begin(), candidate.finding.scope.ranks.end());
    if (candidate.finding.scope.ranks.front() == 4) {
      EXPECT_EQ(candidate.excess, std::vector<Nanos>(12, Ms(22)));
    }
  }
  EXPECT_EQ(found, (std::set<RankId>{0, 1, 2, 3, 4}));
}

TEST(OwnTime, AHostWithRanksOfTwoStagesIsOneFinding) {
  // Hosts of four ranks, two of each stage; all operators take 30 % longer on the second host.
  MadeMesh mesh({.ranks = 8, .per_host = 4, .device = false});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      for (int f = 0; f < 6; ++f) {
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), r < 4 ? Ms(20) : Ms(26), 4);
      }
    }
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  ASSERT_EQ(look.job.classes.size(), 2U);
  const AnalysisOutput out = look.Run(RunOwnTimeAnalysis);
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "slow-host");
  EXPECT_EQ(out.candidates[0].finding.scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
  EXPECT_EQ(out.candidates[0].finding.scope.hosts, (std::vector<std::string>{"n1"}));
}

// Four ranks on a device, 100 ms of kernels a step; each also spends `time(rank, k)` in function k of ten calls.
AnalysisOutput WithFunctions(const std::vector<std::pair<std::string, WorkClass>>& functions,
                             const std::function<Nanos(int, size_t)>& time) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 4; ++r) {
      for (size_t k = 0; k < functions.size(); ++k) {
        mesh.Work(r, functions[k].second, functions[k].first, time(r, k), 10);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunOwnTimeAnalysis);
}

TEST(OwnTime, AnExcessThatNoFunctionHoldsIsToldByItsClass) {
  // Five functions of the loader, 4 ms each instead of 1: 12 steps of 20 ms against 5. Five others are as ever.
  std::vector<std::pair<std::string, WorkClass>> functions;
  for (int k = 0; k < 10; ++k) {
    functions.emplace_back("train.py(" + std::to_string(k) + "): f", k < 5 ? WorkClass::kInput : WorkClass::kHost);
  }
  const AnalysisOutput out = WithFunctions(functions, [](int r, size_t k) { return r == 2 && k < 5 ? Ms(4) : Ms(1); });
  ASSERT_EQ(out.candidates.size(), 1U);
  EXPECT_EQ(out.candidates[0].finding.cause, "slow-input");
  EXPECT_NE(out.candidates[0].finding.sentence.find("4.00x the time it takes on its peers (240 ms against 60 ms"),
            std::string::npos)
      << out.candidates[0].finding.sentence;
}

TEST(OwnTime, ASlowHostIsToldByTheTimeOfItsCallsThoughOneIsMostOfIt) {
  // Fetching takes 30 ms instead of 10, and so does each call of four functions that hardly show: 30 us instead of 10.
  std::vector<std::pair<std::string, WorkClass>> functions{{"train.py(7): fetch", WorkClass::kInput}};
  for (const char* name : {"aten::to", "aten::copy_", "aten::mm", "aten::add"}) {
    functions.emplace_back(name, WorkClass::kHost);
  }
  const auto cause = [&](Nanos call) {
    const AnalysisOutput out = WithFunctions(functions, [call](int r, size_t k) {
      return k == 0 ? (r == 2 ? Ms(30) : Ms(10)) : 10 * (r == 2 ? call : Us(10));
    });
    for (const Candidate& found : out.candidates) EXPECT_EQ(found.longer, 0);  // what devices hide is not in it
    return out.candidates.size() == 1 ? out.candidates[0].finding.cause : "";
  };
  EXPECT_EQ(cause(Us(30)), "slow-host");
  EXPECT_EQ(cause(Us(10)), "slow-input");
}

TEST(OwnTime, AHostThatComesLateFromItsInputIsNotSlowThroughout) {
  // The device of rank 3 waits 4 ms for its input and 4 for what follows, its peers 1 and 1. Its host fetched for 45 ms
  // in one piece, nearly all of it hidden: by that it is late. Where it did not, all that it does takes longer.
  const auto cause = [](Nanos fetched) {
    MadeMesh mesh({.ranks = 8});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      for (int r = 0; r < 8; ++r) {
        mesh.Work(r, WorkClass::kInput, "next",
                  r == 3 ? Ms(4) : Ms(1));  // the third function, after a hole's and "gemm"
        mesh.Work(r, WorkClass::kIdle, "(nothing recorded)", r == 3 ? Ms(4) : Ms(1));
        mesh.StepOf(r).host_stretch = r == 3 ? fetched : Ms(1);
        mesh.StepOf(r).host_stretch_function = 2;
      }
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    const AnalysisOutput out = look.Run(RunOwnTimeAnalysis);
    return out.candidates.size() == 1 ? out.candidates[0].finding.cause : "";
  };
  EXPECT_EQ(cause(Ms(1)), "slow-host");
  EXPECT_EQ(cause(Ms(45)), "slow-input");
}

TEST(OwnTime, WhereManyRanksTakeLongerNowAndThenNoneIsToBlame) {
  // In two steps each, other ones for each rank, 30 ms more, spread over six functions: of eight ranks one, or four.
  const auto loud = [](int struck) {
    MadeMesh mesh({.ranks = 8});
    const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
    for (int s = 0; s < 12; ++s) {
      mesh.Step();
      mesh.ComputeAll(Ms(100));
      for (int r = 0; r < 8; ++r) {
        const bool longer = r < struck && s % 6 == r;
        for (int k = 0; k < 6; ++k) {
          mesh.Work(r, WorkClass::kHost, "train.py(" + std::to_string(k) + "): f", longer && k >= 3 ? Ms(11) : Ms(1));
        }
      }
      mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
    }
    Look look(mesh.Make());
    int out = 0;
    for (const Candidate& c : look.Run(RunOwnTimeAnalysis).candidates) out += c.at_most_info ? 0 : 1;
    return out;
  };
  EXPECT_EQ(loud(1), 1);
  EXPECT_EQ(loud(4), 0);
}

// A pipeline of four single ranks on processors. The third one takes half as long again in its operator: by more calls
// of it, or by longer ones.
Candidate InnerStage(bool more_calls) {
  MadeMesh mesh({.ranks = 4, .device = false});
  mesh.Group("mesh_pp", {0, 1, 2, 3});
  const std::vector<int> next = mesh.Groups("next", {{0, 1}, {1, 2}, {2, 3}});
  for (int s = 0; s < 12; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, pattern::WorkClass::kCompute, "aten::mm", r == 2 ? Ms(150) : Ms(100),
                r == 2 && more_calls ? 15 : 10);
      mesh.Work(r, pattern::WorkClass::kCompute, "aten::add", Ms(10), 10);
    }
    for (size_t k = 0; k < next.size(); ++k) mesh.Send(next[k], static_cast<int>(k), 1000, Us(100));
  }
  Look look(mesh.Make());
  const std::vector<Candidate> found = look.Run(RunOwnTimeAnalysis).candidates;
  return found.empty() ? Candidate{} : found.front();
}

TEST(OwnTime, AStageThatIsGivenMoreIsNotSlow) {
  const Candidate found = InnerStage(true);
  EXPECT_EQ(found.finding.cause, "stage-imbalance");
  EXPECT_EQ(found.finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_EQ(found.finding.scope.stage, 2);
  EXPECT_EQ(found.finding.scope.function, "aten::mm");
  EXPECT_TRUE(found.at_most_info);
}

TEST(OwnTime, AStageWhoseCallsAreLongerIs) {
  const Candidate found = InnerStage(false);
  EXPECT_EQ(found.finding.cause, "slow-host-code");
  EXPECT_EQ(found.finding.scope.ranks, (std::vector<RankId>{2}));
  EXPECT_FALSE(found.at_most_info);
  EXPECT_DOUBLE_EQ(found.longer, 1.5);
}

// Four stages of one rank each without devices; a step is five calls each of six operators of 4 ms, of which stage 2
// makes `calls`, of `call` each.
AnalysisOutput OfOperators(int calls, Nanos call) {
  MadeMesh mesh({.ranks = 4, .device = false});
  const int pp = mesh.Group("mesh_pp", {0, 1, 2, 3});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      for (int f = 0; f < 6; ++f) {
        const int n = r == 2 ? calls : 5;
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), n * (r == 2 ? call : Ms(4)), n);
      }
    }
    mesh.Meet(pp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunOwnTimeAnalysis);
}

TEST(OwnTime, AStageThatMakesMoreCallsOfAllOperatorsIsNoSlowHost) {
  // 6 * 7 * 4 = 168 ms against 120, 1.4 times in each of them.
  const AnalysisOutput more = OfOperators(7, Ms(4));
  ASSERT_EQ(more.candidates.size(), 1U);
  EXPECT_EQ(more.candidates[0].finding.cause, "stage-imbalance");
  EXPECT_TRUE(more.candidates[0].at_most_info);
  EXPECT_NE(more.candidates[0].finding.sentence.find("1.40x the time they take on other stages"), std::string::npos)
      << more.candidates[0].finding.sentence;
  // The same 168 ms of 5 calls of 5.6 ms.
  const AnalysisOutput slow = OfOperators(5, Us(5600));
  ASSERT_EQ(slow.candidates.size(), 1U);
  EXPECT_EQ(slow.candidates[0].finding.cause, "slow-host");
  EXPECT_FALSE(slow.candidates[0].at_most_info);
  EXPECT_DOUBLE_EQ(slow.candidates[0].longer, 1.4);
}

}  // namespace
}  // namespace headway::diagnose
