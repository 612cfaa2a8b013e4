// SPDX-License-Identifier: Apache-2.0
#include "trace/comm_sequence.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace headway::trace {
namespace {

// Rows of one kind, `gap` apart with some irregularity, from operation `first` to `last`; steps of ten.
struct Recorded {
  RankComms rank;
  std::vector<int32_t> rows;

  Recorded(int first, int last, Nanos offset, bool marked = true) {
    std::mt19937 random(4);  // the same irregularity on every rank
    Nanos time = 1'000'000'000'000;
    for (int k = 0; k < last; ++k) {
      time += 800'000 + static_cast<Nanos>(random() % 400'000);
      if (k < first) continue;
      CommInstance row{.start = time + offset - 100'000, .end = time + offset, .op = CommOp::kAllReduce};
      if (marked) {
        while (rank.step_numbers.empty() || rank.step_numbers.back() < k / 10) rank.step_numbers.push_back(k / 10);
        row.step = static_cast<int32_t>(rank.step_numbers.size()) - 1;
      }
      rank.instances.push_back(row);
    }
    rows.resize(rank.instances.size());
    std::iota(rows.begin(), rows.end(), 0);
  }
  [[nodiscard]] CommSequence Sequence() const { return {&rank, 0, rows}; }
};

TEST(BestShift, StepNumbersTellWhereAWindowBegan) {
  const Recorded reference(0, 400, 0), member(37, 380, 5'000'000);
  const ShiftFit fit = BestShift(reference.Sequence(), member.Sequence(), std::nullopt);
  EXPECT_EQ(fit.shift, 37);
  EXPECT_LT(fit.cost, kGoodFit);
  EXPECT_EQ(fit.centre, 5'000'000);
}

TEST(BestShift, TimesTellItOnOneClock) {
  const Recorded reference(12, 400, 0, false), member(150, 420, 3'000, false);
  const ShiftFit fit = BestShift(reference.Sequence(), member.Sequence(), 0);
  EXPECT_EQ(fit.shift, 138);
  EXPECT_LT(fit.cost, kGoodFit);
}

TEST(BestShift, IrregularityOfShortWindowsTellsItWithoutEither) {
  const Recorded reference(0, 40, 0, false), member(2, 42, 123'456'789, false);
  EXPECT_EQ(BestShift(reference.Sequence(), member.Sequence(), std::nullopt).shift, 2);
}

TEST(BestShift, RowsOfAnotherTimeDoNotFit) {
  const Recorded reference(0, 40, 0, false), member(0, 40, 3600 * kSecond, false);
  EXPECT_GT(BestShift(reference.Sequence(), member.Sequence(), 0).cost, 0.7);
}

TEST(MergeByTime, LeavesHolesWhereTheyAre) {
  const Recorded reference(0, 60, 0);
  Recorded member(0, 60, 2'000'000);
  std::erase_if(member.rows, [](int32_t i) { return i == 7 || (i >= 20 && i < 24); });
  const std::vector<int32_t> at = MergeByTime(reference.Sequence(), member.Sequence(), 2'000'000);
  ASSERT_EQ(at.size(), 55u);
  for (size_t i = 0; i < at.size(); ++i) EXPECT_EQ(at[i], member.rows[i]);
}

TEST(MergeByTime, KindsMustAgree) {
  const Recorded reference(0, 6, 0);
  Recorded member(0, 6, 0);
  member.rank.instances[3].op = CommOp::kBroadcast;
  EXPECT_EQ(MergeByTime(reference.Sequence(), member.Sequence(), 0), (std::vector<int32_t>{0, 1, 2, -1, 4, 5}));
}

// Two threads; on the member the second operation got going 20 us before the first.
struct SideBySide {
  RankComms reference, member;
  std::vector<int32_t> rows{0, 1};

  explicit SideBySide(bool sizes) {
    const Bytes first = sizes ? 500 : -1, second = sizes ? 100 : -1;
    reference.instances = {
        {.start = 0, .end = 9'000'000, .bytes = first, .local_group = 0, .op = CommOp::kAllReduce},
        {.start = 50'000, .end = 2'000'000, .bytes = second, .local_group = 1, .op = CommOp::kAllReduce}};
    member.instances = {
        {.start = 100'000, .end = 2'010'000, .bytes = second, .local_group = 0, .op = CommOp::kAllReduce},
        {.start = 120'000, .end = 9'020'000, .bytes = first, .local_group = 1, .op = CommOp::kAllReduce}};
  }
};

TEST(ExchangeConcurrent, SizesTellTheOrder) {
  const SideBySide pair(true);
  const CommSequence a{&pair.reference, 0, pair.rows}, b{&pair.member, 1, pair.rows};
  EXPECT_EQ(ExchangeConcurrent(a, b, 0, std::nullopt), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(JudgeShift(a, b, 0, std::nullopt).mismatch, 0);
}

TEST(ExchangeConcurrent, EndsTellItWithoutSizes) {
  const SideBySide pair(false);
  const CommSequence a{&pair.reference, 0, pair.rows}, b{&pair.member, 1, pair.rows};
  EXPECT_EQ(ExchangeConcurrent(a, b, 0, 0), (std::vector<int32_t>{1, 0}));
  EXPECT_TRUE(ExchangeConcurrent(a, b, 0, std::nullopt).empty());  // without clocks ends say nothing
}

TEST(Agree, KnowsWhichSizesAreShared) {
  const CommInstance a{.bytes = 8, .op = CommOp::kAllReduce}, b{.bytes = 16, .op = CommOp::kAllReduce};
  const CommInstance unknown{.bytes = -1, .op = CommOp::kAllReduce}, other{.bytes = 8, .op = CommOp::kBroadcast};
  EXPECT_FALSE(Agree(a, b));
  EXPECT_TRUE(Agree(a, unknown));
  EXPECT_FALSE(Agree(a, other));
  EXPECT_TRUE(Agree({.bytes = 8, .op = CommOp::kAllToAll}, {.bytes = 9, .op = CommOp::kAllToAll}));
  EXPECT_TRUE(Agree({.bytes = 8, .op = CommOp::kSend}, {.bytes = 8, .op = CommOp::kRecv}));
  EXPECT_FALSE(Agree({.bytes = 8, .op = CommOp::kSend}, {.bytes = 9, .op = CommOp::kRecv}));
}

TEST(JudgeTogether, MembersAlwaysOverlap) {
  const Recorded a(0, 60, 0), b(0, 60, 40'000);
  EXPECT_GT(JudgeTogether(a.Sequence(), b.Sequence(), 0).score, 0.9);
  const Recorded later(0, 60, 300'000);  // begins after the other has ended, every time
  EXPECT_EQ(JudgeTogether(a.Sequence(), later.Sequence(), 0).overlapping, 0);
  EXPECT_GT(JudgeTogether(a.Sequence(), later.Sequence(), std::nullopt).overlapping, 0.9);  // unless clocks differ
}

TEST(JudgeTogether, AMemberThatAlwaysEndsLaterBelongs) {
  // Behind a slow link of a ring the last receiver ends later every time; ends that come and go are of another group.
  const Recorded a(0, 60, 0);
  Recorded late(0, 60, 0), loose(0, 60, 0);
  for (size_t i = 0; i < late.rank.instances.size(); ++i) {
    late.rank.instances[i].end += 300'000;
    loose.rank.instances[i].end += i % 3 == 0 ? 300'000 : i % 3 == 1 ? 0 : -50'000;
  }
  const Togetherness of_late = JudgeTogether(a.Sequence(), late.Sequence(), 0);
  const Togetherness of_loose = JudgeTogether(a.Sequence(), loose.Sequence(), 0);
  EXPECT_EQ(of_late.overlapping, 1);
  EXPECT_EQ(of_loose.overlapping, 1);
  EXPECT_GT(of_late.score, of_loose.score);
}

}  // namespace
}  // namespace headway::trace
