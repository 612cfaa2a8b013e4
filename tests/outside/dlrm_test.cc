// SPDX-License-Identifier: Apache-2.0
// One step of DLRM on eight devices, as its eight traces show it, against figures computed from their raw rows by
// others (interval arithmetic over whole microseconds).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/outside/read_job.h"
#include "trace/comm.h"

namespace headway::trace {
namespace {

std::vector<RankComms> Dlrm() { return ReadComms(SharedData() + "/param/dlrm_kineto.tar.gz"); }

void Shift(std::vector<RankComms>* ranks, const std::vector<Nanos>& by) {
  for (size_t r = 0; r < ranks->size(); ++r) {
    for (Nanos& s : (*ranks)[r].step_starts) s += by[r];
    for (CommInstance& row : (*ranks)[r].instances) {
      row.start += by[r];
      row.end += by[r];
    }
  }
}

TEST(Dlrm, EightCollectivesOfOneWorldOnTheClocksAsRecorded) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  const std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  const JobComms joined = JoinComms(ranks, 8);
  ASSERT_EQ(joined.groups.size(), 1u);
  EXPECT_EQ(joined.groups[0].ranks.size(), 8u);
  EXPECT_TRUE(joined.groups[0].inferred);
  ASSERT_EQ(joined.collectives.size(), 8u);
  ASSERT_EQ(joined.clocks.size(), 1u);
  EXPECT_EQ(joined.clocks[0].offset, 0);
  EXPECT_LE(joined.clocks[0].residual, 7'000);
  // Spread of ends over the ranks, in us, read off the files by hand.
  const std::vector<Nanos> expected{2, 2, 1, 2, 5, 3, 5, 7};
  for (size_t k = 0; k < 8; ++k) {
    Nanos low = 0, high = 0;
    for (const CollectiveMember& m : joined.collectives[k].members) {
      const Nanos end = ranks[static_cast<size_t>(m.rank_index)].instances[static_cast<size_t>(m.instance)].end;
      low = low == 0 ? end : std::min(low, end);
      high = std::max(high, end);
    }
    EXPECT_EQ((high - low) / 1000, expected[k]) << k;
  }
}

TEST(Dlrm, OffsetsOfEightHostsAreRecovered) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  for (const bool known : {true, false}) {
    for (RankComms& rank : ranks) {
      rank.host = "host" + std::to_string(rank.rank);
      rank.host_known = known;
    }
    const JobComms before = JoinComms(ranks, 8);
    const std::vector<Nanos> by{0, 50'000'000, -50'000'000, 17'000, -5'003'000, 31'415'000, -1'000, 8'765'000};
    std::vector<RankComms> shifted = ranks;
    Shift(&shifted, by);
    const JobComms after = JoinComms(shifted, 8);
    ASSERT_EQ(after.clocks.size(), 8u);
    for (size_t h = 0; h < 8; ++h) {
      const Nanos unshifted = before.clocks.size() == 8 ? before.clocks[h].offset : 0;
      EXPECT_LE(std::abs(unshifted), 2'000) << h;  // the ends agree within 7 us as recorded
      if (known) EXPECT_EQ(after.clocks[h].offset, unshifted - by[h]) << h;
      EXPECT_LE(std::abs(after.clocks[h].offset - (unshifted - by[h])), 2'000) << h;
    }
    ASSERT_EQ(after.collectives.size(), 8u);
    for (size_t k = 0; k < 8; ++k) EXPECT_EQ(after.collectives[k].members.size(), 8u);
  }
}

// Of each rank: the sum over the collectives of (latest start over the ranks - own start), and how many it started
// last.
TEST(Dlrm, WaitsAndLastArrivals) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  const std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  const JobComms joined = JoinComms(ranks, 8);
  std::vector<Nanos> wait(8, 0);
  std::vector<int> last(8, 0);
  const auto start = [&ranks](const CollectiveMember& m) {
    return ranks[static_cast<size_t>(m.rank_index)].instances[static_cast<size_t>(m.instance)].start;
  };
  for (const Collective& c : joined.collectives) {
    ASSERT_EQ(c.members.size(), 8u);
    const auto latest = *std::max_element(c.members.begin(), c.members.end(),
                                          [&](const auto& a, const auto& b) { return start(a) < start(b); });
    ++last[static_cast<size_t>(latest.rank_index)];
    for (const CollectiveMember& m : c.members) wait[static_cast<size_t>(m.rank_index)] += start(latest) - start(m);
  }
  const std::vector<Nanos> expected{5'580'000, 11'125'000, 3'280'000, 9'571'000,
                                    6'370'000, 6'041'000,  3'342'000, 1'534'000};
  for (size_t r = 0; r < 8; ++r) EXPECT_LE(std::abs(wait[r] - expected[r]), 2'000) << r;
  EXPECT_EQ(last, (std::vector<int>{0, 0, 0, 0, 1, 2, 0, 5}));
}

// Ranks enter the step up to 7.5 ms apart, 1 first and 7 last; each begins its first collective 3.0 to 3.9 ms later
// (rank 7 after 3.21, rank 3 after 3.91). So most of the waiting has its cause before the window.
TEST(Dlrm, RanksEnterTheStepApart) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  const std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  std::vector<Nanos> entered, until_first;
  for (const RankComms& rank : ranks) {
    ASSERT_EQ(rank.step_starts.size(), 1u);
    entered.push_back(rank.step_starts[0]);
    until_first.push_back(rank.instances.at(0).start - rank.step_starts[0]);
  }
  EXPECT_EQ(std::min_element(entered.begin(), entered.end()) - entered.begin(), 1);
  EXPECT_EQ(std::max_element(entered.begin(), entered.end()) - entered.begin(), 7);
  EXPECT_NEAR(static_cast<double>(entered[7] - entered[1]) / 1e6, 7.5, 0.05);
  for (size_t r = 0; r < 8; ++r) {
    EXPECT_GE(until_first[r], 2'950'000) << r;
    EXPECT_LE(until_first[r], 3'950'000) << r;
  }
  EXPECT_NEAR(static_cast<double>(until_first[7]) / 1e6, 3.21, 0.005);
  EXPECT_NEAR(static_cast<double>(until_first[3]) / 1e6, 3.91, 0.005);
}

}  // namespace
}  // namespace headway::trace
