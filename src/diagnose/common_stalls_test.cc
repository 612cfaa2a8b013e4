// SPDX-License-Identifier: Apache-2.0
// Holes that all ranks have in a step, told from those that a busy machine has of itself.
#include "diagnose/common_stalls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

constexpr size_t kSteps = 13, kStall = 6;

// Hosts without devices in one group, thirteen steps of 100 ms of operators. In twelve of them a rank's hole is 10, 20
// or 30 ms long in turn, so that each length is as frequent and 20 is its usual one (of the first `paused` ranks 30 ms
// more); in step 6 it is `stall(rank)`. The middle distance to 20 is 10 ms: four times 1.4826 * 10 are 59, which holes
// have to be longer by. Of the first `asked` ranks, or all.
std::vector<Nanos> HolesOf(int ranks, const std::function<Nanos(int rank)>& stall, size_t asked = 0, int paused = 0) {
  MadeMesh mesh({.ranks = ranks, .device = false});
  MadeMesh::Members all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const int world = mesh.Group("mesh_dp", all);
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    for (const int r : all) {
      const size_t turn = s < kStall ? s : s - 1;
      mesh.Compute(r, Ms(100));
      const auto usual = static_cast<int64_t>(10 + (turn + static_cast<size_t>(r)) % 3 * 10) + (r < paused ? 30 : 0);
      mesh.Hole(r, s == kStall ? stall(r) : Ms(usual));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  std::vector<size_t> members(asked == 0 ? all.size() : asked);
  std::iota(members.begin(), members.end(), size_t{0});
  return FindCommonStalls(look.In(), members, StepsOfSameHole(look.job)).holes;
}

// `hole` in step 6, nothing else.
std::vector<Nanos> Only(Nanos hole) {
  std::vector<Nanos> out(kSteps, 0);
  out[kStall] = hole;
  return out;
}

TEST(CommonStalls, HolesOfOneLengthOnAllRanksCountHoweverHolesVary) {
  // 50 ms are 30 beyond the usual 20: less than 59.
  EXPECT_EQ(HolesOf(8, [](int) { return Ms(50); }), Only(Ms(30)));
}

TEST(CommonStalls, HolesOfDifferentLengthHaveToStandOut) {
  // 47 to 54 ms: but for one at either end, 6 of 48 apart. 107 to 114 are 87 to 94 beyond 20, the middle one of
  // them 91.
  EXPECT_EQ(HolesOf(8, [](int r) { return Ms(47 + r); }), Only(0));
  EXPECT_EQ(HolesOf(8, [](int r) { return Ms(107 + r); }), Only(Ms(91)));
}

TEST(CommonStalls, OneLengthIsToAThirtyThird) {
  // 50 / 33 = 1.515.
  const auto holes = [](Nanos more) { return HolesOf(8, [more](int r) { return Ms(50) + (r < 4 ? 0 : more); }); };
  EXPECT_EQ(holes(Us(1500)), Only(Us(31500)));
  EXPECT_EQ(holes(Us(1600)), Only(0));
}

TEST(CommonStalls, AnEighthAtEitherEndMayDiffer) {
  // Of eight ranks one with half the hole, or twice it; not two.
  const auto holes = [](int differ, Nanos hole) {
    return HolesOf(8, [=](int r) { return r < differ ? hole : Ms(50); });
  };
  EXPECT_EQ(holes(1, Ms(25)), Only(Ms(30)));
  EXPECT_EQ(holes(1, Ms(100)), Only(Ms(30)));
  EXPECT_EQ(holes(2, Ms(25)), Only(0));
  EXPECT_EQ(holes(2, Ms(100)), Only(0));
}

TEST(CommonStalls, HalfOfTheRanksHaveToHaveLongerHolesThanUsual) {
  // Three of eight ranks usually have holes of 50 ms: the middle one is 30 beyond its usual. Of five it is none.
  EXPECT_EQ(HolesOf(8, [](int) { return Ms(50); }, 0, 3), Only(Ms(30)));
  EXPECT_EQ(HolesOf(8, [](int) { return Ms(50); }, 0, 5), Only(0));
}

TEST(CommonStalls, RanksOfOtherProgramsHaveToHaveTheSameHole) {
  // Asked of ranks 0 to 3.
  EXPECT_EQ(HolesOf(8, [](int) { return Ms(50); }, 4), Only(Ms(30)));
  EXPECT_EQ(HolesOf(8, [](int r) { return r < 4 ? Ms(50) : Ms(35); }, 4), Only(0));
}

TEST(CommonStalls, ThreeRanksMayHaveOneLengthByChance) {
  EXPECT_EQ(HolesOf(4, [](int) { return Ms(50); }), Only(Ms(30)));
  EXPECT_EQ(HolesOf(3, [](int) { return Ms(50); }), Only(0));
}

// Four devices; a step is kernels of 100 ms, the longest of them 10, 500 us behind the host, and in `in` `hole(rank)`.
std::vector<Nanos> HolesOfDevices(const std::vector<size_t>& in, const std::function<Nanos(int rank)>& hole) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (size_t s = 0; s < kSteps; ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      mesh.Compute(r, Ms(100));
      const bool struck = std::find(in.begin(), in.end(), s) != in.end();
      mesh.Work(r, pattern::WorkClass::kIdle, "(nothing recorded)", Us(500) + (struck ? hole(r) : 0));
      mesh.StepOf(r).longest_stretch = Ms(10);
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const std::vector<size_t> all = {0, 1, 2, 3};
  return FindCommonStalls(look.In(), all, StepsOfSameHole(look.job)).holes;
}

TEST(CommonStalls, OfDevicesAHoleMayBeShorterThanAKernel) {
  EXPECT_EQ(HolesOfDevices({kStall}, [](int) { return Ms(2); }), Only(Ms(2)));
  EXPECT_EQ(HolesOfDevices({kStall}, [](int) { return Us(400); }), Only(0));            // under half a per cent
  EXPECT_EQ(HolesOfDevices({kStall}, [](int r) { return Ms(2 + r); }), Only(0));        // not alike
  EXPECT_EQ(HolesOfDevices({kStall, kStall + 2}, [](int) { return Ms(2); }), Only(0));  // may be launches
}

// Four ranks with devices, thirteen steps of 100 ms of kernels. Each copies a batch for 1 ms first; the first `ranks`
// of them for 1 ms and `more` in steps 3, 6 and 9.
CommonStalls CopiesOf(int ranks, Nanos more, FunctionView::Node* copy = nullptr) {
  MadeMesh mesh({.ranks = 4});
  const int world = mesh.Group("mesh_dp", {0, 1, 2, 3});
  for (int s = 0; s < static_cast<int>(kSteps); ++s) {
    mesh.Step();
    for (int r = 0; r < 4; ++r) {
      const bool is_slow = r < ranks && (s == 3 || s == 6 || s == 9);
      mesh.Work(r, pattern::WorkClass::kMemory, "Memcpy HtoD (Pinned -> Device)", Ms(1) + (is_slow ? more : 0));
      mesh.Work(r, pattern::WorkClass::kMemory, "Memcpy DtoD (Device -> Device)", Ms(8));  // as ever
      mesh.Compute(r, Ms(100));
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  Look look(mesh.Make());
  const std::vector<size_t> members = {0, 1, 2, 3};
  CommonStalls out = FindCommonStalls(look.In(), members, StepsOfSameHole(look.job));
  if (copy != nullptr && out.functions[3] >= 0) {
    EXPECT_EQ(look.view.name(out.functions[3]), "Memcpy HtoD (Pinned -> Device)");
    *copy = out.functions[3];
  }
  return out;
}

TEST(CommonStalls, CopiesThatTakeLongerInSomeSteps) {
  // Half a per cent of a step of 110 ms is 0.55 ms.
  std::vector<Nanos> slow(kSteps, 0);
  slow[3] = slow[6] = slow[9] = Ms(2);
  FunctionView::Node copy = -1;
  EXPECT_EQ(CopiesOf(4, Ms(2), &copy).named, slow);
  EXPECT_GE(copy, 0);
  EXPECT_EQ(CopiesOf(3, Ms(2)).named, slow);                           // three quarters of the ranks
  EXPECT_EQ(CopiesOf(2, Ms(2)).named, std::vector<Nanos>(kSteps, 0));  // half of them
  EXPECT_EQ(CopiesOf(4, Us(500)).named, std::vector<Nanos>(kSteps, 0));
}

TEST(CommonStalls, OfARankWithoutPeersAHoleThatAllRanksHave) {
  // Four stages of one rank, 100 ms of operators. In step 3 so many of them stand still for 20 ms.
  const auto holes = [](int struck) {
    MadeMesh mesh({.ranks = 4, .device = false});
    const std::vector<int> next = mesh.Groups("mesh_pp", {{0, 1}, {1, 2}, {2, 3}});
    for (int s = 0; s < 8; ++s) {
      mesh.Step();
      for (int r = 0; r < 4; ++r) {
        mesh.Compute(r, Ms(100));
        mesh.Hole(r, s == 3 && r < struck ? Ms(20) : Ms(1));
      }
      for (int r = 0; r < 3; ++r) {
        for (int k = 0; k <= r; ++k) mesh.Send(next[static_cast<size_t>(r)], r, 1000, Ms(1));
      }
    }
    Look look(mesh.Make());
    EXPECT_EQ(look.job.classes.size(), 4U);
    const std::vector<size_t> alone{0};
    return FindCommonStalls(look.In(), alone, StepsOfSameHole(look.job)).holes;
  };
  EXPECT_EQ(holes(4), (std::vector<Nanos>{0, 0, 0, Ms(19), 0, 0, 0, 0}));
  EXPECT_EQ(holes(1), std::vector<Nanos>(8, 0));
}

}  // namespace
}  // namespace headway::diagnose
