// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause.h"

#include <gtest/gtest.h>

namespace headway::diagnose {
namespace {

using pattern::WorkClass;

// A rank with a device, without Python stacks, that takes 50 ms longer in each of the given steps of twelve, while its
// host recorded nothing; in no piece that shows.
Cause OfSilence(const std::vector<int64_t>& steps, bool is_masked, bool stacks = false) {
  Explanation why;
  why.total = why.by_class[static_cast<size_t>(WorkClass::kIdle)] =
      static_cast<Nanos>(steps.size()) * 50 * kMillisecond;
  CauseContext context;
  context.has_device = true;
  context.excess = why.total;
  context.stacks_recorded = stacks;
  context.is_masked = is_masked;
  context.when.kind = steps.size() == 12 ? report::WhenKind::kPersistent : report::WhenKind::kIntermittent;
  context.when.steps = steps;
  return NameCause(why, context);
}

TEST(NameCause, SilenceNowAndThenIsAPauseWhereOneWouldNotShow) {
  // Peers and the rank alike fetch their batches for longer than 50 ms: no pause of 50 ms is the longest.
  EXPECT_EQ(OfSilence({3, 6, 9}, true).name, "paused-process");
  EXPECT_NE(OfSilence({3, 6, 9}, true).sentence.find("stood idle for 150 ms"), std::string::npos);
  // It would have shown, stacks would have named a collection, or it is there in each step as code is.
  EXPECT_EQ(OfSilence({3, 6, 9}, false).name, "slow-host-code");
  EXPECT_EQ(OfSilence({3, 6, 9}, true, true).name, "slow-host-code");
  EXPECT_EQ(OfSilence({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, true).name, "slow-host-code");
}

}  // namespace
}  // namespace headway::diagnose
