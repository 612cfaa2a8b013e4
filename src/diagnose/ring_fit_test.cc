// SPDX-License-Identifier: Apache-2.0
// The slow way out that ends of rings show though the hosts' clocks are off.
#include "diagnose/ring_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// A job whose rings are told by hand: how much before the receiver behind the link out of `sender` a member ends.
class Rings {
 public:
  Rings(int ranks, int per_host) : mesh_({.ranks = ranks, .per_host = per_host}) {}

  // Members send to the next one (`down`: to the one before). An operation of `takes`; `hop` 0 = nothing is slow.
  void Add(const MadeMesh::Members& members, bool down, CommOp op, Nanos takes, int sender, Nanos hop) {
    added_.push_back(
        {mesh_.Group("group" + std::to_string(added_.size()), members), members, down, op, takes, sender, hop});
  }
  // `odd`: what ranks of odd number end later by, whatever runs.
  Job Make(int steps = 6, Nanos odd = 0) {
    for (int s = 0; s < steps; ++s) {
      mesh_.Step();
      mesh_.ComputeAll(Ms(100));
      for (const Added& a : added_) mesh_.Meet(a.group, a.op, 1'000'000, EndsOf(a, odd));
    }
    Job job = JoinJob(mesh_.Make());
    for (trace::HostClock& clock : job.comms.clocks) clock = {.host = clock.host};
    return job;
  }
  // Of a job that was made here, the way round of each channel.
  [[nodiscard]] std::vector<Ring> Of(const std::vector<Channel>& channels) const {
    std::vector<Ring> out;
    for (const Channel& channel : channels) {
      const auto of_channel = [&](const Added& a) {
        return a.op == channel.op && std::equal(a.members.begin(), a.members.end(), channel.ranks.begin());
      };
      const Added& a = *std::find_if(added_.begin(), added_.end(), of_channel);
      out.push_back({&channel, {a.members.begin(), a.members.end()}});
      if (a.down) std::reverse(out.back().members.begin(), out.back().members.end());
    }
    return out;
  }

 private:
  struct Added {
    int group;
    MadeMesh::Members members;
    bool down;
    CommOp op;
    Nanos takes;
    int sender;
    Nanos hop;
  };
  static std::vector<Nanos> EndsOf(const Added& a, Nanos odd) {
    const int n = static_cast<int>(a.members.size());
    const int at = static_cast<int>(std::find(a.members.begin(), a.members.end(), a.sender) - a.members.begin());
    std::vector<Nanos> out;
    for (int i = 0; i < n; ++i) {
      const int behind = a.down ? at - 1 - i : i - (at + 1);
      out.push_back(a.takes - a.hop * ((behind + 2 * n) % n) + (a.members[static_cast<size_t>(i)] % 2 != 0 ? odd : 0));
    }
    return out;
  }

  MadeMesh mesh_;
  std::vector<Added> added_;
};

using Links = std::vector<std::pair<RankId, RankId>>;

// Sender and receiver of each ring that is slow; none where nothing fits.
Links Fit(const Rings& rings, const Job& job) {
  const std::vector<Channel> channels = CollectChannels(job);
  const auto fit = FitRings(job, rings.Of(channels));
  Links out;
  if (!fit) return out;
  for (const RingFit::Link& link : fit->links) out.emplace_back(link.sender, link.receiver);
  return out;
}

MadeMesh::Members UpTo(int n) {
  MadeMesh::Members all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(RingFit, ALinkInsideAHostIsToldWhateverTheClocksAre) {
  for (const Nanos off : {Nanos{0}, Ms(30), -Ms(30)}) {
    Rings rings(8, 4);
    rings.Add(UpTo(8), false, CommOp::kAllGather, Ms(10), 2, Us(500));
    Job job = rings.Make();
    job.comms.clocks.back().offset = off;
    EXPECT_EQ(Fit(rings, job), (Links{{2, 3}})) << off;
    const std::vector<Channel> channels = CollectChannels(job);
    const auto fit = FitRings(job, rings.Of(channels));
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(static_cast<double>(fit->links[0].hop), 5e5, 1e3);
  }
}

TEST(RingFit, BetweenTwoHostsItMayBeEitherLinkUnlessAnotherRingTurnsTheOtherWay) {
  Rings one(8, 4);
  one.Add(UpTo(8), false, CommOp::kAllGather, Ms(10), 3, Us(500));
  EXPECT_EQ(Fit(one, one.Make()), Links{});
  Rings two(8, 4);
  two.Add(UpTo(8), false, CommOp::kAllGather, Ms(10), 3, Us(500));
  two.Add(UpTo(8), true, CommOp::kReduceScatter, Ms(10), 0, Us(400));  // the other card of that host: sends from 0 to 7
  const Job job = two.Make();
  EXPECT_EQ(Fit(two, job), (Links{{3, 4}, {0, 7}}));
}

TEST(RingFit, EndsThatLieOtherwiseAreNoRing) {
  // Every second member ends 1 ms later: of stairs of 0.5 ms that leaves a good half.
  Rings rings(8, 4);
  rings.Add(UpTo(8), false, CommOp::kAllGather, Ms(10), 2, Us(500));
  EXPECT_EQ(Fit(rings, rings.Make(6, Ms(1))), Links{});
}

// Four hosts of four ranks, a group across for each place, whose gathers go up and whose reductions go down, out of the
// ranks of host 1 slowly.
void AddAcross(Rings* rings, bool both, Nanos hop) {
  for (int place = 0; place < 4; ++place) {
    const MadeMesh::Members members{place, place + 4, place + 8, place + 12};
    rings->Add(members, false, CommOp::kAllGather, Ms(8), place + 4, hop);
    if (both) rings->Add(members, true, CommOp::kReduceScatter, Ms(8), place + 4, hop);
  }
}

TEST(RingFit, OneMemberAHostIsToldByRingsThatTurnEitherWay) {
  Rings one(16, 4);
  AddAcross(&one, false, Ms(1));
  EXPECT_EQ(Fit(one, one.Make()), Links{});  // clocks explain it all
  Rings both(16, 4);
  AddAcross(&both, true, Ms(1));
  Job job = both.Make();
  for (size_t c = 0; c < 4; ++c) job.comms.clocks[c].offset = Ms(7) * static_cast<Nanos>(c * c);
  EXPECT_EQ(Fit(both, job), (Links{{4, 8}, {4, 0}, {5, 9}, {5, 1}, {6, 10}, {6, 2}, {7, 11}, {7, 3}}));
}

TEST(RingFit, OneMemberAHostIsToldByAShortOperationOverAllHosts) {
  // Clocks that took the hops for their own: all long ones end together, all short ones apart.
  Rings rings(16, 4);
  AddAcross(&rings, false, Ms(1));
  rings.Add(UpTo(16), true, CommOp::kAllReduce, Us(300), 4, 0);
  Job job = rings.Make();
  const Nanos before[] = {Ms(2), Ms(3), 0, Ms(1)};  // the receiver, host 2, ends last
  for (size_t c = 0; c < 4; ++c) job.comms.clocks[c].offset = before[c];
  EXPECT_EQ(Fit(rings, job), (Links{{4, 8}, {5, 9}, {6, 10}, {7, 11}}));
}

TEST(RingFit, WhereNothingIsSlowNothingIsFound) {
  Rings rings(16, 4);
  AddAcross(&rings, true, 0);
  Job job = rings.Make(6, Us(20));
  for (size_t c = 0; c < 4; ++c) job.comms.clocks[c].offset = Ms(7) * static_cast<Nanos>(c * c);
  EXPECT_EQ(Fit(rings, job), Links{});
}

TEST(RingFit, FewEndsFitAnything) {
  // Two ranks on either of two hosts: four ends less the operation's time, a clock and a hop leave one.
  Rings rings(4, 2);
  rings.Add(UpTo(4), false, CommOp::kAllGather, Ms(10), 0, Us(500));
  EXPECT_EQ(Fit(rings, rings.Make()), Links{});
  // On one host none is lost to a clock, six of eight are left; but five calls are too few.
  for (const int calls : {5, 6}) {
    Rings more(8, 8);
    more.Add(UpTo(8), false, CommOp::kAllGather, Ms(10), 0, Us(500));
    EXPECT_EQ(Fit(more, more.Make(calls)), calls == 6 ? (Links{{0, 1}}) : Links{});
  }
}

TEST(RingFit, MoreThanFourMillionRanksTimesEndsAreTooMany) {
  std::vector<Ring> rings(1);
  rings[0].members.resize(2048);  // 2^11 ranks, each with one end: 2^22
  for (size_t i = 0; i < 2048; ++i) rings[0].members[i] = i;
  EXPECT_FALSE(AreTooMany(rings));
  rings.push_back({nullptr, {0}});  // one end more of a known rank
  EXPECT_TRUE(AreTooMany(rings));
}

}  // namespace
}  // namespace headway::diagnose
