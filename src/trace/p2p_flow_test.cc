// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_flow.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
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

// A host's rows, in ms.
struct HostRows {
  RankComms rank{.groups = {{.is_p2p = true}}};
  std::vector<int32_t> rows;

  void Add(CommOp op, double start, double end) {
    const auto at = [](double ms) { return static_cast<Nanos>(ms * kMillisecond); };
    rows.push_back(static_cast<int32_t>(rank.instances.size()));
    rank.instances.push_back({.start = at(start), .end = at(end), .op = op});
  }
};

FlowPairs PairHosts(const HostRows& sends, const HostRows& receives, std::optional<Nanos> offset) {
  return PairFlow({&sends.rank, 0, sends.rows}, {&receives.rank, 1, receives.rows}, offset);
}

// A stage's step on a host lasts 237 ms, and its rows until they were waited for, together with others. Its ends agree
// best with those of the sends before: 8 ms later in two of four. But the receive 278 … would begin 61.5 ms after its
// send 208 … 216.5 had ended and, with clocks set to suit that, the one 181 … 208 end 26 ms before it began.
void AddStep(double at, HostRows* sends, HostRows* receives) {
  constexpr std::array<std::array<double, 2>, 4> kSends{{{107, 115.5}, {144, 181}, {181, 208}, {208, 216.5}}};
  constexpr std::array<std::array<double, 2>, 4> kReceives{{{41, 115}, {128, 152.7}, {167, 189}, {201, 216.5}}};
  for (const auto& [start, end] : kSends) sends->Add(CommOp::kSend, at + start, at + end);
  if (receives == nullptr) return;
  for (const auto& [start, end] : kReceives) receives->Add(CommOp::kRecv, at + start, at + end);
}

TEST(PairFlow, OnAHostRowsOfAMessageAreBesideEachOther) {
  HostRows sends, receives;
  for (int step = 0; step < 5; ++step) AddStep(237.0 * step, &sends, &receives);
  const FlowPairs pairs = PairHosts(sends, receives, std::nullopt);
  ASSERT_EQ(pairs.size(), 20u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(i, j);
}

// The receiver's window begins two steps of four rows later: the shift is 8. By ends, as its clock is 6 ms ahead, it is
// 7: two of four then end 2 and 2.5 ms off, with 8 they end 6 and 6.5 off.
TEST(PairFlow, OnAHostTheShiftNearestToThatOfTheEndsIsTaken) {
  HostRows sends, receives;
  for (int step = 0; step < 10; ++step) AddStep(237.0 * step, &sends, step < 2 ? nullptr : &receives);
  const FlowPairs pairs = PairHosts(sends, receives, 6 * kMillisecond);
  ASSERT_EQ(pairs.size(), 32u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(i, j + 8);
}

// Ten messages, one in 100 ms: sent at 60 and gone by 61, received from 60 on, which is waited for until 155. The send
// after ends 6 ms behind that; it begins 5 ms behind it, which a clock set 50 ms off would explain. This one is known.
TEST(PairFlow, OnAHostRowsAreBesideEachOtherUnderTheClockThatIsKnown) {
  HostRows sends, receives;
  for (int k = 0; k < 10; ++k) {
    sends.Add(CommOp::kSend, 100 * k + 60, 100 * k + 61);
    receives.Add(CommOp::kRecv, 100 * k + 60, 100 * k + 155);
  }
  const FlowPairs pairs = PairHosts(sends, receives, Nanos{0});
  ASSERT_EQ(pairs.size(), 10u);
  for (const auto& [i, j] : pairs) EXPECT_EQ(i, j);
}

// No shift suits these, but one row is beside any other under some clock: the first receive with the last send.
TEST(PairFlow, OnAHostAShiftThatSuitsOneRowIsNone) {
  HostRows sends, receives;
  for (const int at : {0, 100, 200, 300}) sends.Add(CommOp::kSend, at, at + 1);
  for (const int at : {0, 150, 200, 390}) receives.Add(CommOp::kRecv, at, at + 1);
  EXPECT_GE(PairHosts(sends, receives, std::nullopt).size(), 3u);
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
