// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replica_votes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

constexpr size_t kLeastSteps = 6;
constexpr size_t kLeastReplicas = 3;    // of two one is always the longer
constexpr double kBeyondChance = 3.99;  // standard deviations: all of eight steps of three replicas, seven of four

// [replica][place][step]; empty where the replicas do not run the same programs at the same places.
using Table = std::vector<std::vector<std::vector<Nanos>>>;

Table TableOf(const AnalysisInput& in, const std::vector<Siblings>& replicas) {
  Table out;
  for (const Siblings& replica : replicas) {
    out.emplace_back();
    for (size_t place = 0; place < replica.ranks.size(); ++place) {
      if (in.job.peer_class[replica.ranks[place]] != in.job.peer_class[replicas.front().ranks[place]]) return {};
      // Just under a quarter up: of three replicas and more each is struck in three quarters of the steps at most.
      out.back().push_back(BeyondQuiet(in.excess, replica.ranks[place], (in.job.num_steps() - 1) / 4));
      if (out.back().back().empty()) return {};
    }
  }
  return out;
}

// One vote of each program: the replica whose ranks of it take longest together.
struct Votes {
  std::map<int32_t, std::vector<size_t>> places;  // by class
  size_t winner = 0;
  bool all_agree = false;

  void Count(const Table& table, size_t step) {
    std::map<size_t, size_t> votes;
    for (const auto& [program, of_program] : places) {
      size_t longest = 0;
      Nanos most = INT64_MIN, next = INT64_MIN;
      for (size_t k = 0; k < table.size(); ++k) {
        Nanos sum = 0;
        for (const size_t place : of_program) sum += table[k][place][step];
        next = std::max(next, std::min(sum, most));
        if (sum <= most) continue;
        most = sum;
        longest = k;
      }
      if (most > next) ++votes[longest];  // of two that are as long neither is the longest
    }
    all_agree = false;
    if (votes.empty()) return;
    const auto best =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    winner = best->first;
    all_agree = best->second == places.size();
  }
};

// What the rank of `winner` at a place takes beyond the middle of the others there.
Nanos BeyondOthers(const Table& table, size_t winner, size_t place, size_t step) {
  std::vector<Nanos> others;
  for (size_t k = 0; k < table.size(); ++k) {
    if (k != winner) others.push_back(table[k][place][step]);
  }
  return std::max<Nanos>(0, table[winner][place][step] - Median(std::move(others)));
}

}  // namespace

std::vector<Suspect> StrikeByVote(const AnalysisInput& in, const std::vector<Siblings>& replicas) {
  const size_t steps = in.job.num_steps(), n = replicas.size();
  if (n < kLeastReplicas || steps < kLeastSteps) return {};
  const Table table = TableOf(in, replicas);
  if (table.empty()) return {};
  Votes votes;
  for (size_t place = 0; place < replicas.front().ranks.size(); ++place) {
    votes.places[in.job.peer_class[replicas.front().ranks[place]]].push_back(place);
  }
  if (votes.places.size() < 2) return {};
  std::map<size_t, std::vector<Nanos>> cost;  // by rank index
  size_t agreed = 0;
  for (size_t s = 0; s < steps; ++s) {
    votes.Count(table, s);
    if (!votes.all_agree) continue;
    ++agreed;
    for (size_t place = 0; place < table[votes.winner].size(); ++place) {
      std::vector<Nanos>& of_rank = cost.try_emplace(replicas[votes.winner].ranks[place], steps, 0).first->second;
      of_rank[s] = BeyondOthers(table, votes.winner, place, s);
    }
  }
  // Two programs agree by chance in one of n steps, each more of them in one of n of these.
  const double all = static_cast<double>(steps);
  const double p = std::pow(1.0 / static_cast<double>(n), static_cast<double>(votes.places.size() - 1));
  const double z = (static_cast<double>(agreed) - p * all) / std::sqrt(p * (1 - p) * all);
  if (agreed * 2 < steps || z < kBeyondChance) return {};
  std::vector<Suspect> out;
  for (auto& [rank, by_step] : cost) {
    Suspect suspect = MakeSuspect(rank, in.excess, std::move(by_step));
    if (suspect.struck > 0) out.push_back(std::move(suspect));
  }
  return out;
}

}  // namespace headway::diagnose
