// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {
namespace {

CommInstance Row(CommOp op, int start_ms, int end_ms, int32_t peer, int32_t local) {
  return {.start = start_ms * kMillisecond, .end = end_ms * kMillisecond, .local_group = local, .peer = peer, .op = op};
}

RankComms Rank(RankId rank, std::vector<LocalGroup> groups, std::vector<CommInstance> rows) {
  RankComms out;
  out.rank = rank;
  out.host = "a";
  out.host_known = true;
  out.groups = std::move(groups);
  out.instances = std::move(rows);
  return out;
}

// Peers count within the group as written: in [6, 2], 0 is rank 6 and 1 is rank 2.
TEST(PointToPoint, PeersCountInTheWrittenOrderOfTheGroup) {
  const std::vector<LocalGroup> pp{{.name = "4", .desc = "pp", .ranks = {6, 2}, .is_device = true}};
  const JobComms joined = JoinComms({Rank(2, pp, {Row(CommOp::kSend, 0, 2, 0, 0), Row(CommOp::kRecv, 3, 6, 0, 0)}),
                                     Rank(6, pp, {Row(CommOp::kRecv, 1, 2, 1, 0), Row(CommOp::kSend, 5, 6, 1, 0)})},
                                    8);
  ASSERT_EQ(joined.collectives.size(), 2u);
  EXPECT_EQ(joined.unmatched_instances, 0);
  const JobGroup& group = joined.groups[static_cast<size_t>(joined.collectives[0].group)];
  EXPECT_TRUE(group.is_p2p);
  EXPECT_FALSE(group.inferred);
  EXPECT_EQ(group.ranks, (std::vector<RankId>{2, 6}));
  EXPECT_EQ(joined.collectives[0].op, CommOp::kSendRecv);
  EXPECT_EQ(joined.collectives[1].members[0].instance, 1);
}

TEST(PointToPoint, GlobalPeersOfTheWorldGroup) {
  const std::vector<LocalGroup> world{{.name = "0", .desc = "default_pg", .ranks = {0, 1, 2, 3}, .is_device = true}};
  const JobComms joined =
      JoinComms({Rank(0, world, {Row(CommOp::kSend, 0, 2, 3, 0), Row(CommOp::kSend, 4, 6, 2, 0)}),
                 Rank(2, world, {Row(CommOp::kRecv, 5, 6, 0, 0)}), Rank(3, world, {Row(CommOp::kRecv, 1, 2, 0, 0)})},
                4);
  ASSERT_EQ(joined.collectives.size(), 2u);
  EXPECT_EQ(joined.groups[static_cast<size_t>(joined.collectives[0].group)].ranks, (std::vector<RankId>{0, 3}));
  EXPECT_EQ(joined.groups[static_cast<size_t>(joined.collectives[1].group)].ranks, (std::vector<RankId>{0, 2}));
}

// Global numbers below the size of the group also look like places in its list: the other rows tell.
TEST(PointToPoint, GlobalPeersThatLookLikePlaces) {
  const std::vector<LocalGroup> pp{{.name = "4", .desc = "pp", .ranks = {2, 10, 18, 26}, .is_device = true}};
  const JobComms joined = JoinComms({Rank(2, pp, {Row(CommOp::kSend, 0, 2, 10, 0)}),
                                     Rank(10, pp, {Row(CommOp::kRecv, 1, 2, 2, 0), Row(CommOp::kSend, 4, 6, 18, 0)}),
                                     Rank(18, pp, {Row(CommOp::kRecv, 5, 6, 10, 0)})},
                                    32);
  ASSERT_EQ(joined.collectives.size(), 2u);
  EXPECT_EQ(joined.unmatched_instances, 0);
  EXPECT_EQ(joined.groups[static_cast<size_t>(joined.collectives[0].group)].ranks, (std::vector<RankId>{2, 10}));
  EXPECT_EQ(joined.groups[static_cast<size_t>(joined.collectives[1].group)].ranks, (std::vector<RankId>{10, 18}));
}

TEST(PointToPoint, SendWithoutReceiverIsCounted) {
  const std::vector<LocalGroup> pp{{.name = "4", .desc = "pp", .ranks = {0, 1}, .is_device = true}};
  const JobComms joined = JoinComms({Rank(0, pp, {Row(CommOp::kSend, 0, 2, 1, 0), Row(CommOp::kSend, 10, 12, 1, 0)}),
                                     Rank(1, pp, {Row(CommOp::kRecv, 11, 12, 0, 0)})},
                                    2);
  ASSERT_EQ(joined.collectives.size(), 1u);
  EXPECT_EQ(joined.collectives[0].members[0].instance, 1);  // by time: the first was cut off on the receiver
  EXPECT_EQ(joined.unmatched_instances, 1);
}

// Kernels of a pipeline's neighbours say "send/receive" and no peer: the stages between have twice as many.
TEST(PointToPoint, ExchangeKernelsOfAPipelineArePairedWithNeighbours) {
  const std::vector<LocalGroup> pp{{.name = "4", .desc = "pp", .ranks = {0, 1, 2, 3}, .is_device = true}};
  const auto x = [](int start, int end) { return Row(CommOp::kSendRecv, start, end, -1, 0); };
  const JobComms joined =
      JoinComms({Rank(0, pp, {x(0, 2), x(40, 62)}), Rank(1, pp, {x(1, 2), x(10, 12), x(30, 52), x(60, 62)}),
                 Rank(2, pp, {x(3, 12), x(20, 22), x(25, 42), x(50, 52)}), Rank(3, pp, {x(13, 22), x(40, 42)})},
                4);
  ASSERT_EQ(joined.collectives.size(), 6u);
  EXPECT_EQ(joined.unmatched_instances, 0);
  for (const Collective& c : joined.collectives) {
    const JobGroup& group = joined.groups[static_cast<size_t>(c.group)];
    EXPECT_TRUE(group.is_p2p && group.inferred);
    EXPECT_EQ(group.ranks[1], group.ranks[0] + 1);
  }
}

// Ranks 0, 1 and 2 are the stages of a pipeline; each direction to each neighbour has a stream of its own, and no row
// names a peer or a group. Micro-batches come at uneven times: forward at 0 and 10 ms, back at 20 and 30; a receive is
// there before its send begins, and both end together.
std::vector<RankComms> PeerlessPipeline(int batches) {
  const std::vector<LocalGroup> streams(4, LocalGroup{.is_device = true});
  std::vector<RankComms> ranks;
  for (RankId r = 0; r < 3; ++r) ranks.push_back(Rank(r, streams, {}));
  for (int k = 0; k < batches; ++k) {
    const int t = 100 * k + 7 * k % 31;
    const auto send = [&](int from, int to, int lane_from, int lane_to, int at) {
      ranks[static_cast<size_t>(from)].instances.push_back(Row(CommOp::kSend, at, at + 3, -1, lane_from));
      ranks[static_cast<size_t>(to)].instances.push_back(Row(CommOp::kRecv, at - 2, at + 3, -1, lane_to));
    };
    send(0, 1, 0, 0, t + 7 * k % 5);
    send(1, 2, 1, 0, t + 15 + 5 * k % 7);
    send(2, 1, 1, 2, t + 30 + 3 * k % 7);
    send(1, 0, 3, 1, t + 45 + 11 * k % 5);
  }
  return ranks;
}

TEST(PointToPoint, APipelineOfThreeStagesThatNamesNobodyIsPairedByStreams) {
  const JobComms joined = JoinComms(PeerlessPipeline(24), 3);
  EXPECT_EQ(joined.unmatched_instances, 0);
  ASSERT_EQ(joined.collectives.size(), 4U * 24);
  std::map<std::vector<RankId>, int> pairs;
  for (const Collective& c : joined.collectives) {
    const JobGroup& group = joined.groups[static_cast<size_t>(c.group)];
    EXPECT_TRUE(group.is_p2p && group.inferred);
    ++pairs[group.ranks];
  }
  EXPECT_EQ(pairs, (std::map<std::vector<RankId>, int>{{{0, 1}, 48}, {{1, 2}, 48}}));
}

TEST(PointToPoint, PlacesInAGroupThatIsNotKnownAreNoRanks) {
  // Two pipelines, 0 with 2 and 1 with 3; nothing says so, and each rank names the other's place: 1 and 0. Rank 1 names
  // itself, by that, and 0, 2 and 3 ranks that do not name them. 24 batches there and back, at times of their own.
  std::vector<RankComms> ranks;
  for (RankId r = 0; r < 4; ++r) ranks.push_back(Rank(r, {LocalGroup{}}, {}));
  for (int k = 0; k < 24; ++k) {
    for (const int first : {0, 1}) {
      const int at = 100 * k + (first == 0 ? 7 : 11) * k % 31 + 4 * first;
      const auto send = [&](int from, int to, int there, int begin) {
        ranks[static_cast<size_t>(from)].instances.push_back(Row(CommOp::kSend, begin, begin + 3, there, 0));
        ranks[static_cast<size_t>(to)].instances.push_back(Row(CommOp::kRecv, begin - 2, begin + 3, 1 - there, 0));
      };
      send(first, first + 2, 1, at);
      send(first + 2, first, 0, at + 30 + 5 * k % 7);
    }
  }
  const JobComms joined = JoinComms(ranks, 4);
  EXPECT_EQ(joined.unmatched_instances, 0);
  std::map<std::vector<RankId>, int> pairs;
  for (const Collective& c : joined.collectives) ++pairs[joined.groups[static_cast<size_t>(c.group)].ranks];
  EXPECT_EQ(pairs, (std::map<std::vector<RankId>, int>{{{0, 2}, 48}, {{1, 3}, 48}}));
}

TEST(PointToPoint, APipelineThatNamesNobodyAndDoesNotFitIsCounted) {
  // What the last stage does happens at other times: 24 sends and as many receives of it, and those of its neighbour.
  std::vector<RankComms> ranks = PeerlessPipeline(24);
  for (CommInstance& row : ranks[2].instances) {
    const Nanos off = row.start % (13 * kMillisecond) * 7;
    row.start += off;
    row.end += off;
  }
  const JobComms joined = JoinComms(ranks, 3);
  EXPECT_TRUE(joined.collectives.empty());
  EXPECT_EQ(joined.unmatched_instances, 8 * 24);
  EXPECT_FALSE(joined.notes.empty());
}

}  // namespace
}  // namespace headway::trace
