// SPDX-License-Identifier: Apache-2.0
// Ranks that compute for longer and are held up by their hosts for longer.
#include "diagnose/class_parts.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

constexpr size_t kSteps = 12;

// Four ranks in one group, twelve steps of 100 ms of kernels (without devices: operators), 2 of copies and 8 in a
// function of their hosts; in each step rank 2 computes, copies and is in that function for longer, and waits for its
// input.
struct Longer {
  Nanos compute = 0, host = 0, input = 0;
  int syncs = 0;  // its host waits for its device so often
  Nanos copies = 0;
  Nanos varies = 0;  // all ranks compute for 0, 1, 2 or 3 times that longer, each in its turn
};

// What is left of rank 2, and what is split from it.
struct Split {
  std::vector<Suspect> left, parts;
};

Split SplitOf(bool device, const std::function<Longer(size_t step)>& longer) {
  MadeMesh mesh({.ranks = 4, .device = device});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    mesh.Compute(2, longer(s).compute);
    for (int r = 0; r < 4; ++r)
      mesh.Compute(r, static_cast<Nanos>((s + static_cast<size_t>(r)) % 4) * longer(s).varies);
    for (int r = 0; r < 4; ++r) mesh.Work(r, WorkClass::kMemory, "Memcpy HtoD", Ms(2));
    mesh.Work(2, WorkClass::kMemory, "Memcpy HtoD", longer(s).copies);
    for (int r = 0; r < 4; ++r) mesh.Work(r, WorkClass::kHost, "train.py(30): log_metrics", Ms(8));
    mesh.Work(2, WorkClass::kHost, "train.py(30): log_metrics", longer(s).host);
    mesh.Work(2, WorkClass::kInput, "train.py(9): fetch", longer(s).input);
    mesh.StepOf(2).syncs = longer(s).syncs;
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  Split out;
  out.left = FindSuspects(look.In());
  for (std::vector<Suspect>& list : SplitByClass(look.In(), &out.left)) {
    for (Suspect& part : list) out.parts.push_back(std::move(part));
  }
  return out;
}

bool IsAbout(const Suspect& suspect, WorkClass c) { return suspect.classes[static_cast<size_t>(c)]; }

TEST(ClassParts, WithoutDevicesWhatStrikesOtherStepsIsAnotherCause) {
  // Its host takes 10 ms more in all steps, 120 in all; its operators 20 more in every third, 80 in all.
  const auto [left, parts] = SplitOf(false, [](size_t s) { return Longer{s % 3 == 0 ? Ms(20) : 0, Ms(10)}; });
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].rank, 2U);
  EXPECT_EQ(left[0].cost, std::vector<Nanos>(kSteps, Ms(10)));
  EXPECT_TRUE(IsAbout(left[0], WorkClass::kHost));
  EXPECT_FALSE(IsAbout(left[0], WorkClass::kCompute));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].rank, 2U);
  for (size_t s = 0; s < kSteps; ++s) EXPECT_EQ(parts[0].cost[s], s % 3 == 0 ? Ms(20) : 0) << s;
  EXPECT_TRUE(IsAbout(parts[0], WorkClass::kCompute));
  EXPECT_FALSE(IsAbout(parts[0], WorkClass::kHost));
  EXPECT_TRUE(left[0].is_part && parts[0].is_part);
}

TEST(ClassParts, WithoutDevicesWhatStrikesTheSameStepsIsOneCause) {
  // A slow host makes both longer, in all steps as in some. On a device they are two.
  for (const size_t every : {1U, 3U}) {
    const auto longer = [every](size_t s) { return s % every == 0 ? Longer{Ms(20), Ms(10)} : Longer{}; };
    const auto [left, parts] = SplitOf(false, longer);
    EXPECT_TRUE(parts.empty()) << every;
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].total, static_cast<Nanos>(kSteps / every) * Ms(30));
    EXPECT_FALSE(left[0].is_part);
    EXPECT_EQ(SplitOf(true, longer).parts.size(), 1U) << every;
  }
}

TEST(ClassParts, OtherStepsAreUpToSixOfTenOfThose) {
  // Of twelve steps seven are 58 %, eight 67.
  const auto parts = [](size_t struck) {
    return SplitOf(false, [struck](size_t s) { return Longer{s < struck ? Ms(20) : 0, Ms(10)}; }).parts.size();
  };
  EXPECT_EQ(parts(7), 1U);
  EXPECT_EQ(parts(8), 0U);
}

TEST(ClassParts, WhatStrikesFewStepsNeedsATenthOnly) {
  // 15 ms in two steps beside 10 in all twelve: 30 of 150 ms, a fifth. 3 ms in all steps: 36 of 156, less than a
  // quarter. 6 ms in two steps: 12 of 132, less than a tenth.
  for (const bool device : {true, false}) {
    const auto parts = [device](size_t struck, Nanos compute) {
      return SplitOf(device, [=](size_t s) { return Longer{s < struck ? compute : 0, Ms(10)}; }).parts.size();
    };
    EXPECT_EQ(parts(2, Ms(15)), 1U) << device;
    EXPECT_EQ(parts(12, Ms(3)), 0U) << device;
    EXPECT_EQ(parts(2, Ms(6)), 0U) << device;
  }
}

TEST(ClassParts, WithoutDevicesSoSlowIsNoHost) {
  // 16 ms more make 24 of 8, three times the peers'; beside 20 ms of input, or of operators, a cause of its own. 15 may
  // be the host's, but that takes no longer for input that the others hardly wait for.
  for (const bool is_input : {true, false}) {
    const auto split = [is_input](Nanos host) {
      return SplitOf(false, [=](size_t) { return Longer{is_input ? 0 : Ms(20), host, is_input ? Ms(20) : 0}; });
    };
    const auto [left, parts] = split(Ms(16));
    ASSERT_EQ(left.size(), 1U);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(left[0].cost, std::vector<Nanos>(kSteps, Ms(20)));
    EXPECT_TRUE(IsAbout(left[0], is_input ? WorkClass::kInput : WorkClass::kCompute));
    EXPECT_FALSE(IsAbout(left[0], WorkClass::kHost));
    EXPECT_EQ(parts[0].cost, std::vector<Nanos>(kSteps, Ms(16)));
    EXPECT_TRUE(IsAbout(parts[0], WorkClass::kHost));
    EXPECT_EQ(split(Ms(15)).parts.size(), is_input ? 1U : 0U);
  }
}

TEST(ClassParts, InputThatIsAsSlowInOtherStepsIsTheSameMatter) {
  // Operators vary: 40 ms more in every third step, which hide there that batches take 20 ms more, and as much less in
  // the others, which hide it altogether.
  const auto operators = [](size_t s) { return s % 3 == 0 ? Ms(40) : Nanos{0}; };
  MadeMesh mesh({.ranks = 4, .device = false});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(100));
    for (int r = 0; r < 4; ++r) mesh.Compute(r, r == 2 ? operators(s) : s % 3 == 0 ? 0 : Ms(20));
    mesh.Work(2, WorkClass::kInput, "train.py(9): fetch", Ms(20));
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  std::vector<Suspect> left = FindSuspects(look.In());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].struck, kSteps / 3);
  const auto parts = SplitByClass(look.In(), &left);
  ASSERT_EQ(parts[0].size(), 1U);
  EXPECT_TRUE(IsAbout(parts[0][0], WorkClass::kInput));
  EXPECT_EQ(parts[0][0].cost, std::vector<Nanos>(kSteps, Ms(20)));
  EXPECT_EQ(left[0].struck, kSteps / 3);  // of operators
}

TEST(ClassParts, WithoutDevicesAHostMayBeHeldBackThatFar) {
  // A quota: operators take 3.5 times the peers' 100 ms, the host's function 6 times their 8: less than twice as many.
  EXPECT_EQ(SplitOf(false, [](size_t) { return Longer{Ms(250), Ms(40)}; }).parts.size(), 0U);
  // Operators 1.4 times, the function 4 times.
  EXPECT_EQ(SplitOf(false, [](size_t) { return Longer{Ms(40), Ms(24)}; }).parts.size(), 1U);
}

TEST(ClassParts, AHostThatWaitsForItsDeviceMoreOftenHasAReasonOfItsOwn) {
  // 4 of 24 ms are less than a quarter; waits of its host, three a step more than elsewhere, make them a part.
  const auto parts = [](int syncs, Nanos host = Ms(4)) {
    return SplitOf(true, [=](size_t) { return Longer{Ms(20), host, 0, syncs}; }).parts;
  };
  EXPECT_TRUE(parts(0).empty());
  EXPECT_TRUE(parts(2).empty());
  const std::vector<Suspect> found = parts(3);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cost, std::vector<Nanos>(kSteps, Ms(4)));
  EXPECT_FALSE(IsAbout(found[0], WorkClass::kCompute));
  EXPECT_TRUE(parts(3, Us(2800)).empty());  // under an eighth of 22.8
}

TEST(ClassParts, KernelsAreMadeLongerByNoCopiesAndNoHost) {
  // 2 ms beside 60 of copies, or of the host, are a thirtieth, but 1 % of a step of 173 ms; 1.6 are not.
  for (const bool copies : {true, false}) {
    const auto split = [copies](Nanos compute, Nanos varies = 0) {
      const Longer longer{
          .compute = compute, .host = copies ? 0 : Ms(60), .copies = copies ? Ms(60) : 0, .varies = varies};
      return SplitOf(true, [longer](size_t) { return longer; });
    };
    const auto [left, parts] = split(Ms(2));
    ASSERT_EQ(parts.size(), 1U) << copies;
    EXPECT_EQ(parts[0].cost, std::vector<Nanos>(kSteps, Ms(2)));
    EXPECT_TRUE(IsAbout(parts[0], WorkClass::kCompute));
    EXPECT_FALSE(IsAbout(parts[0], copies ? WorkClass::kMemory : WorkClass::kHost));
    EXPECT_EQ(left[0].cost, std::vector<Nanos>(kSteps, Ms(60)));
    EXPECT_TRUE(split(Us(1600)).parts.empty()) << copies;
    // Ranks that differ by 2 to 6 ms in a step as it is say nothing of one that takes 8 more.
    EXPECT_TRUE(split(Ms(8), Ms(2)).parts.empty()) << copies;
    EXPECT_EQ(split(Ms(15), Ms(2)).parts.size(), 1U) << copies;
  }
}

TEST(ClassParts, WhatKernelsVaryByIsNotInTheOtherParts) {
  // 8 ms of the host beside 60 of copies, where all ranks compute for 2 to 6 ms more or less.
  const auto [left, parts] =
      SplitOf(true, [](size_t) { return Longer{.host = Ms(8), .copies = Ms(60), .varies = Ms(2)}; });
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(IsAbout(parts[0], WorkClass::kHost));
  EXPECT_EQ(parts[0].cost, std::vector<Nanos>(kSteps, Ms(8)));
}

TEST(ClassParts, WhatShowsBesideKernelsOnlyMayBeTwoMatters) {
  // Kernels that differ by 30 to 90 ms hide that the rank takes 12 more by its host and 14 by its copies.
  const auto [left, parts] =
      SplitOf(true, [](size_t) { return Longer{.host = Ms(12), .copies = Ms(14), .varies = Ms(30)}; });
  ASSERT_EQ(left.size(), 1U);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(left[0].cost, std::vector<Nanos>(kSteps, Ms(14)));
  EXPECT_EQ(parts[0].cost, std::vector<Nanos>(kSteps, Ms(12)));
}

TEST(ClassParts, OfFewStepsAPartHasToBeHalfAPerCentOfAll) {
  // 6 ms in two of twelve steps of 168 ms, 3.6 %, beside copies; in one step they are 0.3 % of all.
  const auto parts = [](size_t struck) {
    return SplitOf(true, [struck](size_t s) { return Longer{.compute = s < struck ? Ms(6) : 0, .copies = Ms(60)}; })
        .parts.size();
  };
  EXPECT_EQ(parts(2), 1U);
  EXPECT_EQ(parts(1), 0U);
}

TEST(ClassParts, CopiesThatTakeFarLongerThanTheWorkAreAMatterOfTheirOwn) {
  // Beside 40 ms of kernels: 4 ms make 6 of 2, three times the peers', where kernels take 1.4 times theirs. 3.6 may be
  // more data that there is to compute with; so may 12 be where kernels take 4 times as long.
  const auto split = [](Nanos compute, Nanos copies) {
    return SplitOf(true, [=](size_t) { return Longer{.compute = compute, .copies = copies}; });
  };
  const auto [left, parts] = split(Ms(40), Ms(4));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].cost, std::vector<Nanos>(kSteps, Ms(4)));
  EXPECT_TRUE(IsAbout(parts[0], WorkClass::kMemory));
  EXPECT_FALSE(IsAbout(left[0], WorkClass::kMemory));
  EXPECT_TRUE(split(Ms(40), Us(3600)).parts.empty());
  EXPECT_TRUE(split(Ms(300), Ms(12)).parts.empty());
}

}  // namespace
}  // namespace headway::diagnose
