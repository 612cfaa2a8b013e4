// SPDX-License-Identifier: Apache-2.0
#include "trace/comm_time.h"

#include <gtest/gtest.h>

namespace headway::trace {
namespace {

RankComms Rank(RankId id, const std::vector<std::pair<Nanos, Nanos>>& rows) {
  RankComms rank;
  rank.rank = id;
  rank.groups.push_back({});
  for (const auto& [start, end] : rows) {
    CommInstance row;
    row.start = start;
    row.end = end;
    rank.instances.push_back(row);
  }
  return rank;
}

JobComms PairInOrder(size_t rows) {
  JobComms job;
  for (size_t i = 0; i < rows; ++i) {
    Collective c;
    c.members = {{0, static_cast<int32_t>(i)}, {1, static_cast<int32_t>(i)}};
    job.collectives.push_back(c);
  }
  return job;
}

TEST(CommTime, WhoCameFirstWaited) {
  // 10..100 and 60..100: both move data for 40, the first rank waits 50.
  const std::vector<RankComms> ranks{Rank(0, {{10, 100}}), Rank(1, {{60, 100}})};
  const std::vector<CommTime> times = SplitCommTime(ranks, PairInOrder(1));
  EXPECT_EQ(times[0].transfer, 40);
  EXPECT_EQ(times[0].waiting(), 50);
  EXPECT_EQ(times[1].transfer, 40);
  EXPECT_EQ(times[1].waiting(), 0);
  EXPECT_EQ(times[1].paired, 1);
}

TEST(CommTime, OverlappingOperationsCountOnce) {
  // Rank 0: 0..100 and 50..120, transfers 30 (70..100) and 20 (100..120): open 120, moving 50.
  const std::vector<RankComms> ranks{Rank(0, {{0, 100}, {50, 120}}), Rank(1, {{70, 100}, {100, 120}})};
  const std::vector<CommTime> times = SplitCommTime(ranks, PairInOrder(2));
  EXPECT_EQ(times[0].open, 120);
  EXPECT_EQ(times[0].transfer, 50);
  EXPECT_EQ(times[1].open, 50);
  EXPECT_EQ(times[1].waiting(), 0);
}

// A clock that is an hour off changes nothing.
TEST(CommTime, DurationsOnly) {
  const Nanos hour = 3600 * kSecond;
  const std::vector<RankComms> ranks{Rank(0, {{10, 100}}), Rank(1, {{hour + 60, hour + 100}})};
  EXPECT_EQ(SplitCommTime(ranks, PairInOrder(1))[0].waiting(), 50);
}

TEST(CommTime, WhatWasNotPairedIsTransfer) {
  const std::vector<RankComms> ranks{Rank(0, {{0, 30}}), Rank(1, {})};
  const std::vector<CommTime> times = SplitCommTime(ranks, {});
  EXPECT_EQ(times[0].transfer, 30);
  EXPECT_EQ(times[0].paired, 0);
  EXPECT_EQ(times[0].waiting(), 0);
  EXPECT_EQ(times[1].open, 0);
}

}  // namespace
}  // namespace headway::trace
