// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "trace/comm.h"
#include "trace/comm_test_job.h"

namespace headway::trace {
namespace {

TestJobSpec ThreeLevels() {
  TestJobSpec spec;
  spec.dims = {{"pp", 2}, {"dp", 2}, {"tp", 2}};
  return spec;
}

bool HasGroup(const JobComms& joined, const std::vector<RankId>& ranks, const std::string& desc, bool p2p) {
  return std::any_of(joined.groups.begin(), joined.groups.end(),
                     [&](const JobGroup& g) { return g.ranks == ranks && g.desc == desc && g.is_p2p == p2p; });
}

// Everything but indices of ranks.
std::string Describe(const std::vector<RankComms>& ranks, const JobComms& joined) {
  std::string text;
  for (const JobGroup& g : joined.groups) {
    text += g.desc + g.name + (g.is_p2p ? "p" : "c") + (g.inferred ? "i" : "-");
    for (const RankId r : g.ranks) text += " " + std::to_string(r);
    text += "\n";
  }
  for (const Collective& c : joined.collectives) {
    text += std::to_string(c.group) + "/" + std::to_string(c.ordinal) + "/" + std::to_string(c.step) + ToString(c.op) +
            std::to_string(c.bytes);
    for (const CollectiveMember& m : c.members) {
      text += " " + std::to_string(ranks[static_cast<size_t>(m.rank_index)].rank) + ":" + std::to_string(m.instance);
    }
    text += "\n";
  }
  for (const HostClock& c : joined.clocks) {
    text += c.host + " " + std::to_string(c.offset) + " " + std::to_string(c.drift * 1e9) + " " +
            std::to_string(c.residual) + " " + std::to_string(c.pairs) + "\n";
  }
  for (const std::string& note : joined.notes) text += note + "\n";
  return text;
}

TEST(JoinComms, FindsTheGroupsOfAThreeLevelMeshFromThreads) {
  const TestJob job = MakeTestJob(ThreeLevels());
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_EQ(joined.unmatched_instances, 0);
  EXPECT_EQ(joined.inconsistent, 0);
  EXPECT_TRUE(HasGroup(joined, {0, 1}, "mesh_tp", false));
  EXPECT_TRUE(HasGroup(joined, {5, 7}, "mesh_dp", false));
  EXPECT_TRUE(HasGroup(joined, {3, 7}, "mesh_pp", true));
  EXPECT_TRUE(HasGroup(joined, {0, 1, 2, 3, 4, 5, 6, 7}, "default_pg", false));
}

TEST(JoinComms, FindsTheGroupsWhereNoFileDeclaresAny) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    TestJobSpec spec = ThreeLevels();
    spec.declared = false;
    spec.seed = seed;
    const TestJob job = MakeTestJob(spec);
    const JobComms joined = JoinComms(job.ranks, 8);
    EXPECT_EQ(CountMixed(job, joined), 0) << seed;
    EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job)) << seed;
    EXPECT_TRUE(HasGroup(joined, {4, 6}, "", false)) << seed;
  }
}

TEST(JoinComms, UsesNamesListsAndNumbersOfADevice) {
  TestJobSpec spec = ThreeLevels();
  spec.device = true;
  spec.ranks_per_host = 2;
  spec.offset = {0, 40'000'000, -35'000'000, 1'000'000};
  TestJob job = MakeTestJob(spec);
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_EQ(joined.unmatched_instances, 0);
  ASSERT_EQ(joined.clocks.size(), 4u);
  // True offsets undone, to within the jitter of 5 us.
  EXPECT_NEAR(static_cast<double>(joined.clocks[1].offset), -40e6, 5e3);
  EXPECT_NEAR(static_cast<double>(joined.clocks[2].offset), 35e6, 5e3);
  EXPECT_NEAR(static_cast<double>(joined.clocks[3].offset), -1e6, 5e3);
}

TEST(JoinComms, PairsALongerPipelineByTimesAlone) {
  TestJobSpec spec;
  spec.dims = {{"pp", 4}, {"dp", 2}};
  const TestJob job = MakeTestJob(spec);
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(joined.unmatched_instances, 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_TRUE(HasGroup(joined, {2, 4}, "mesh_pp", true));
}

TEST(JoinComms, MissingStageDoesNotSpoilTheRestOfAPipeline) {
  TestJobSpec spec;
  spec.dims = {{"pp", 5}, {"dp", 2}};
  TestJob job = MakeTestJob(spec);
  KeepRanks(&job, [](RankId r) { return r != 4; });  // stage 2 of replica 0
  const JobComms joined = JoinComms(job.ranks, 10);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_TRUE(HasGroup(joined, {0, 2}, "mesh_pp", true));
  EXPECT_TRUE(HasGroup(joined, {6, 8}, "mesh_pp", true));
  // Two micro-batch sends and two receives a step with the missing stage, on either side: 4 * 6 * 4 rows; the group of
  // rank 5 with its missing partner in dp: 4 * 6 rows.
  EXPECT_EQ(joined.unmatched_instances, 4 * 6 * 4 + 4 * 6);
}

TEST(JoinComms, MissingRanksLeaveTheOthersGroupsRight) {
  TestJob job = MakeTestJob(ThreeLevels());
  KeepRanks(&job, [](RankId r) { return r == 0 || r == 3 || r == 5 || r == 6 || r == 7; });
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_TRUE(HasGroup(joined, {0, 1, 2, 3, 4, 5, 6, 7}, "default_pg", false));
}

TEST(JoinComms, WindowsMayBeginAndEndAnywhere) {
  for (const bool device : {false, true}) {
    TestJobSpec spec = ThreeLevels();
    spec.device = device;
    TestJob job = MakeTestJob(spec);
    for (size_t r = 0; r < job.ranks.size(); ++r) {
      const size_t size = job.ranks[r].instances.size();
      DropRows(&job, r, [&](size_t i) { return i < 2 * r || i + (8 - r) > size; });
    }
    const JobComms joined = JoinComms(job.ranks, 8);
    EXPECT_EQ(CountMixed(job, joined), 0) << device;
    // The first and the last operation of a group may stay alone on a rank; few others.
    EXPECT_GE(static_cast<int64_t>(joined.collectives.size()), CountTrue(job) - 4) << device;
  }
}

TEST(JoinComms, RankWithHolesIsPlacedByTimeAndSpoilsNobody) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}};
  spec.ranks_per_host = 1;
  spec.offset = {0, 7'000'000, -20'000'000, 3'000'000};
  TestJob job = MakeTestJob(spec);
  const size_t before = job.ranks[2].instances.size();
  DropRows(&job, 2, [](size_t i) { return i % 7 == 3 || (i > 12 && i < 17); });
  ASSERT_LT(job.ranks[2].instances.size(), before);
  const JobComms joined = JoinComms(job.ranks, 4);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(static_cast<int64_t>(joined.collectives.size()), CountTrue(job));
  EXPECT_LE(joined.unmatched_instances, 1);
}

TEST(JoinComms, OperationsThatDisagreeAreLeftOutAndCounted) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}};
  spec.device = true;
  TestJob job = MakeTestJob(spec);
  // One rank calls something else twice, under the same sequence numbers.
  job.ranks[1].instances[3].op = CommOp::kBroadcast;
  job.ranks[1].instances[8].bytes += 1;
  const JobComms joined = JoinComms(job.ranks, 4);
  EXPECT_EQ(joined.inconsistent, 2);
  int64_t of_three = 0;
  for (const Collective& c : joined.collectives) of_three += c.members.size() == 3 ? 1 : 0;
  EXPECT_EQ(of_three, 2);
}

TEST(JoinComms, AnswerDoesNotDependOnThreadsOrOrder) {
  TestJobSpec spec = ThreeLevels();
  spec.ranks_per_host = 2;
  spec.offset = {5'000'000, 0, -9'000'000, 2'000'000};
  const TestJob job = MakeTestJob(spec);
  const std::string expected = Describe(job.ranks, JoinComms(job.ranks, 8, 1));
  EXPECT_EQ(Describe(job.ranks, JoinComms(job.ranks, 8, 2)), expected);
  std::vector<RankComms> shuffled = job.ranks;
  std::mt19937 random(3);
  for (int round = 0; round < 4; ++round) {
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    EXPECT_EQ(Describe(shuffled, JoinComms(shuffled, 8)), expected);
  }
}

TEST(JoinComms, OffsetAddedToAHostComesOutExactly) {
  TestJobSpec spec = ThreeLevels();
  spec.ranks_per_host = 2;
  spec.per_step = 12;
  const TestJob plain = MakeTestJob(spec);
  const JobComms before = JoinComms(plain.ranks, 8);
  std::vector<RankComms> shifted = plain.ranks;
  const std::vector<Nanos> added{-12'345'000, 49'999'000, 1'000, -50'000'000};
  for (RankComms& rank : shifted) {
    const Nanos by = added[static_cast<size_t>(rank.rank / 2)];
    for (Nanos& s : rank.step_starts) s += by;
    for (CommInstance& row : rank.instances) {
      row.start += by;
      row.end += by;
    }
  }
  const JobComms after = JoinComms(shifted, 8);
  ASSERT_EQ(after.clocks.size(), before.clocks.size());
  for (size_t c = 0; c < after.clocks.size(); ++c) {
    // The reference host keeps offset 0, so its own shift shows in the others'.
    EXPECT_EQ(after.clocks[c].offset, before.clocks[c].offset - added[c] + added[0]) << c;
    EXPECT_EQ(after.clocks[c].residual, before.clocks[c].residual) << c;
    EXPECT_EQ(after.clocks[c].drift, before.clocks[c].drift) << c;
  }
  ASSERT_EQ(after.collectives.size(), before.collectives.size());
  for (size_t i = 0; i < after.collectives.size(); ++i) {
    EXPECT_EQ(after.collectives[i].group, before.collectives[i].group);
    EXPECT_EQ(after.collectives[i].ordinal, before.collectives[i].ordinal);
  }
}

TEST(JoinComms, HostsWithoutNameKeepTheirTimesIfTheyAgree) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}};
  spec.ranks_per_host = 1;
  TestJob job = MakeTestJob(spec);
  for (RankComms& rank : job.ranks) {
    rank.host.clear();
    rank.host_known = false;
  }
  const JobComms agreeing = JoinComms(job.ranks, 4);
  ASSERT_EQ(agreeing.clocks.size(), 1u);
  EXPECT_EQ(agreeing.clocks[0].offset, 0);
  // Two jitters of 5 us; but ends of a host backend may lie 0.1 ms apart each time, a tenth of 0.3 ms beside it.
  EXPECT_LE(agreeing.clocks[0].residual, 110'000);
  for (CommInstance& row : job.ranks[2].instances) {
    row.start += 3'000'000;
    row.end += 3'000'000;
  }
  const JobComms apart = JoinComms(job.ranks, 4);
  ASSERT_EQ(apart.clocks.size(), 4u);
  EXPECT_NEAR(static_cast<double>(apart.clocks[2].offset), -3e6, 5e3);
}

TEST(JoinComms, FilesOfAnotherTimeAreStrangers) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}};
  TestJob job = MakeTestJob(spec);
  const Nanos day = 86'400 * kSecond;
  for (CommInstance& row : job.ranks[3].instances) {
    row.start += day;
    row.end += day;
  }
  for (Nanos& s : job.ranks[3].step_starts) s += day;
  const JobComms joined = JoinComms(job.ranks, 4);
  for (const Collective& c : joined.collectives) EXPECT_EQ(c.members.size(), 3u);
  const bool said = std::any_of(joined.notes.begin(), joined.notes.end(),
                                [](const std::string& n) { return n.find("rank (3)") != std::string::npos; });
  EXPECT_TRUE(said);
}

TEST(JoinComms, NothingToJoinIsFine) {
  EXPECT_TRUE(JoinComms({}, 0).groups.empty());
  RankComms lonely;
  lonely.rank = 0;
  lonely.host = "a";
  const JobComms joined = JoinComms({lonely}, 1);
  EXPECT_TRUE(joined.collectives.empty());
  ASSERT_EQ(joined.clocks.size(), 1u);
  EXPECT_EQ(joined.clocks[0].offset, 0);
}

TEST(JoinComms, RowsOfImpossibleGroupsAreCounted) {
  TestJobSpec spec;
  spec.dims = {{"dp", 2}};
  TestJob job = MakeTestJob(spec);
  job.ranks[0].instances[2].local_group = 99;
  job.ranks[0].instances[4].step = 12345;
  const JobComms joined = JoinComms(job.ranks, 2);
  EXPECT_GE(joined.unmatched_instances, 1);
  EXPECT_EQ(CountMixed(job, joined), 0);
}

// As older versions wrote them: a stream a group, and nothing that names group, host or size.
void ForgetNames(TestJob* job) {
  for (RankComms& rank : job->ranks) {
    rank.host.clear();
    rank.host_known = false;
    int64_t stream = 20;
    for (LocalGroup& group : rank.groups) group = {.lane = group.lane, .lane_tid = stream += 4, .is_device = true};
    for (CommInstance& row : rank.instances) {
      row.bytes = -1;
      row.seq = -1;
    }
  }
}

// The hosts' clocks lie far apart and drift; a group is known by its ends, which agree within microseconds whatever the
// clocks.
TEST(JoinComms, GroupsOfUnnamedStreamsOnHostsWithoutName) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}, {"tp", 2}};
  spec.device = true;
  spec.declared = false;
  spec.steps = 12;
  spec.ranks_per_host = 2;
  spec.offset = {0, 40 * kMillisecond, -35 * kMillisecond, 9 * kMillisecond};
  spec.drift = {0, 80e-6, -90e-6, 30e-6};
  TestJob job = MakeTestJob(spec);
  ForgetNames(&job);
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_EQ(CountMixed(job, joined), 0);
  EXPECT_EQ(joined.unmatched_instances, 0);
  EXPECT_TRUE(HasGroup(joined, {0, 1, 2, 3, 4, 5, 6, 7}, "", false));
  EXPECT_TRUE(HasGroup(joined, {1, 3, 5, 7}, "", false));
  EXPECT_TRUE(HasGroup(joined, {4, 5}, "", false));
  ASSERT_EQ(joined.clocks.size(), 8u);
}

// Between ranks 4 and 5 ends come to lie up to 2 ms apart, as behind a slow link from some step on. The other three
// pairs tell how large the groups are: what is left is the fourth. Of two such pairs of four nothing is told.
TEST(JoinComms, AGroupWhoseEndsLieApartIsWhatTheOthersLeave) {
  for (const bool two : {false, true}) {
    TestJobSpec spec;
    spec.dims = {{"dp", 4}, {"tp", 2}};
    spec.device = true;
    spec.declared = false;
    spec.steps = 12;
    TestJob job = MakeTestJob(spec);
    for (const size_t r : {size_t{5}, size_t{7}}) {
      if (r == 7 && !two) continue;
      int64_t count = 0;
      for (CommInstance& row : job.ranks[r].instances) {
        const bool is_pair = job.ranks[r].groups[static_cast<size_t>(row.local_group)].ranks.size() == 2;
        if (is_pair) row.end += count++ % 3 * kMillisecond;
      }
    }
    ForgetNames(&job);
    const JobComms joined = JoinComms(job.ranks, 8);
    EXPECT_EQ(CountMixed(job, joined), 0);
    EXPECT_EQ(HasGroup(joined, {4, 5}, "", false), !two);
    EXPECT_EQ(HasGroup(joined, {0, 1}, "", false), !two);
    EXPECT_TRUE(HasGroup(joined, {1, 3, 5, 7}, "", false));
  }
}

// The second stage made its groups the other way round: the second streams are pairs (0,1), (2,3), (4,6) and (5,7), and
// what parts the ends of the last one leaves it as far apart as the third.
TEST(JoinComms, AGroupWhoseEndsLieApartMayLieAsAnotherOfItsStage) {
  TestJobSpec spec;
  spec.dims = {{"stage", 2}, {"dp", 2}, {"tp", 2}};
  spec.device = true;
  spec.declared = false;
  spec.steps = 12;
  TestJob job = MakeTestJob(spec);
  for (size_t r = 4; r < job.ranks.size(); ++r) {
    std::vector<LocalGroup>& groups = job.ranks[r].groups;
    const auto index_of = [&](const char* name) {
      const auto it = std::find_if(groups.begin(), groups.end(), [&](const LocalGroup& g) { return g.desc == name; });
      return static_cast<int32_t>(it - groups.begin());
    };
    const int32_t dp = index_of("mesh_dp"), tp = index_of("mesh_tp");
    int64_t count = 0;
    for (CommInstance& row : job.ranks[r].instances) {
      if (r == 7 && row.local_group == dp) row.end += count++ % 3 * kMillisecond;
      row.local_group = row.local_group == dp ? tp : row.local_group == tp ? dp : row.local_group;
    }
  }
  ForgetNames(&job);
  const JobComms joined = JoinComms(job.ranks, 8);
  EXPECT_TRUE(HasGroup(joined, {2, 3}, "", false));
  EXPECT_TRUE(HasGroup(joined, {4, 6}, "", false));
  EXPECT_TRUE(HasGroup(joined, {5, 7}, "", false));
}

// Of a mesh of 4 x 4 the ranks 3, 5, 8, 9, 10 have files: of those the world is all that any two share on a stream but
// 8 to 10 (a row) and 5, 9 (a column), which is no even partition of the five. Ranks of a mesh run in step, so all five
// overlap in every operation; their ends lie apart by what their ways to it differ (up to 0.1 ms), though, where
// members end within 10 us of each other.
TEST(JoinComms, RanksInStepWhosePartnersAreMissingAreNoGroup) {
  TestJobSpec spec;
  spec.dims = {{"dp", 4}, {"tp", 4}};
  spec.device = true;
  spec.declared = false;
  spec.compute = 100 * kMicrosecond;
  spec.ranks_per_host = 2;
  TestJob job = MakeTestJob(spec);
  ForgetNames(&job);
  TestJob some;
  for (const size_t r : {3, 5, 8, 9, 10}) {
    some.ranks.push_back(job.ranks[r]);
    some.truth.push_back(job.truth[r]);
  }
  const JobComms joined = JoinComms(some.ranks, 16);
  EXPECT_EQ(CountMixed(some, joined), 0);
  ASSERT_EQ(joined.groups.size(), 1u);
  EXPECT_EQ(joined.groups.front().ranks.size(), 16u);  // the world: six steps, one operation in each
  EXPECT_EQ(joined.collectives.size(), 6u);
}

}  // namespace
}  // namespace headway::trace
