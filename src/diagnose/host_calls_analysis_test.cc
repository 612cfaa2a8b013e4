// SPDX-License-Identifier: Apache-2.0
// Slow hosts that have no peers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "diagnose/analyses.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// Two stages on two hosts of two ranks. A step is 100 ms of kernels, a batch, and calls of `names` that the device
// waits for: 10 of each, `call(rank, name)` long; none where that is 0.
Look StagesOnHosts(const std::vector<std::string>& names, const std::function<Nanos(int, const std::string&)>& call,
                   bool device = true, const std::string& kernel = "gemm") {
  MadeMesh mesh({.ranks = 4, .per_host = 2, .device = device});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Work(r, WorkClass::kCompute, kernel, r < 2 ? Ms(100) : Ms(110));  // other layers
      for (const std::string& name : names) {
        if (call(r, name) == 0) continue;
        const WorkClass of = name == "fetch" ? WorkClass::kInput : WorkClass::kHost;
        mesh.Work(r, of, name, 10 * call(r, name), 10);
      }
    }
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

const std::vector<std::string> kFour = {"aten::to", "aten::copy_", "aten::mm", "fetch"};

TEST(HostCalls, AHostWithoutPeersWhoseEveryCallTakesLonger) {
  // Calls of 100 us, three times as long on the first host: of 10 * 4 * 300 us = 12 ms a step two thirds, 8 ms.
  Look look = StagesOnHosts(kFour, [](int r, const std::string&) { return r < 2 ? Us(300) : Us(100); });
  ASSERT_EQ(look.job.classes.size(), 2U);
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-host");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  for (const Nanos x : found[0].excess) EXPECT_NEAR(static_cast<double>(x), 8e6, 1e4);
}

TEST(HostCalls, WhatTakesFarLongerThanTheHostIsSlowIsNotItsDoing) {
  // Ten batches of 2 ms a step, twenty times what they take elsewhere, beside three functions of 300 us for 100 us: of
  // their 9 ms two thirds. Of batches of 500 us all 14 ms count.
  const auto excess = [](Nanos fetch, const std::string& kernel = "gemm") {
    const auto call = [fetch](int r, const std::string& name) {
      return r >= 2 ? Us(100) : name == "fetch" ? fetch : Us(300);
    };
    Look look = StagesOnHosts(kFour, call, true, kernel);
    const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
    return found.size() == 1 ? found[0].excess[0] : -1;
  };
  EXPECT_NEAR(static_cast<double>(excess(Us(2000))), 6e6, 1e4);
  EXPECT_NEAR(static_cast<double>(excess(Us(2000), "fetch")), 6e6,
              1e4);  // a kernel of that name is no work of the host
  EXPECT_NEAR(static_cast<double>(excess(Us(500))), 14e6 * 2 / 3, 1e4);
}

TEST(HostCalls, WhatOneHostAloneCallsSaysNothing) {
  std::vector<std::string> names = kFour;
  for (const char* own : {"aten::embedding", "aten::index", "aten::gather", "aten::fill_", "aten::arange"}) {
    names.emplace_back(own);
  }
  Look look = StagesOnHosts(names, [](int r, const std::string& name) {
    const bool everywhere = std::find(kFour.begin(), kFour.end(), name) != kFour.end();
    return r < 2 ? Us(300) : everywhere ? Us(100) : 0;
  });
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
}

TEST(HostCalls, OneSlowFunctionIsNoSlowHost) {
  Look look = StagesOnHosts(
      kFour, [](int r, const std::string& name) { return r < 2 && name == "fetch" ? Us(3000) : Us(100); });
  EXPECT_TRUE(look.Run(RunHostCallsAnalysis).candidates.empty());
}

TEST(HostCalls, OneSlowRankIsNoSlowHost) {
  Look look = StagesOnHosts(kFour, [](int r, const std::string&) { return r == 0 ? Us(300) : Us(100); });
  EXPECT_TRUE(look.Run(RunHostCallsAnalysis).candidates.empty());
}

TEST(HostCalls, StagesMayDifferByHalf) {
  Look look = StagesOnHosts(kFour, [](int r, const std::string&) { return r < 2 ? Us(145) : Us(100); });
  EXPECT_TRUE(look.Run(RunHostCallsAnalysis).candidates.empty());
}

TEST(HostCalls, OfFewFunctionsMoreIsAsked) {
  // What the device hides is summed up under one name; with the batch that makes two.
  const auto found = [](Nanos slow) {
    Look look =
        StagesOnHosts({"(other)", "fetch"}, [slow](int r, const std::string&) { return r < 2 ? slow : Us(100); });
    return look.Run(RunHostCallsAnalysis).candidates.size();
  };
  EXPECT_EQ(found(Us(180)), 0U);
  EXPECT_EQ(found(Us(250)), 1U);
}

// Two stages on two hosts of two ranks without devices. The second stage has `more` calls of each operator besides; on
// the first host each takes `ratio` times as long. A call is 1 ms.
std::vector<pattern::RankPattern> Operators(double ratio, int more, int functions = 8) {
  MadeMesh mesh({.ranks = 4, .per_host = 2, .device = false});
  const std::vector<int> pp = mesh.Groups("mesh_pp", {{0, 2}, {1, 3}});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      const int calls = 10 + (r < 2 ? 0 : more);
      const auto call = static_cast<Nanos>((r < 2 ? ratio : 1) * 1e6);
      for (int f = 0; f < functions; ++f) {
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), calls * call, calls);
      }
    }
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return mesh.Make();
}

TEST(HostCalls, WithoutDevicesOperatorsAreTheWork) {
  // 80 calls of 1.25 ms a step, of which a fifth goes: 20 ms.
  Look look(Operators(1.25, 0));
  const std::vector<Candidate> found = look.Run(RunHostCallsAnalysis).candidates;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{0, 1}));
  EXPECT_NEAR(static_cast<double>(found[0].excess[0]), 20e6, 1e4);
  Look few(Operators(1.25, 0, 7));
  EXPECT_TRUE(few.Run(RunHostCallsAnalysis).candidates.empty());
}

TEST(HostCalls, MoreCallsAreNoSlowHost) {
  Look look(Operators(1, 5));
  EXPECT_TRUE(look.Run(RunHostCallsAnalysis).candidates.empty());
}

// Two stages on two hosts of `ranks` each without devices, of ten operators of 1 ms: on the first host each takes
// `ratio` times as long, on rank `odd` of the second `of_odd` times.
size_t HostsOf(int ranks, double ratio, double of_odd = 1) {
  MadeMesh mesh({.ranks = 2 * ranks, .per_host = ranks, .device = false});
  const int all = mesh.Group("default_pg", [&] {
    MadeMesh::Members members;
    for (int r = 0; r < 2 * ranks; ++r) members.push_back(r);
    return members;
  }());
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 2 * ranks; ++r) {
      const double slower = r < ranks ? ratio : r == 2 * ranks - 1 ? of_odd : 1;
      for (int f = 0; f < 10; ++f) {
        mesh.Work(r, WorkClass::kCompute, "aten::op" + std::to_string(f), static_cast<Nanos>(slower * 1e6));
      }
    }
    mesh.Meet(all, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  return look.Run(RunHostCallsAnalysis).candidates.size();
}

TEST(HostCalls, WhereAllOfManyRanksAgreeLessIsEnough) {
  EXPECT_EQ(HostsOf(4, 1.1), 1U);
  EXPECT_EQ(HostsOf(4, 1.07), 0U);
  EXPECT_EQ(HostsOf(3, 1.1), 0U);        // three ranks may be a chance
  EXPECT_EQ(HostsOf(4, 1.1, 1.04), 0U);  // hosts differ as it is
  EXPECT_EQ(HostsOf(4, 1.2, 1.04), 1U);
}

// Eight stages of one rank each, whose files do not name their hosts. A step is 100 ms of kernels and ten calls of each
// of `names`, `call(rank, name)` long; none where that is 0, but then of "aten::own".
std::vector<Candidate> UnnamedEach(const std::function<Nanos(int, const std::string&)>& call,
                                   const std::vector<std::string>& names = kFour) {
  MadeMesh mesh({.ranks = 8});
  const int pp = mesh.Group("mesh_pp", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      mesh.Compute(r, Ms(100));
      for (const std::string& name : names) {
        const WorkClass of = name == "fetch" ? WorkClass::kInput : WorkClass::kHost;
        mesh.Work(r, of, call(r, name) > 0 ? name : "aten::own", 10 * std::max(Us(100), call(r, name)), 10);
      }
    }
    mesh.Meet(pp, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  std::vector<pattern::RankPattern> ranks = mesh.Make();
  for (pattern::RankPattern& rank : ranks) {
    rank.comms.host_known = false;
    rank.meta.host.clear();
  }
  Look look(std::move(ranks));
  return look.Run(RunHostCallsAnalysis).candidates;
}

// Each is 100 us long, or 300 on the ranks that `is_slow` picks.
std::vector<Candidate> Unnamed(const std::function<bool(int)>& is_slow) {
  return UnnamedEach([&](int r, const std::string&) { return is_slow(r) ? Us(300) : Us(100); });
}

TEST(HostCalls, WhereNoFileNamesItsHostRanksInARowAreOne) {
  const std::vector<Candidate> found = Unnamed([](int r) { return r >= 2 && r < 5; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.cause, "slow-host");
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{2, 3, 4}));
  EXPECT_TRUE(found[0].finding.scope.hosts.empty());
  EXPECT_NE(found[0].finding.sentence.find("the files name no hosts"), std::string::npos);
  for (const Nanos x : found[0].excess) EXPECT_NEAR(static_cast<double>(x), 8e6, 1e4);  // two thirds of 12 ms
}

TEST(HostCalls, SlowRanksThatAreNoRowShareNoHost) {
  EXPECT_TRUE(Unnamed([](int r) { return r == 2 || r == 4 || r == 5; }).empty());
  EXPECT_TRUE(Unnamed([](int r) { return r == 2; }).empty());  // nor is one rank a host
}

TEST(HostCalls, HalfOfTheRanksMayBeOnASlowHost) {
  // Of five slow ones it is no longer known which are usual.
  EXPECT_EQ(Unnamed([](int r) { return r >= 4; }).size(), 1U);
  EXPECT_TRUE(Unnamed([](int r) { return r >= 3; }).empty());
}

TEST(HostCalls, AFunctionThatAUsualRankLacksDoesNotMakeTheSlowOnesUsual) {
  // Rank 0 does not call two of the four. Of the seven that do four are slow: their middle is slow, the one a quarter
  // up, 6 / 4 = 1 counted from 0, is not.
  const std::vector<Candidate> found = UnnamedEach([](int r, const std::string& name) {
    return r == 0 && (name == "aten::to" || name == "aten::copy_") ? 0 : r >= 4 ? Us(300) : Us(100);
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finding.scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
}

TEST(HostCalls, ARankThatSharesNoFunctionMayBeOnTheSlowHostToo) {
  // Rank 5, next to the slow ones, calls none of what the others do.
  const auto found = [](int other) {
    return UnnamedEach([other](int r, const std::string&) {
             return r == other ? Nanos{0} : r >= 2 && r < 5 ? Us(300) : Us(100);
           })
        .size();
  };
  EXPECT_EQ(found(-1), 1U);
  EXPECT_EQ(found(5), 0U);
}

TEST(HostCalls, WhereOnlyTheSumIsInCommonFourTimesOfItTell) {
  // Of ten calls of 400 us a step three quarters go. Which calls are in the sum differs from stage to stage: three
  // times may be that. Of one function that has a name not even ten times say anything.
  const auto found = [](const char* name, Nanos slow) {
    return UnnamedEach([slow](int r, const std::string&) { return r >= 2 && r < 5 ? slow : Us(100); }, {name});
  };
  const std::vector<Candidate> four = found("(other)", Us(400));
  ASSERT_EQ(four.size(), 1U);
  EXPECT_EQ(four[0].finding.cause, "slow-host");
  EXPECT_EQ(four[0].finding.scope.ranks, (std::vector<RankId>{2, 3, 4}));
  EXPECT_EQ(four[0].excess, std::vector<Nanos>(6, Ms(3)));
  EXPECT_TRUE(found("(other)", Us(300)).empty());
  EXPECT_TRUE(found("(other)", Us(390)).empty());
  EXPECT_TRUE(found("fetch", Ms(1)).empty());
}

TEST(StageImbalance, OfAStageWhoseEveryCallTakesLongerIsARemark) {
  // 60 % longer either way: with calls 1.6 times as long the stage has no more to do than the other, with 16 calls of
  // each for 10 it has.
  Look slow(Operators(1.6, 0));
  const std::vector<Candidate> of_slow = slow.Run(RunStageAnalysis).candidates;
  ASSERT_EQ(of_slow.size(), 1U);
  EXPECT_TRUE(of_slow[0].at_most_info);
  EXPECT_NE(of_slow[0].finding.sentence.find("Each call takes 1.60x the time, too"), std::string::npos)
      << of_slow[0].finding.sentence;
  Look loaded(Operators(1, 6));
  const std::vector<Candidate> of_loaded = loaded.Run(RunStageAnalysis).candidates;
  ASSERT_EQ(of_loaded.size(), 1U);
  EXPECT_FALSE(of_loaded[0].at_most_info);
}

}  // namespace
}  // namespace headway::diagnose
