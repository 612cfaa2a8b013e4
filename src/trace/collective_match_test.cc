// SPDX-License-Identifier: Apache-2.0
#include "trace/collective_match.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace headway::trace {
namespace {

const ClockOffset kOneClock = [](int32_t, int32_t) { return std::optional<Nanos>(0); };
const ClockOffset kUnknown = [](int32_t, int32_t) { return std::optional<Nanos>(); };

struct Members {
  std::vector<RankComms> ranks;
  std::vector<std::vector<int32_t>> rows;

  // Each row: {kind, sequence number, time in ms}; ends 0.1 ms after it starts.
  void Add(const std::vector<std::tuple<CommOp, int64_t, int>>& of_rank) {
    RankComms rank;
    rank.groups.emplace_back().is_device = true;
    for (const auto& [op, seq, ms] : of_rank) {
      rank.instances.push_back({.start = ms * kMillisecond, .end = ms * kMillisecond + 100'000, .seq = seq, .op = op});
    }
    ranks.push_back(std::move(rank));
  }
  [[nodiscard]] std::vector<CommSequence> Sequences() {
    rows.clear();
    for (const RankComms& rank : ranks) {
      std::vector<int32_t> all(rank.instances.size());
      std::iota(all.begin(), all.end(), 0);
      rows.push_back(std::move(all));
    }
    std::vector<CommSequence> out;
    for (size_t r = 0; r < ranks.size(); ++r) out.push_back({&ranks[r], static_cast<int32_t>(r), rows[r]});
    return out;
  }
  GroupCollectives Match(const ClockOffset& offset) {
    const auto members = Sequences();
    std::vector<SequenceSummary> summaries;
    for (const CommSequence& m : members) summaries.push_back(Summarize(m));
    GroupPlaces places = PlaceInOrder(members, summaries, offset);
    PlaceRest(members, offset, &places);
    OrderConcurrent(members, offset, &places);
    return BuildCollectives(members, places);
  }
};

constexpr CommOp kA = CommOp::kAllReduce, kG = CommOp::kAllGather, kB = CommOp::kBroadcast;

TEST(CollectiveMatch, SequenceNumbersDecideWhateverTheOrder) {
  Members m;
  m.Add({{kA, 5, 0}, {kG, 6, 1}, {kA, 7, 2}, {kA, 8, 3}});
  m.Add({{kG, 6, 900}, {kA, 7, 901}, {kA, 8, 902}, {kG, 9, 903}});  // another clock, window one later
  const GroupCollectives out = m.Match(kUnknown);
  ASSERT_EQ(out.collectives.size(), 3u);
  EXPECT_EQ(out.unmatched, 2);  // 5 on the first, 9 on the second
  EXPECT_EQ(out.collectives[0].op, kG);
  EXPECT_EQ(out.collectives[0].ordinal, 1);
  EXPECT_EQ(out.collectives[0].members[0].instance, 1);
  EXPECT_EQ(out.collectives[0].members[1].instance, 0);
}

TEST(CollectiveMatch, NumbersWithGapsAndCoalescedCalls) {
  Members m;
  m.Add({{kA, 5, 0}, {kG, 6, 1}, {kG, 6, 2}, {kA, 9, 3}});
  m.Add({{kA, 5, 0}, {kG, 6, 1}, {kG, 6, 2}, {kA, 9, 3}});
  m.Add({{kG, 6, 1}, {kA, 9, 3}});  // lost the first, and one of the coalesced ones
  const GroupCollectives out = m.Match(kOneClock);
  ASSERT_EQ(out.collectives.size(), 4u);
  EXPECT_EQ(out.collectives[0].members.size(), 2u);
  EXPECT_EQ(out.collectives[1].members.size(), 3u);
  EXPECT_EQ(out.collectives[2].members.size(), 2u);
  EXPECT_EQ(out.collectives[3].members.size(), 3u);
  EXPECT_EQ(out.unmatched, 0);
}

TEST(CollectiveMatch, MajoritySaysWhatAnOperationIs) {
  Members m;
  m.Add({{kB, 0, 0}, {kA, 1, 1}});
  m.Add({{kA, 0, 0}, {kA, 1, 1}});
  m.Add({{kA, 0, 0}, {kA, 1, 1}});
  const GroupCollectives out = m.Match(kOneClock);
  ASSERT_EQ(out.collectives.size(), 2u);
  EXPECT_EQ(out.inconsistent, 1);
  EXPECT_EQ(out.collectives[0].op, kA);
  EXPECT_EQ(out.collectives[0].members.size(), 2u);
}

TEST(CollectiveMatch, EqualCountsThatBeganAtDifferentOperationsAreShifted) {
  Members m;  // all alike, equally many, but the second began one later; gaps are irregular
  m.Add({{kA, -1, 0}, {kA, -1, 5}, {kA, -1, 7}, {kA, -1, 16}, {kA, -1, 20}, {kA, -1, 31}});
  m.Add({{kA, -1, 5}, {kA, -1, 7}, {kA, -1, 16}, {kA, -1, 20}, {kA, -1, 31}, {kA, -1, 33}});
  for (const ClockOffset& offset : {kOneClock, kUnknown}) {
    const GroupCollectives out = m.Match(offset);
    ASSERT_EQ(out.collectives.size(), 5u);
    EXPECT_EQ(out.collectives[0].members[0].instance, 1);
    EXPECT_EQ(out.collectives[0].members[1].instance, 0);
    EXPECT_EQ(out.unmatched, 2);
  }
}

// Sixty operations of 1.6 ms in steps of ten, begun every millisecond or so. A slow link makes each of them end 0.7 ms
// later on the second member: by the clock it is nearer to the next one of the first.
TEST(CollectiveMatch, EndsThatAreApartTheSameWayEachTimeAreNoOtherOperation) {
  const auto unmatched = [](bool steps_known, Nanos later) {
    Members m;
    for (const Nanos after : {Nanos{0}, later}) {
      RankComms rank;
      rank.groups.emplace_back();
      for (int k = 0; k < 60; ++k) {
        const Nanos begin = k * kMillisecond + (k * 7 % 5) * 20'000;
        rank.instances.push_back({.start = begin, .end = begin + 1'600'000 + after, .op = kA});
        if (steps_known) rank.instances.back().step = k / 10;
        if (k % 10 == 0) rank.step_numbers.push_back(k / 10);
      }
      m.ranks.push_back(std::move(rank));
    }
    return m.Match(kOneClock).unmatched;
  };
  EXPECT_EQ(unmatched(true, 700'000), 0);
  EXPECT_EQ(unmatched(false, 700'000), 2);  // where nothing speaks for equal order the nearer ones are taken
  EXPECT_EQ(unmatched(false, 200'000), 0);
}

TEST(CollectiveMatch, MembersWithoutNumbersJoinThoseWithNumbers) {
  Members m;
  m.Add({{kA, 40, 0}, {kG, 41, 5}, {kA, 42, 7}, {kA, 43, 16}});
  m.Add({{kG, -1, 5}, {kA, -1, 7}, {kA, -1, 16}});
  const GroupCollectives out = m.Match(kOneClock);
  ASSERT_EQ(out.collectives.size(), 3u);
  EXPECT_EQ(out.collectives[0].op, kG);
  EXPECT_EQ(out.unmatched, 1);
}

TEST(RunTogether, ExchangeOfNeighboursIsNoCollective) {
  Members together;
  for (int r = 0; r < 4; ++r) {
    together.Add({{CommOp::kSendRecv, -1, 0}, {CommOp::kSendRecv, -1, 10}, {CommOp::kSendRecv, -1, 25}});
  }
  EXPECT_TRUE(RunTogether(together.Sequences(), kOneClock));
  Members pipeline;  // the stages between have twice as many
  pipeline.Add({{CommOp::kSendRecv, -1, 0}, {CommOp::kSendRecv, -1, 50}});
  pipeline.Add({{CommOp::kSendRecv, -1, 0},
                {CommOp::kSendRecv, -1, 10},
                {CommOp::kSendRecv, -1, 40},
                {CommOp::kSendRecv, -1, 50}});
  pipeline.Add({{CommOp::kSendRecv, -1, 10},
                {CommOp::kSendRecv, -1, 20},
                {CommOp::kSendRecv, -1, 30},
                {CommOp::kSendRecv, -1, 40}});
  pipeline.Add({{CommOp::kSendRecv, -1, 20}, {CommOp::kSendRecv, -1, 30}});
  EXPECT_FALSE(RunTogether(pipeline.Sequences(), kOneClock));
}

}  // namespace
}  // namespace headway::trace
