// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_offset.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace headway::trace {
namespace {

// A stage that sends `forward` and receives `back` between two neighbours, on a host backend whose rows end when they
// were waited for; stage 1's clock is `ahead` of stage 0's.
struct TwoStages {
  RankComms first, second;
  std::vector<int32_t> sends, receives, second_receives, second_sends;
  std::vector<int32_t> truth;  // of the second stage's receives, those from the first
};

CommInstance Row(CommOp op, Nanos start, Nanos end, int32_t step) {
  return {.start = start, .end = end, .step = step, .op = op};
}

TwoStages MakeStages(Nanos ahead, double drift) {
  TwoStages s;
  for (RankComms* rank : {&s.first, &s.second}) rank->groups.push_back({.is_p2p = true});
  const auto own = [&](Nanos t) { return t + ahead + static_cast<Nanos>(drift * static_cast<double>(t)); };
  for (int step = 0; step < 200; ++step) {
    s.first.step_numbers.push_back(step);
    s.second.step_numbers.push_back(step);
    for (int k = 0; k < 3; ++k) {
      // Each 30 ms: the first stage sends at 4 ms, which the second waits for from 1 ms on, and gets its answer at 20
      // ms, after it began to wait at 10 ms. Between them the second talks to the third: a receive at 8 to 12 ms, a
      // send at 14 to 15.
      const Nanos t = (step * 100 + k * 30 + (k == 2 ? 7 : 0)) * kMillisecond;
      const auto at = [&](double ms) { return t + static_cast<Nanos>(ms * 1e6); };
      const auto add = [&](RankComms* rank, std::vector<int32_t>* rows, CommOp op, Nanos start, Nanos end) {
        rows->push_back(static_cast<int32_t>(rank->instances.size()));
        rank->instances.push_back(Row(op, start, end, step));
      };
      add(&s.first, &s.sends, CommOp::kSend, at(4), at(9.9));
      add(&s.first, &s.receives, CommOp::kRecv, at(10), at(20.5));
      s.truth.push_back(static_cast<int32_t>(s.second.instances.size()));
      add(&s.second, &s.second_receives, CommOp::kRecv, own(at(1)), own(at(4.6)));
      add(&s.second, &s.second_receives, CommOp::kRecv, own(at(8)), own(at(12)));
      add(&s.second, &s.second_sends, CommOp::kSend, own(at(14)), own(at(15)));
      add(&s.second, &s.second_sends, CommOp::kSend, own(at(20)), own(at(26)));
    }
  }
  return s;
}

TEST(OffsetByTraffic, FindsTheClockUnderWhichMessagesFit) {
  for (const Nanos ahead : {Nanos{0}, 63 * kMillisecond, -41 * kMillisecond, 7 * kSecond}) {
    const TwoStages s = MakeStages(ahead, 100e-6);
    const std::array<NeighbourFlow, 2> flows{{{{&s.first, 0, s.sends}, {&s.second, 1, s.second_receives}},
                                              {{&s.first, 0, s.receives}, {&s.second, 1, s.second_sends}}}};
    const std::optional<OffsetLine> line = OffsetByTraffic(flows);
    ASSERT_TRUE(line.has_value());
    for (const Nanos at : {Nanos{0}, 20 * kSecond}) {
      const double truth = static_cast<double>(ahead) + 100e-6 * static_cast<double>(at);
      EXPECT_NEAR(static_cast<double>(line->At(at)), truth, 1.5e6) << ahead;
    }
    const FlowPairs pairs = PairWithSome(flows[0].few, flows[0].many, *line);
    ASSERT_EQ(pairs.size(), s.sends.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(s.second_receives[static_cast<size_t>(pairs[i].second)], s.truth[i]);
    }
  }
}

// A stage sends at 20 and 50 ms of each step, which end 0.5 ms later where they are received. That one gets another at
// 0 from elsewhere, so the first message alone may be that one: a clock 20 ms behind. Both second rows begin behind
// their steps.
TEST(OffsetByTraffic, WhatBeginsBehindAStepCountsToIt) {
  RankComms first, second;
  std::vector<int32_t> sends, receives;
  const auto add = [](RankComms* rank, std::vector<int32_t>* rows, CommOp op, double start, double end, int32_t step) {
    rows->push_back(static_cast<int32_t>(rank->instances.size()));
    rank->instances.push_back(Row(op, static_cast<Nanos>(start * 1e6), static_cast<Nanos>(end * 1e6), step));
  };
  for (RankComms* rank : {&first, &second}) rank->groups.push_back({.is_p2p = true});
  for (int step = 0; step < 20; ++step) {
    const double t = 100.0 * step;
    first.step_numbers.push_back(step);
    second.step_numbers.push_back(step);
    add(&first, &sends, CommOp::kSend, t + 20, t + 21, step);
    add(&first, &sends, CommOp::kSend, t + 50, t + 51, -1);
    add(&second, &receives, CommOp::kRecv, t - 1, t + 0.5, step);
    add(&second, &receives, CommOp::kRecv, t + 19, t + 20.5, step);
    add(&second, &receives, CommOp::kRecv, t + 49, t + 50.5, -1);
  }
  const std::array<NeighbourFlow, 1> flows{{{{&first, 0, sends}, {&second, 1, receives}}}};
  const std::optional<OffsetLine> line = OffsetByTraffic(flows);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->At(0), 500 * kMicrosecond);
}

TEST(OffsetByTraffic, NoCommonStepsNoOffset) {
  TwoStages s = MakeStages(0, 0);
  for (int64_t& step : s.second.step_numbers) step += 1000;
  const std::array<NeighbourFlow, 1> flows{{{{&s.first, 0, s.sends}, {&s.second, 1, s.second_receives}}}};
  EXPECT_FALSE(OffsetByTraffic(flows).has_value());
}

}  // namespace
}  // namespace headway::trace
