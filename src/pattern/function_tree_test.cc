// SPDX-License-Identifier: Apache-2.0
#include "pattern/function_tree.h"

#include <gtest/gtest.h>

namespace headway::pattern {
namespace {

constexpr Nanos kMs = kMillisecond;

TEST(StripAddresses, OnlyHexDigitsAfter0x) {
  EXPECT_EQ(StripAddresses("<built-in method apply of X object at 0x559b84e814d0>"),
            "<built-in method apply of X object at 0x>");
  EXPECT_EQ(StripAddresses("aten::mm"), "aten::mm");
  EXPECT_EQ(StripAddresses("0x"), "0x");
  EXPECT_EQ(StripAddresses(""), "");
}

TEST(FunctionTree, CutFunctionsAreChargedToTheirCaller) {
  StringPool names;
  FunctionTree tree(names);
  const auto outer = tree.ChildNamed(FunctionTree::kRoot, "outer", WorkClass::kHost);
  const auto big = tree.ChildNamed(outer, "big", WorkClass::kHost);
  const auto tiny = tree.ChildNamed(outer, "tiny", WorkClass::kHost);
  tree.AddOwn(outer, 10 * kMs);
  tree.AddOwn(big, 80 * kMs);
  tree.AddOwn(tiny, 1 * kMs);
  tree.EndStep(0);
  RankPattern p;
  tree.Export(100 * kMs, 1000, 0.05, &p);  // 5 % of 100 ms: tiny goes
  ASSERT_EQ(p.function_table->size(), 2U);
  EXPECT_EQ((*p.function_table)[0].name, "outer");
  EXPECT_EQ((*p.function_table)[1].name, "big");
  EXPECT_EQ((*p.function_table)[1].parent, 0);
  ASSERT_EQ(p.function_steps.size(), 2U);
  EXPECT_EQ(p.function_steps[0].own, 11 * kMs);
  EXPECT_EQ(p.function_steps[1].own, 80 * kMs);
}

TEST(FunctionTree, TableOrderDoesNotDependOnFirstCall) {
  StringPool names;
  const auto table = [&names](bool b_first) {
    FunctionTree tree(names);
    for (const char* name : b_first ? std::vector<const char*>{"b", "a"} : std::vector<const char*>{"a", "b"}) {
      tree.AddOwn(tree.ChildNamed(FunctionTree::kRoot, name, WorkClass::kHost), kMs);
    }
    tree.EndStep(0);
    RankPattern p;
    tree.Export(2 * kMs, 1000, 0, &p);
    return *p.function_table;
  };
  EXPECT_EQ(table(true), table(false));
}

TEST(FunctionTree, UtilisationIsWeightedByDuration) {
  // 1 ms at 0.2 and 3 ms at 0.6: mean 0.5, deviation sqrt((1 * 0.09 + 3 * 0.01) / 4) = sqrt(0.03).
  StringPool names;
  FunctionTree tree(names);
  const auto kernel = tree.ChildNamed(FunctionTree::kRoot, "kernel", WorkClass::kCompute);
  tree.AddCall(kernel, 1 * kMs, 1 * kMs, 0.2, "occupancy");
  tree.AddCall(kernel, 3 * kMs, 3 * kMs, 0.6, "occupancy");
  tree.EndStep(0);
  RankPattern p;
  tree.Export(10 * kMs, 1000, 0, &p);
  EXPECT_NEAR(p.functions.at(0).mu, 0.5, 1e-12);
  EXPECT_NEAR(p.functions.at(0).sigma, 0.17320508, 1e-5);
  EXPECT_EQ((*p.function_table)[0].resource, "occupancy");
}

TEST(FunctionTree, WhatIsInNoTotalsIsKeptForItsLength) {
  // 30 ms of 100 behind the totals' end: a row of its step, kept, but no call and no time in all.
  StringPool names;
  FunctionTree tree(names);
  const auto f = tree.ChildNamed(FunctionTree::kRoot, "f", WorkClass::kHost);
  const auto save = tree.ChildNamed(FunctionTree::kRoot, "save", WorkClass::kHost);
  const auto hidden = tree.ChildNamed(FunctionTree::kRoot, "hidden", WorkClass::kHost);
  tree.AddOwn(f, 70 * kMs);
  tree.AddOwn(hidden, kMs / 10);
  tree.AddWeight(hidden, 20 * kMs);
  tree.EndStep(0);
  tree.EndTotals();
  tree.AddOwn(save, 30 * kMs);
  tree.AddCall(save, 30 * kMs, 0, -1, "");
  tree.EndStep(1);
  RankPattern p;
  tree.Export(100 * kMs, 1000, 0.05, &p);
  ASSERT_EQ(p.function_table->size(), 3U);
  EXPECT_EQ((*p.function_table)[1].name, "hidden");
  EXPECT_EQ((*p.function_table)[2].name, "save");
  EXPECT_EQ(p.functions[2].calls, 0);
  EXPECT_EQ(p.functions[2].total, 0);
  EXPECT_EQ(p.functions[2].uncovered, 0);
  ASSERT_EQ(p.function_steps.size(), 3U);
  EXPECT_EQ(p.function_steps[2].own, 30 * kMs);
  EXPECT_EQ(p.function_steps[2].calls, 1);
}

TEST(FunctionTree, TimeOutsideTheWindowIsThrownAway) {
  StringPool names;
  FunctionTree tree(names);
  const auto f = tree.ChildNamed(FunctionTree::kRoot, "f", WorkClass::kHost);
  tree.AddOwn(f, 50 * kMs);
  tree.EndStep(-1);
  tree.AddOwn(f, 1 * kMs);
  tree.EndStep(0);
  RankPattern p;
  tree.Export(10 * kMs, 1000, 0, &p);
  ASSERT_EQ(p.function_steps.size(), 1U);
  EXPECT_EQ(p.function_steps[0].own, 1 * kMs);
}

}  // namespace
}  // namespace headway::pattern
