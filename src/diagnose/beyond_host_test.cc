// SPDX-License-Identifier: Apache-2.0
#include "diagnose/beyond_host.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Two hosts of four ranks without devices, eight steps of four operators of 25 ms; each takes a fifth longer on the
// second host, and on rank 5 `percent` longer than usual; the first operator `of_first` percent.
Diagnosis Of(int percent, int of_first = -1) {
  MadeMesh mesh({.ranks = 8, .per_host = 4, .device = false});
  const int world = mesh.Group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int s = 0; s < 8; ++s) {
    mesh.Step();
    for (int r = 0; r < 8; ++r) {
      for (int k = 0; k < 4; ++k) {
        const int more = k == 0 && of_first >= 0 ? of_first : percent;
        const int of_usual = r == 5 ? 100 + more : r > 3 ? 120 : 100;
        mesh.Work(r, pattern::WorkClass::kCompute, "aten::op" + std::to_string(k), Us(250) * of_usual, 10);
      }
    }
    mesh.Meet(world, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Diagnose(mesh.Make());
}

TEST(BeyondHost, ARankThatIsFarSlowerThanItsHostHasAFindingOfItsOwn) {
  // 20 ms a step are the host's, of the 80 of rank 5 60 its own. Without the host's 20 ms of all it still sets the
  // pace, at 160: its own 60 bring 60 alone (120 is left), and 60 when the host is repaired; the host 20 after it and
  // 20 before, as rank 5 is on it.
  const Diagnosis d = Of(80);
  ASSERT_EQ(d.findings.size(), 2U);
  EXPECT_EQ(d.findings[0].scope.ranks, std::vector<RankId>{5});
  EXPECT_NE(d.findings[0].sentence.find("(1.80x over 4 functions). Of that 60 ms a step are beyond what all ranks"),
            std::string::npos)
      << d.findings[0].sentence;
  EXPECT_EQ(d.findings[1].scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
  EXPECT_EQ(d.findings[1].cause, "slow-host");
  EXPECT_NE(d.findings[1].sentence.find("(1.20x over 4 functions)"), std::string::npos) << d.findings[1].sentence;
  EXPECT_NEAR(static_cast<double>(d.findings[0].recoverable_per_step), 60e6, 1e5);
  EXPECT_NEAR(static_cast<double>(d.findings[1].recoverable_per_step), 20e6, 1e5);
}

TEST(BeyondHost, OneFunctionThatHoldsItIsNamed) {
  // op0 takes 37 ms longer than elsewhere and the other three 10 each, of 25: all do. The ranks of its host take 5
  // longer in each: beside them op0 holds 32 of 47.
  const Diagnosis d = Of(40, 148);
  ASSERT_EQ(d.findings.size(), 2U);
  EXPECT_EQ(d.findings[0].scope.ranks, std::vector<RankId>{5});
  EXPECT_EQ(d.findings[0].cause, "slow-host-code");
  EXPECT_EQ(d.findings[0].scope.function, "aten::op0");
  EXPECT_NE(d.findings[0].sentence.find(" a step beyond what all ranks of its host take longer."), std::string::npos)
      << d.findings[0].sentence;
  EXPECT_EQ(d.findings[1].scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
  EXPECT_EQ(d.findings[1].cause, "slow-host");
}

TEST(BeyondHost, LessThanTwiceIsTheHostsDoing) {
  const Diagnosis d = Of(38);
  ASSERT_EQ(d.findings.size(), 1U);
  EXPECT_EQ(d.findings[0].scope.ranks, (std::vector<RankId>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace headway::diagnose
