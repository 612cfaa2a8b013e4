// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_flow.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {
namespace {

CommInstance Row(CommOp op, int start_ms, int end_ms) {
  return {.start = start_ms * kMillisecond, .end = end_ms * kMillisecond, .local_group = 0, .peer = -1, .op = op};
}

TEST(PairWithSome, TakesTheNearestEndsInOrder) {
  RankComms a, b;
  a.groups = b.groups = {{.is_device = true}};
  std::vector<int32_t> few, many;
  for (int k = 0; k < 5; ++k) {
    a.instances.push_back(Row(CommOp::kSend, 20 * k, 20 * k + 5));
    few.push_back(k);
  }
  for (int k = 0; k < 10; ++k) {  // every other one comes from somebody else, 7 ms later
    b.instances.push_back(Row(CommOp::kRecv, 10 * k, 10 * k + (k % 2 == 0 ? 5 : 2)));
    many.push_back(k);
  }
  const FlowPairs pairs = PairWithSome({&a, 0, few}, {&b, 1, many}, 0);
  ASSERT_EQ(pairs.size(), 5u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(j, 2 * i);
}

// Five steps of 100 ms; in each two sends that end at 5 and 45 ms, and four receives, the first and third of which are
// theirs and end with them.
struct Schedule {
  RankComms a, b;
  std::vector<int32_t> few, many;

  // Ends of the receives of a step, in ms.
  explicit Schedule(const std::function<std::array<int, 4>(int)>& ends) {
    a.groups = b.groups = {{.is_device = true}};
    for (int step = 0; step < 5; ++step) {
      a.step_numbers.push_back(step);
      b.step_numbers.push_back(step);
      const auto add = [&](RankComms* rank, std::vector<int32_t>* rows, CommOp op, int end) {
        rows->push_back(static_cast<int32_t>(rank->instances.size()));
        rank->instances.push_back(Row(op, 100 * step + end - 3, 100 * step + end));
        rank->instances.back().step = step;
      };
      for (const int end : {5, 45}) add(&a, &few, CommOp::kSend, end);
      for (const int end : ends(step)) add(&b, &many, CommOp::kRecv, end);
    }
  }
  [[nodiscard]] std::vector<int32_t> Partners(Anchor anchor) const {
    std::vector<int32_t> out;
    for (const auto& [i, j] : PairWithSome({&a, 0, few}, {&b, 1, many}, 0, anchor)) out.push_back(j % 4);
    return out;
  }
};

// In the first step the second and the fourth end nearer to the sends: by 1 ms against 2. Over all steps the first and
// the third do: 2 + 2 ms in one step against 1 + 1 there and 20 + 20 in each of four.
TEST(PairWithSome, OneStepThatMisleadsFollowsTheOthers) {
  const Schedule schedule(
      [](int step) { return step == 0 ? std::array<int, 4>{3, 6, 43, 46} : std::array<int, 4>{5, 25, 45, 65}; });
  EXPECT_EQ(schedule.Partners(Anchor::kNone), (std::vector<int32_t>{0, 2, 0, 2, 0, 2, 0, 2, 0, 2}));
}

// The same, and the last send begins when the fifth step is over: it is that step's all the same, and its last.
TEST(PairWithSome, WhatBeginsBehindAStepIsLeftFromIt) {
  Schedule schedule(
      [](int step) { return step == 0 ? std::array<int, 4>{3, 6, 43, 46} : std::array<int, 4>{5, 25, 45, 65}; });
  schedule.a.instances.back().step = -1;
  EXPECT_EQ(schedule.Partners(Anchor::kNone), (std::vector<int32_t>{0, 2, 0, 2, 0, 2, 0, 2, 0, 2}));
  EXPECT_EQ(StepsOf({&schedule.a, 0, schedule.few}), (std::vector<int64_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}));
  const std::vector<bool> last = Edges({&schedule.a, 0, schedule.few}, Anchor::kLast);
  EXPECT_TRUE(last[9] && !last[8]);
  schedule.a.instances.front().step = -1;
  EXPECT_EQ(StepsOf({&schedule.a, 0, schedule.few}).front(), -1) << "what is left from before the window";
}

// The second and the third end nearest, but what a stage gets first in a step comes from the stage before it.
TEST(PairWithSome, ForwardTheFirstOfAStepIsTheFirst) {
  const Schedule schedule([](int) { return std::array<int, 4>{9, 10, 45, 60}; });
  EXPECT_EQ(schedule.Partners(Anchor::kFirst).front(), 0);
  EXPECT_EQ(schedule.Partners(Anchor::kLast).back(), 3);
}

// Ten steps of a stage; in those before `until` it sends first, in the others it receives first. A row is left over
// from the step before the window.
Anchors AnchorsWhereItSendsFirst(int until) {
  RankComms a;
  a.groups = {{.is_device = true}};
  std::vector<int32_t> sends, receives;
  const auto add = [&](std::vector<int32_t>* rows, CommOp op, int at, int step) {
    rows->push_back(static_cast<int32_t>(a.instances.size()));
    a.instances.push_back(Row(op, at, at + 1));
    a.instances.back().step = step;
  };
  add(&receives, CommOp::kRecv, -10, -1);
  for (int s = 0; s < 10; ++s) {
    a.step_numbers.push_back(s);
    add(&sends, CommOp::kSend, 100 * s + (s < until ? 0 : 20), s);
    add(&receives, CommOp::kRecv, 100 * s + 10, s);
  }
  return AnchorsOf({&a, 0, sends}, {&a, 0, receives});
}

TEST(Anchors, StepsTellTheFirstStageFromTheLast) {
  const Anchors first = AnchorsWhereItSendsFirst(9);
  EXPECT_TRUE(first.sends == Anchor::kFirst && first.receives == Anchor::kLast);
  const Anchors last = AnchorsWhereItSendsFirst(1);
  EXPECT_TRUE(last.sends == Anchor::kLast && last.receives == Anchor::kFirst);
  const Anchors neither = AnchorsWhereItSendsFirst(5);  // steps overlap: nothing comes first
  EXPECT_TRUE(neither.sends == Anchor::kNone && neither.receives == Anchor::kNone);
}

TEST(PairWithSome, WhatCannotBeIsLeftAloneThoughTheScheduleRepeats) {
  // The second send of a step begins at 42 ms, the only receive left has ended at 25.
  Schedule schedule([](int) { return std::array<int, 4>{5, 25, 45, 65}; });
  std::vector<int32_t> early;
  for (size_t k = 0; k < schedule.many.size(); ++k) {
    if (k % 4 < 2) early.push_back(schedule.many[k]);
  }
  const FlowPairs pairs = PairWithSome({&schedule.a, 0, schedule.few}, {&schedule.b, 1, early}, 0);
  ASSERT_EQ(pairs.size(), 5u);
  for (const auto& [i, j] : pairs) EXPECT_TRUE(i % 2 == 0 && j % 2 == 0) << i << " " << j;
}

// A stage's step on a host lasts 237 ms, and its rows until they were waited for, together with others. Its ends agree
// best with those of the sends before: 8 ms later in two of four. But the receive 278 … would begin 61.5 ms after its
// send 208 … 216.5 had ended and, with clocks set to suit that, the one 181 … 208 end 26 ms before it began.
TEST(PairFlow, OnAHostRowsOfAMessageAreBesideEachOther) {
  constexpr std::array<std::array<double, 2>, 4> kSends{{{107, 115.5}, {144, 181}, {181, 208}, {208, 216.5}}};
  constexpr std::array<std::array<double, 2>, 4> kReceives{{{41, 115}, {128, 152.7}, {167, 189}, {201, 216.5}}};
  RankComms a, b;
  a.groups = b.groups = {{.is_p2p = true}};
  std::vector<int32_t> rows;
  const auto at = [](double ms) { return static_cast<Nanos>(ms * kMillisecond); };
  for (int k = 0; k < 20; ++k) {
    const double step = 237.0 * (k / 4);
    const auto [sent, left] = kSends[static_cast<size_t>(k % 4)];
    const auto [ready, received] = kReceives[static_cast<size_t>(k % 4)];
    rows.push_back(k);
    a.instances.push_back({.start = at(step + sent), .end = at(step + left), .op = CommOp::kSend});
    b.instances.push_back({.start = at(step + ready), .end = at(step + received), .op = CommOp::kRecv});
  }
  const FlowPairs pairs = PairFlow({&a, 0, rows}, {&b, 1, rows}, std::nullopt);
  ASSERT_EQ(pairs.size(), 20u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(i, j);
}

// On a host rows last until they were waited for. Sends at 0, 20, 40 … ms lie there until the next; each is taken up to
// 1 ms after it began. Receives from somebody else at 10, 30 … end nearest to where those rows end.
TEST(PairWithSome, OnAHostTheLaterOfTwoRowsIsShort) {
  RankComms a, b;
  a.groups = b.groups = {{.is_p2p = true}};
  std::vector<int32_t> few, many;
  for (int k = 0; k < 5; ++k) {
    a.instances.push_back(Row(CommOp::kSend, 20 * k, 20 * k + 19));
    few.push_back(k);
  }
  for (int k = 0; k < 10; ++k) {
    b.instances.push_back(Row(CommOp::kRecv, 10 * k - 6, 10 * k + (k % 2 == 0 ? 1 : 8)));
    many.push_back(k);
  }
  const FlowPairs pairs = PairWithSome({&a, 0, few}, {&b, 1, many}, 0);
  ASSERT_EQ(pairs.size(), 5u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(j, 2 * i);
}

}  // namespace
}  // namespace headway::trace
