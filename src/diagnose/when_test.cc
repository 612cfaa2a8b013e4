// SPDX-License-Identifier: Apache-2.0
#include "diagnose/when.h"

#include <gtest/gtest.h>

#include "diagnose/coordinates.h"
#include "diagnose/explain.h"
#include "diagnose/function_view.h"

namespace headway::diagnose {
namespace {

using report::WhenKind;

TEST(When, Kinds) {
  const std::vector<int64_t> steps = {10, 11, 12, 13, 14, 15, 16, 17};
  struct Case {
    const char* name;
    std::vector<Nanos> cost;
    WhenKind kind;
    std::vector<int64_t> struck;
  };
  const Case cases[] = {
      {"all", {5, 5, 5, 5, 5, 5, 5, 5}, WhenKind::kPersistent, {10, 11, 12, 13, 14, 15, 16, 17}},
      {"six of eight", {5, 0, 5, 5, 5, 5, 0, 5}, WhenKind::kPersistent, {10, 12, 13, 14, 15, 17}},
      {"one step", {0, 0, 0, 9, 0, 0, 0, 0}, WhenKind::kOnce, {13}},
      {"one step holds 80 %", {1, 0, 0, 9, 0, 0, 1, 0}, WhenKind::kOnce, {13}},
      {"every third", {0, 5, 0, 0, 5, 0, 0, 5}, WhenKind::kIntermittent, {11, 14, 17}},
      {"from the fourth on", {0, 0, 0, 5, 5, 5, 5, 5}, WhenKind::kOnset, {13}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const report::When when = ClassifyWhen(c.cost, steps);
    EXPECT_EQ(when.kind, c.kind);
    EXPECT_EQ(when.steps, c.struck);
  }
}

TEST(ShortFrame, KeepsWhatNamesTheCode) {
  EXPECT_EQ(ShortFrame("train.py(88): read_shard"), "read_shard");
  EXPECT_EQ(ShortFrame("<built-in function sleep>"), "sleep");
  EXPECT_EQ(ShortFrame("<built-in method run_backward of torch._C._EngineBase object at 0x>"), "run_backward");
  EXPECT_EQ(ShortFrame("<built-in function collect>"), "gc.collect");
  EXPECT_EQ(ShortFrame("aten::mm"), "aten::mm");
}

TEST(Coordinates, RoleOfDescription) {
  EXPECT_EQ(RoleOfDescription("mesh_pp"), GroupRole::kPp);
  EXPECT_EQ(RoleOfDescription("TENSOR_MODEL_PARALLEL_GROUP"), GroupRole::kTp);
  EXPECT_EQ(RoleOfDescription("PIPELINE_MODEL_PARALLEL_GROUP"), GroupRole::kPp);
  EXPECT_EQ(RoleOfDescription("EXPERT_MODEL_PARALLEL_GROUP"), GroupRole::kEp);
  EXPECT_EQ(RoleOfDescription("DATA_PARALLEL_GROUP"), GroupRole::kDp);
  EXPECT_EQ(RoleOfDescription("default_pg"), GroupRole::kUnknown);
}

}  // namespace
}  // namespace headway::diagnose
