// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_stride.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace headway::trace {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

// What ranks send and receive on streams, and which belongs to which.
struct Flows {
  std::vector<LaneFlow> flows;
  std::vector<size_t> partner;  // by flow

  void Connect(RankId from, RankId to, size_t rows = 10) {
    partner.insert(partner.end(), {flows.size() + 1, flows.size()});
    flows.push_back({from, from, true, std::vector<int32_t>(rows)});
    flows.push_back({to, to, false, std::vector<int32_t>(rows)});
  }
  [[nodiscard]] Pairs Truth() const {
    Pairs out;
    for (size_t i = 0; i < flows.size(); i += 2) out.emplace_back(i, i + 1);
    return out;
  }
};

// `width` pipelines of `stages`, forward and back: stage s of pipeline p is rank s * width + p.
Flows Pipelines(int stages, int width) {
  Flows out;
  for (RankId r = 0; r < (stages - 1) * width; ++r) {
    out.Connect(r, r + width);
    out.Connect(r + width, r);
  }
  return out;
}

// All ranks run in step, so all fit well: partners end 2 us from each other, the others `apart`.
Pairs PairInStep(const Flows& flows, Nanos apart) {
  Pairs out = PairByStride(flows.flows, [&](size_t i, size_t j) {
    return flows.partner[i] == j ? PartnerFit{0.95, 2 * kMicrosecond, true} : PartnerFit{0.97, apart, true};
  });
  for (auto& [i, j] : out) {
    if (i > j) std::swap(i, j);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Partners fit, others do not, nor do those in `broken`.
Pairs PairExact(const Flows& flows, const std::vector<size_t>& broken = {}) {
  Pairs out = PairByStride(flows.flows, [&](size_t i, size_t j) {
    const bool breaks = std::find(broken.begin(), broken.end(), std::min(i, j)) != broken.end();
    return PartnerFit{flows.partner[i] == j && !breaks ? 0.95 : 0.5, 2 * kMicrosecond, true};
  });
  for (auto& [i, j] : out) {
    if (i > j) std::swap(i, j);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(PairByStride, FourStagesOfTwoRanks) {
  const Flows flows = Pipelines(4, 2);
  ASSERT_EQ(flows.flows.size(), 24U);
  EXPECT_EQ(PairExact(flows), flows.Truth());
  EXPECT_EQ(PairInStep(flows, 40 * kMicrosecond), flows.Truth());
}

TEST(PairByStride, WhatIsLeftBelongsTogether) {
  // Of twelve pairs two do not show by their times, those of ranks 1 and 3 (flows 4 to 7): five sixths of the rows fit,
  // and either has one stream of sends and one of receives left. Of four such pairs only two thirds fit.
  const Flows flows = Pipelines(4, 2);
  EXPECT_EQ(PairExact(flows, {4, 6}), flows.Truth());
  EXPECT_TRUE(PairExact(flows, {4, 6, 8, 10}).empty());
}

TEST(PairByStride, WhatIsLeftOnBothSidesBelongsToNeither) {
  // Six stages of one rank, the last is missing: rank 4 sends to and receives from nobody (flows 16, 17 are its own
  // ends). What rank 2 sends to 3 (flows 8, 9) does not show by its times: then rank 3 has a receive left, and rank 2
  // and rank 4 a send each. 14 of 18 streams fit, the two of rank 4 stay over: nothing is as it should be.
  Flows flows = Pipelines(6, 1);
  flows.flows.erase(flows.flows.begin() + 17, flows.flows.begin() + 19);  // rank 5's two
  flows.partner[16] = flows.partner[19] = 99;
  flows.partner.erase(flows.partner.begin() + 17, flows.partner.begin() + 19);
  ASSERT_EQ(flows.flows.size(), 18U);
  ASSERT_EQ(flows.flows[8].rank, 2);
  ASSERT_EQ(flows.flows[9].rank, 3);
  EXPECT_TRUE(PairExact(flows, {8}).empty());
}

TEST(PairByStride, TheLastStageSendsToTheFirst) {
  // Interleaved stages: each rank to the next one, the last to the first, in a circle of four.
  Flows flows;
  for (RankId r = 0; r < 4; ++r) {
    flows.Connect(r, (r + 1) % 4);
    flows.Connect((r + 1) % 4, r);
  }
  EXPECT_EQ(PairExact(flows), flows.Truth());
  EXPECT_EQ(PairInStep(flows, 40 * kMicrosecond), flows.Truth());
}

TEST(PairByStride, UnderNineInTenRowsNothing) {
  // Of twelve pairs eleven are 92 %, ten are 83.
  Flows flows = Pipelines(4, 2);
  for (const size_t i : {7U, 21U}) flows.flows[i].rows.push_back(0);  // one row more: not what is left of the other
  Pairs all_but_one = flows.Truth();
  all_but_one.erase(all_but_one.begin() + 3);
  EXPECT_EQ(PairExact(flows, {6}), all_but_one);
  EXPECT_TRUE(PairExact(flows, {6, 20}).empty());
}

TEST(PairByStride, TwoDistancesAsGoodAreNone) {
  // Neighbours, too, could be partners in all they do. Their ends tell where they are apart by more than twice 2 us and
  // 2 more.
  const Flows flows = Pipelines(4, 2);
  EXPECT_TRUE(PairInStep(flows, 6 * kMicrosecond).empty());
  EXPECT_EQ(PairInStep(flows, 6 * kMicrosecond + 1), flows.Truth());
}

TEST(PairByStride, AThirdDistanceThatIsWorseDoesNotSettleIt) {
  // Distances 1 and 2 are as good, 3 and 4 clearly worse.
  const Flows flows = Pipelines(4, 2);
  const Pairs found = PairByStride(flows.flows, [&](size_t i, size_t j) {
    const RankId distance = std::abs(flows.flows[i].rank - flows.flows[j].rank);
    return PartnerFit{0.95, distance <= 2 ? 2 * kMicrosecond : 40 * kMicrosecond, true};
  });
  EXPECT_TRUE(found.empty());
}

TEST(PairByStride, StreamsWithOtherNumbersOfRowsAreNoPartners) {
  // A window may cut off one in ten and one: 12 rows may belong to 10, 13 not.
  const auto pair = [](size_t longer) {
    Flows flows = Pipelines(4, 2);
    flows.flows[5].rows.resize(longer);
    return PairExact(flows).size();
  };
  EXPECT_EQ(pair(12), 12U);
  EXPECT_EQ(pair(13), 11U);
}

TEST(PairByStride, SendsDoNotGoWithSends) {
  // Ranks next to each other in two pipelines that run in step send at the same times.
  const Flows flows = Pipelines(4, 2);
  Pairs found = PairByStride(flows.flows, [&](size_t i, size_t j) {
    const bool alike = flows.flows[i].sends == flows.flows[j].sends;
    return PartnerFit{alike || flows.partner[i] == j ? 0.95 : 0.5, (alike ? 1 : 2) * kMicrosecond, true};
  });
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), 12U);
  for (const auto& [i, j] : found) EXPECT_EQ(flows.partner[i], j);
}

TEST(PairByStride, NothingToPairIsFine) {
  EXPECT_TRUE(PairByStride({}, [](size_t, size_t) { return PartnerFit{1, 0, true}; }).empty());
}

TEST(AddFlows, OneForEachStream) {
  RankComms rank;
  rank.rank = 7;
  for (const int32_t lane : {1, 0, 1, 1, 0}) {
    rank.instances.emplace_back();
    rank.instances.back().local_group = lane;
  }
  std::vector<LaneFlow> flows;
  AddFlows(rank, 3, true, {0, 1, 3, 4}, &flows);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].rows, (std::vector<int32_t>{1, 4}));
  EXPECT_EQ(flows[1].rows, (std::vector<int32_t>{0, 3}));
  for (const LaneFlow& flow : flows) {
    EXPECT_EQ(flow.rank, 7);
    EXPECT_EQ(flow.rank_index, 3);
    EXPECT_TRUE(flow.sends);
  }
}

}  // namespace
}  // namespace headway::trace
