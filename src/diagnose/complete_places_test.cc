// SPDX-License-Identifier: Apache-2.0
// Ranks that belong to a finding by their place.
#include "diagnose/complete_places.h"

#include <gtest/gtest.h>

#include <functional>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

// Stages of four ranks each: 0-3, 4-7, 8-11 …, six steps of 100 ms, and `more` of a rank.
Look Stages(int stages, const std::function<Nanos(int)>& more = [](int) { return Nanos{0}; }) {
  MadeMesh mesh({.ranks = 4 * stages});
  std::vector<MadeMesh::Members> pipelines(4);
  for (int r = 0; r < 4 * stages; ++r) pipelines[static_cast<size_t>(r % 4)].push_back(r);
  const std::vector<int> pp = mesh.Groups("mesh_pp", pipelines);
  for (int s = 0; s < 6; ++s) {
    mesh.Step();
    for (int r = 0; r < 4 * stages; ++r) mesh.Compute(r, Ms(100) + more(r));
    for (const int g : pp) mesh.Meet(g, trace::CommOp::kAllReduce, 1000, Ms(1));
  }
  return Look(mesh.Make());
}

RankCandidates About(const std::vector<RankId>& ranks) {
  Candidate candidate;
  candidate.finding.cause = "slow-host-code";
  candidate.finding.scope.ranks = ranks;
  candidate.finding.scope.function = "bmm";
  candidate.finding.sentence = "Slow.";
  candidate.excess.assign(6, Ms(20));
  RankCandidates out;
  out.emplace_back(0, std::move(candidate));
  return out;
}

std::vector<RankId> Completed(int stages, const std::vector<RankId>& ranks, const std::set<size_t>& suspects) {
  Look look = Stages(stages);
  RankCandidates candidates = About(ranks);
  CompletePlaces(look.In(), suspects, &candidates);
  return candidates[0].second.finding.scope.ranks;
}

TEST(CompletePlaces, TheRankThatOneProgramLacksIsAdded) {
  // Places 0 and 1 of stages 0 and 2, and place 1 of stage 1: rank 4 is at place 0 there.
  Look look = Stages(3);
  ASSERT_EQ(look.job.classes.size(), 3U);
  RankCandidates candidates = About({0, 1, 5, 8, 9});
  CompletePlaces(look.In(), {4}, &candidates);
  const Candidate& candidate = candidates[0].second;
  EXPECT_EQ(candidate.finding.scope.ranks, (std::vector<RankId>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(candidate.finding.scope.function, "bmm");
  EXPECT_EQ(candidate.finding.sentence,
            "Slow. Rank 4, at the same place of another program, suffers from something else besides.");
  // 20 of its 100 ms go in each of six steps.
  Nanos less = 0;
  for (const auto& own : candidate.edit.own) less += look.job.graph.marks[own.mark].Own() - own.own;
  EXPECT_NEAR(static_cast<double>(less), 120e6, 1e5);
}

TEST(CompletePlaces, OnlyOneThatSuffersIs) {
  EXPECT_EQ(Completed(3, {0, 1, 5, 8, 9}, {7}), (std::vector<RankId>{0, 1, 5, 8, 9}));
}

TEST(CompletePlaces, TwoProgramsSayNothingOfPlaces) {
  EXPECT_EQ(Completed(2, {0, 1, 5}, {4}), (std::vector<RankId>{0, 1, 5}));
}

TEST(CompletePlaces, NorDoProgramsThatDisagree) {
  // Places 0 and 1, 1, 2 and 3: no two thirds agree.
  EXPECT_EQ(Completed(3, {0, 1, 5, 10, 11}, {4}), (std::vector<RankId>{0, 1, 5, 10, 11}));
}

TEST(CompletePlaces, TwoThatLackAreTwoCauses) {
  // Three places, of which stage 1 has one.
  EXPECT_EQ(Completed(3, {0, 1, 2, 6, 8, 9, 10}, {4, 5}), (std::vector<RankId>{0, 1, 2, 6, 8, 9, 10}));
}

// No rank is suspect; those at the first two places take 20 ms more than the others in each of four stages, but for
// what `of_last` says of the last one. Of that stage `named` are known.
report::Finding WithoutSuspects(const std::function<Nanos(int)>& of_last, const std::vector<RankId>& named) {
  Look look = Stages(4, [&](int r) { return r >= 12 ? of_last(r) : r % 4 < 2 ? Ms(20) : 0; });
  std::vector<RankId> ranks = {0, 1, 4, 5, 8, 9};
  ranks.insert(ranks.end(), named.begin(), named.end());
  RankCandidates candidates = About(ranks);
  CompletePlaces(look.In(), {}, &candidates);
  return candidates[0].second.finding;
}
size_t CompletedWithoutSuspects(const std::function<Nanos(int)>& of_last, const std::vector<RankId>& named) {
  return WithoutSuspects(of_last, named).scope.ranks.size();
}

TEST(CompletePlaces, ARankThatStandsOutLessIsAddedToo) {
  EXPECT_EQ(CompletedWithoutSuspects([](int r) { return r == 12 ? Ms(10) : r == 13 ? Ms(20) : 0; }, {13}), 8U);
  EXPECT_EQ(CompletedWithoutSuspects([](int r) { return r == 12 ? Ms(9) : r == 13 ? Ms(20) : 0; }, {13}), 7U);
}

TEST(CompletePlaces, RanksThatAreAddedAreNamedInTheirOrder) {
  const auto last = [](int r) { return r == 12 || r == 13 ? Ms(20) : r == 14 ? 0 : Ms(1); };
  const std::string sentence = WithoutSuspects(last, {}).sentence;
  EXPECT_NE(sentence.find("Ranks 12, 13, at the same places"), std::string::npos) << sentence;
}

TEST(CompletePlaces, WhereHalfOfAProgramIsStruckItsMiddleSaysNothing) {
  // The last rank of the last stage takes far longer for another reason.
  const auto added = [](Nanos first) {
    return CompletedWithoutSuspects([first](int r) { return r == 12   ? first
                                                            : r == 13 ? Ms(20)
                                                            : r == 14 ? 0
                                                                      : Ms(1); },
                                    {}) -
           6;
  };
  EXPECT_EQ(added(Ms(20)), 2U);
  EXPECT_EQ(added(Ms(5)), 0U);  // one of them does not
}

TEST(CompletePlaces, ASuspectOfAProgramThatHasNoneHasToTakeItsShare) {
  const auto ranks = [](Nanos last) {
    Look look = Stages(4, [last](int r) { return r == 12 ? last : r % 4 == 0 ? Ms(20) : 0; });
    RankCandidates candidates = About({0, 4, 8});
    CompletePlaces(look.In(), {12}, &candidates);
    return candidates[0].second.finding.scope.ranks.size();
  };
  EXPECT_EQ(ranks(Ms(20)), 4U);
  EXPECT_EQ(ranks(Ms(5)), 3U);
}

}  // namespace
}  // namespace headway::diagnose
