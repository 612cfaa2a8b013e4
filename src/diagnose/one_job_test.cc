// SPDX-License-Identifier: Apache-2.0
#include "diagnose/one_job.h"

#include <gtest/gtest.h>

#include "diagnose/made_job.h"

namespace headway::diagnose {
namespace {

using Ranks = std::vector<pattern::RankPattern>;

constexpr char kDoubt[] = "these may be traces of different jobs or captures: ";

// All of a rank's times later: its clock, or another day.
void Shift(Nanos by, pattern::RankPattern* rank) {
  for (Nanos* time : {&rank->window_start, &rank->window_end}) *time += by;
  for (pattern::Step& step : rank->steps) {
    for (Nanos* time : {&step.start, &step.end, &step.marked_end, &step.longest_stretch_start}) *time += by;
  }
  for (Nanos& start : rank->comms.step_starts) start += by;
  for (trace::CommInstance& c : rank->comms.instances) {
    for (Nanos* time : {&c.start, &c.end, &c.exposed_begin, &c.exposed_end}) *time += by;
  }
}

void MoveTo(const std::string& host, pattern::RankPattern* rank) { rank->meta.host = rank->comms.host = host; }

std::string Doubt(Ranks ranks) {
  const Job job = JoinJob(std::move(ranks));
  EXPECT_LE(job.doubts.size(), 1U);
  return job.doubts.empty() ? "" : job.doubts[0];
}

TEST(OneJob, IsNotDoubtedForBeingSlowOrLate) {
  MadeJob made;
  made.entry_skew = 300 * kMillisecond;
  made.extra = [](int rank, int step) { return rank == 2 && step == 3 ? kSecond : 0; };
  EXPECT_EQ(Doubt(Make(made)), "");
}

// 6 steps of 102 ms: windows of 0.6 s. A year later none of the others was there to wait for.
TEST(OneJob, RanksOfOneClockAYearApart) {
  Ranks ranks = Make({});
  for (const size_t r : {2U, 3U}) Shift(365 * 24 * 3600 * kSecond, &ranks[r]);
  const std::string doubt = Doubt(std::move(ranks));
  EXPECT_EQ(doubt.find(kDoubt), 0U) << doubt;
  EXPECT_NE(doubt.find("ranks 2, 3 of host n0 were recorded 8760 h 00 min after ranks 0, 1 by the same clock"),
            std::string::npos)
      << doubt;
}

// Clocks of hosts stand where they stand: aligned, a year makes no difference.
TEST(OneJob, HostsOfWhichOneIsAYearAhead) {
  Ranks ranks = Make({});
  for (const size_t r : {2U, 3U}) {
    MoveTo("n1", &ranks[r]);
    Shift(365 * 24 * 3600 * kSecond, &ranks[r]);
  }
  EXPECT_EQ(Doubt(std::move(ranks)), "");
}

TEST(OneJob, OtherVersions) {
  Ranks ranks = Make({});
  for (size_t r = 0; r < ranks.size(); ++r) ranks[r].meta.versions = {{"pytorch_version", r == 3 ? "2.8" : "2.9"}};
  EXPECT_EQ(Doubt(std::move(ranks)), std::string(kDoubt) + "the files name pytorch version 2.8 and 2.9");
}

// Rank 0 says that it shares a group with rank 1; the file of rank 1 knows a group with rank 3 instead.
TEST(OneJob, GroupsThatTheirMembersDoNotKnow) {
  Ranks ranks = Make({});
  ranks[0].comms.declared.push_back({"1", "tp", "gloo", {0, 1}});
  ranks[1].comms.declared.push_back({"1", "tp", "gloo", {1, 3}});
  ranks[3].comms.declared.push_back({"1", "tp", "gloo", {1, 3}});
  EXPECT_EQ(Doubt(std::move(ranks)),
            std::string(kDoubt) + "rank 1 does not declare a group that others say they share");
}

// Two runs of the same program begun at the same moment: shapes, groups and sequence numbers agree, but in the second
// one steps take 170 ms instead of 102. From the second step on one run's ranks are done before the other's arrive.
TEST(OneJob, CollectivesThatEndBeforeAnotherRankBegins) {
  MadeJob slower;
  slower.own = [](int, int) { return 168 * kMillisecond; };
  Ranks ranks = Make({}), others = Make(slower);
  for (Ranks* run : {&ranks, &others}) {
    for (pattern::RankPattern& rank : *run) {
      int64_t seq = 0;
      for (trace::CommInstance& c : rank.comms.instances) c.seq = seq++;
    }
  }
  ranks[3] = others[3];
  const std::string doubt = Doubt(std::move(ranks));
  EXPECT_EQ(doubt.find(kDoubt), 0U) << doubt;
  // Steps end at 102 n against arrivals at 170 n - 2: 66 ms too late in the first step, 66 + 5 * 68 = 406 in the last.
  EXPECT_NE(doubt.find("6 of 6 collectives end on one rank before another begins them, by up to 406 ms"),
            std::string::npos)
      << doubt;
}

}  // namespace
}  // namespace headway::diagnose
