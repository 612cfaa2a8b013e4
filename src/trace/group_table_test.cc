// SPDX-License-Identifier: Apache-2.0
#include "trace/group_table.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace headway::trace {
namespace {

std::vector<RankId> Range(RankId first, RankId last, RankId step = 1) {
  std::vector<RankId> ranks;
  for (RankId r = first; r < last; r += step) ranks.push_back(r);
  return ranks;
}

RankComms Rank(RankId rank, std::vector<ProcessGroup> declared, std::vector<LocalGroup> groups) {
  RankComms out;
  out.rank = rank;
  out.host = "a";
  out.declared = std::move(declared);
  out.groups = std::move(groups);
  return out;
}

const JobGroup& GroupOf(const GroupTable& table, size_t rank_index, size_t local) {
  return table.groups.at(static_cast<size_t>(table.of_local.at(rank_index).at(local)));
}

TEST(ResolveNamedGroups, LocalNamesMayMeanDifferentGroups) {
  // Both pairs call their group "1"; rank 3 calls it "2".
  const std::vector<RankComms> ranks{Rank(0, {}, {{.name = "1", .desc = "tp", .ranks = {0, 1}}}),
                                     Rank(1, {}, {{.name = "1", .desc = "tp", .ranks = {0, 1}}}),
                                     Rank(2, {}, {{.name = "1", .desc = "tp", .ranks = {2, 3}}}),
                                     Rank(3, {}, {{.name = "2", .desc = "tp", .ranks = {3, 2}}})};
  const GroupTable table = ResolveNamedGroups(ranks, 4);
  EXPECT_EQ(table.of_local[0], table.of_local[1]);
  EXPECT_EQ(table.of_local[2], table.of_local[3]);
  EXPECT_NE(table.of_local[0], table.of_local[2]);
  EXPECT_EQ(GroupOf(table, 0, 0).name, "1");
  EXPECT_EQ(GroupOf(table, 2, 0).name, "");  // the members do not agree
  EXPECT_EQ(GroupOf(table, 3, 0).ranks, Range(2, 4));
}

TEST(ResolveNamedGroups, SameMembersWithOtherDescriptionsAreOtherGroups) {
  const std::vector<ProcessGroup> declared{{.name = "0", .desc = "default_pg", .ranks = Range(0, 4)},
                                           {.name = "1", .desc = "mesh_ep", .ranks = Range(0, 4)}};
  const std::vector<LocalGroup> groups{{.name = "1"}, {.name = "0"}};
  const GroupTable table = ResolveNamedGroups({Rank(0, declared, groups), Rank(1, declared, groups)}, 4);
  EXPECT_NE(table.of_local[0][0], table.of_local[0][1]);
  EXPECT_EQ(GroupOf(table, 1, 0).desc, "mesh_ep");
  EXPECT_EQ(table.of_local[0], table.of_local[1]);
  EXPECT_EQ(table.declared[0].size(), 2u);
}

TEST(ResolveNamedGroups, CutListIsCompletedFromTheRanksOwnMetadata) {
  const std::vector<ProcessGroup> declared{{.name = "0", .desc = "default_pg", .ranks = Range(0, 64)}};
  const std::vector<LocalGroup> groups{{.name = "0", .ranks = Range(0, 30), .size = 64}};
  const GroupTable table = ResolveNamedGroups({Rank(5, declared, groups)}, 64);
  EXPECT_EQ(GroupOf(table, 0, 0).ranks, Range(0, 64));
}

TEST(ResolveNamedGroups, CutListIsCompletedFromALikeGroupOfAnotherRank) {
  const std::vector<ProcessGroup> declared{{.name = "7", .desc = "dp", .ranks = Range(0, 80, 2)}};
  const std::vector<LocalGroup> cut{{.name = "3", .desc = "dp", .ranks = Range(0, 60, 2), .size = 40}};
  const GroupTable table = ResolveNamedGroups({Rank(0, declared, {}), Rank(70, {}, cut), Rank(71, {}, cut)}, 80);
  EXPECT_EQ(GroupOf(table, 1, 0).ranks, Range(0, 80, 2));
  EXPECT_NE(table.of_local[2][0], table.of_local[1][0]);  // rank 71 is in no group that looks so
}

TEST(ResolveNamedGroups, CutListThatNobodyHasWholeIsSaid) {
  const std::vector<LocalGroup> cut{{.name = "3", .desc = "dp", .ranks = Range(0, 30), .size = 40}};
  const GroupTable table = ResolveNamedGroups({Rank(0, {}, cut), Rank(35, {}, cut)}, 80);
  std::vector<RankId> known = Range(0, 30);
  known.push_back(35);
  EXPECT_EQ(GroupOf(table, 0, 0).ranks, known);
  EXPECT_EQ(table.of_local[0], table.of_local[1]);
  ASSERT_EQ(table.notes.size(), 1u);
}

TEST(ResolveNamedGroups, WorldNeedsNoList) {
  const GroupTable table = ResolveNamedGroups({Rank(0, {}, {{.name = "0", .desc = "default_pg"}})}, 6);
  EXPECT_EQ(GroupOf(table, 0, 0).ranks, Range(0, 6));
}

TEST(ResolveNamedGroups, MissingDescriptionIsTakenFromTheOnlyGroupOfTheseMembers) {
  const GroupTable table = ResolveNamedGroups({Rank(0, {}, {{.name = "1", .desc = "mesh_tp", .ranks = {0, 1}}}),
                                               Rank(1, {}, {{.name = "1", .desc = "undefined", .ranks = {0, 1}}})},
                                              2);
  EXPECT_EQ(table.of_local[0], table.of_local[1]);
  EXPECT_EQ(GroupOf(table, 1, 0).desc, "mesh_tp");
}

TEST(ResolveNamedGroups, RepeatedGroupsAreToldApartByNameOrByOrder) {
  // The names fit together: rank 1 uses only the second one.
  const std::vector<LocalGroup> both{{.name = "1", .ranks = {0, 1}}, {.name = "2", .ranks = {0, 1}}};
  const std::vector<LocalGroup> second{{.name = "2", .ranks = {0, 1}}};
  const GroupTable named = ResolveNamedGroups({Rank(0, {}, both), Rank(1, {}, second)}, 2);
  EXPECT_EQ(named.of_local[1][0], named.of_local[0][1]);
  // They do not: the order of creation decides.
  const std::vector<LocalGroup> others{{.name = "11", .ranks = {0, 1}}, {.name = "9", .ranks = {0, 1}}};
  const GroupTable ordered = ResolveNamedGroups({Rank(0, {}, both), Rank(1, {}, others)}, 2);
  EXPECT_EQ(ordered.of_local[1][1], ordered.of_local[0][0]);
  EXPECT_EQ(ordered.of_local[1][0], ordered.of_local[0][1]);
}

TEST(ResolveNamedGroups, LanesStayForInference) {
  const GroupTable table = ResolveNamedGroups({Rank(0, {}, {{.lane_tid = 7}})}, 2);
  EXPECT_EQ(table.of_local[0][0], -1);
  EXPECT_TRUE(table.groups.empty());
}

}  // namespace
}  // namespace headway::trace
