// SPDX-License-Identifier: Apache-2.0
#include "diagnose/moving_imbalance.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/beyond_group.h"
#include "diagnose/explain.h"
#include "diagnose/moving_readings.h"
#include "diagnose/own_edit.h"
#include "diagnose/peers.h"
#include "diagnose/replica_votes.h"
#include "diagnose/scope.h"
#include "diagnose/siblings.h"
#include "diagnose/suspects.h"
#include "diagnose/two_replicas.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

// Ranks struck in the same steps.
struct Group {
  std::vector<Suspect> members;
  std::vector<size_t> steps;
};

size_t Common(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  std::vector<size_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.size();
}

// At least half of the steps of both together are common to both.
bool AreTogether(const Group& group, const std::vector<size_t>& steps) {
  const size_t common = Common(group.steps, steps);
  return common * 2 >= group.steps.size() + steps.size() - common;
}

std::vector<Group> GroupBySteps(const std::vector<Suspect>& struck) {
  std::vector<Group> groups;
  for (const Suspect& suspect : struck) {
    const std::vector<size_t> steps = suspect.StruckSteps();
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return AreTogether(g, steps); });
    if (it == groups.end()) {
      groups.push_back({{suspect}, steps});
    } else {
      it->members.push_back(suspect);
    }
  }
  return groups;
}

// What the job waits for in a step: the longest member.
Nanos LongestIn(const Group& group, size_t step) {
  Nanos longest = 0;
  for (const Suspect& member : group.members) longest = std::max(longest, member.cost[step]);
  return longest;
}

Nanos Lost(const Group& group) {
  Nanos lost = 0;
  for (const size_t s : group.steps) lost += LongestIn(group, s);
  return lost;
}

// Whether nearly all that is lost is lost by one: where few steps are struck it is that one's, and the others were
// disturbed by chance.
bool OneHoldsNearlyAll(const std::vector<Group>& groups) {
  Nanos most = 0, sum = 0;
  for (const Group& group : groups) {
    const Nanos lost = Lost(group);
    most = std::max(most, lost);
    sum += lost;
  }
  return most > sum / 20 * 17;  // 85 %
}

// Whether one is struck three times and more, each time by four times as much as others usually are: what is given now
// to this one and now to that is of one size.
bool OneDwarfsTheOthers(const std::vector<Group>& groups) {
  constexpr size_t kOften = 3;
  constexpr Nanos kFar = 4;
  const auto hardest =
      std::max_element(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return Lost(a) < Lost(b); });
  Nanos least = INT64_MAX;
  for (const size_t s : hardest->steps) least = std::min(least, LongestIn(*hardest, s));
  std::vector<Nanos> others;
  for (const Group& group : groups) {
    if (&group == &*hardest) continue;
    for (const Suspect& member : group.members) {
      std::copy_if(member.cost.begin(), member.cost.end(), std::back_inserter(others), [](Nanos x) { return x > 0; });
    }
  }
  return hardest->steps.size() >= kOften && least >= kFar * Median(std::move(others));
}

bool Moves(const Job& job, const std::vector<Group>& groups, size_t least_groups) {
  constexpr size_t kLeastSteps = 3;
  if (groups.size() < least_groups) return false;
  std::vector<size_t> times(job.num_steps(), 0);
  size_t most = 0;
  for (const Group& group : groups) {
    most = std::max(most, group.steps.size());
    for (const size_t s : group.steps) ++times[s];
  }
  size_t covered = 0, sum = 0;
  for (const size_t n : times) {
    covered += n > 0 ? 1 : 0;
    sum += n;
  }
  if (OneDwarfsTheOthers(groups) || (covered * 2 < job.num_steps() && OneHoldsNearlyAll(groups))) return false;
  // Of three steps two may be of one. Where some group is struck in all steps, and hardly ever two, they take turns
  // however much chance favours one.
  const bool always = groups.size() >= 3 && covered * 10 >= job.num_steps() * 9 && sum * 10 <= covered * 11;
  const size_t share = always ? 8 : least_groups < 3 && covered == kLeastSteps ? 7 : 6;
  return covered >= kLeastSteps && covered * 4 >= job.num_steps() && most * 10 <= covered * share &&
         sum * 2 <= covered * 3;
}

// Whether so many steps are struck that chance, on ranks that share processors with other work, does not explain it.
bool StrikesMostSteps(const Job& job, const std::vector<Suspect>& suspects) {
  std::set<size_t> struck;
  for (const Suspect& suspect : suspects) {
    const std::vector<size_t> steps = suspect.StruckSteps();
    struck.insert(steps.begin(), steps.end());
  }
  return struck.size() * 10 >= job.num_steps() * 6;
}

constexpr const char* kAllOperators = "all operators";

// One kind of work, and the suspects whose excess is mostly in it.
struct SharedWork {
  std::string function;
  std::vector<Suspect> members;
  Nanos total = 0;
};

Nanos BesideCommunication(const std::array<Nanos, pattern::kWorkClasses>& by_class) {
  const Nanos all = std::accumulate(by_class.begin(), by_class.end(), Nanos{0});
  return all - by_class[static_cast<size_t>(pattern::WorkClass::kCommunication)];
}

// What holds the excess of one suspect, held against these: a function, or on a device all kernels (more to compute
// makes all of them longer); empty where nothing does.
std::pair<std::string, std::string> WorkAgainst(const AnalysisInput& in, const Suspect& suspect,
                                                const std::vector<Sample>& references) {
  const Explanation why = Explain(in.job, in.view, {suspect.rank, suspect.StruckSteps()}, references);
  const bool has_device = in.job.ranks[suspect.rank].has_device;
  if (has_device && why.by_class[0] * 10 >= suspect.total * 6) return {"compute kernels", "compute kernels"};
  // What a host does for its device is the same whatever it gets.
  if (has_device && why.node_class != pattern::WorkClass::kCompute) return {};
  const bool one = why.node >= 0 && why.node_class != pattern::WorkClass::kIdle &&
                   (why.pair || why.node_excess * 10 >= suspect.total * 6);
  const bool proportional = why.functions_compared >= 4 && why.proportional_share >= 0.75 && why.ratio > 1.05;
  // Of a frame that calls all the rest ("train_step") that is no function of its own.
  const bool calls_all = !why.pair && why.node_class == pattern::WorkClass::kHost &&
                         why.node_peers * 2 >= BesideCommunication(why.peers_by_class);
  if (one && !(proportional && calls_all)) return {why.leaf, why.function};
  return proportional ? std::pair<std::string, std::string>(kAllOperators, kAllOperators)
                      : std::pair<std::string, std::string>();
}

// Against its peers; where some of them are slow in all steps that says nothing, and its own other steps count.
std::pair<std::string, std::string> WorkOf(const AnalysisInput& in, const Suspect& suspect) {
  const std::vector<size_t> steps = suspect.StruckSteps();
  auto work = WorkAgainst(in, suspect, SameSteps(SamplePeers(in.job, suspect.rank, {}), steps));
  if (!work.first.empty()) return work;
  std::vector<Sample> quiet;
  for (size_t s = 0; s < suspect.cost.size(); ++s) {
    if (suspect.cost[s] == 0) quiet.push_back({suspect.rank, {s}});
  }
  return quiet.empty() ? work : WorkAgainst(in, suspect, quiet);
}

// The work that holds most of the excess of all suspects. Nothing where each time it is another one, or nothing
// recorded: then the machine disturbs them, not their data.
SharedWork FindSharedWork(const AnalysisInput& in, const std::vector<Suspect>& suspects) {
  std::map<std::string, SharedWork> by_leaf;
  Nanos total = 0;
  for (const Suspect& suspect : suspects) {
    total += suspect.total;
    const auto [leaf, function] = WorkOf(in, suspect);
    if (leaf.empty()) continue;
    SharedWork& work = by_leaf[leaf];
    work.function = function;
    work.total += suspect.total;
    work.members.push_back(suspect);
  }
  for (auto& [leaf, work] : by_leaf) {
    if (work.total * 2 > total) return std::move(work);
  }
  return {};
}

// Everybody it may strike: all peers of those it did.
std::vector<RankId> PeersOfAll(const Job& job, const std::vector<size_t>& members) {
  std::set<int32_t> classes;
  for (const size_t r : members) classes.insert(job.peer_class[r]);
  std::vector<RankId> out;
  for (const int32_t c : classes) {
    for (const int32_t p : job.classes[static_cast<size_t>(c)]) {
      out.push_back(job.ranks[static_cast<size_t>(p)].meta.rank);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// "In most steps", "In 3 of 12 steps".
std::string InHowMany(const std::vector<Nanos>& excess) {
  const auto quiet = std::count(excess.begin(), excess.end(), Nanos{0});
  const auto struck = std::ssize(excess) - quiet;
  if (struck > quiet) return "In most steps";
  return "In " + std::to_string(struck) + " of " + std::to_string(excess.size()) + " steps";
}

Candidate MakeCandidate(const AnalysisInput& in, const std::vector<Suspect>& suspects, const std::string& function) {
  Candidate candidate;
  std::vector<size_t> members;
  std::set<size_t> none;
  candidate.excess.assign(in.job.num_steps(), 0);
  for (const Suspect& suspect : suspects) {
    members.push_back(suspect.rank);
    const std::vector<size_t> peers = SamplePeers(in.job, suspect.rank, none);
    RemoveOwnTime(in.job, suspect.rank, peers, suspect.cost, &candidate.edit);
    for (size_t s = 0; s < suspect.cost.size(); ++s) {
      candidate.excess[s] = std::max(candidate.excess[s], suspect.cost[s]);
    }
  }
  report::Finding& finding = candidate.finding;
  report::Scope struck;
  FillScope(in.job, members, &struck);
  finding.scope.hosts = struck.hosts;
  finding.scope.group = "ranks " + FormatRanks(PeersOfAll(in.job, members));
  finding.cause = "data-imbalance";
  finding.id = "data-imbalance-moving";
  finding.scope.function = function;
  finding.when = ClassifyWhen(candidate.excess, in.job.steps);
  finding.when.kind = report::WhenKind::kIntermittent;
  finding.headline = "another rank in each step (" + Who(in.job, struck) + ")";
  finding.sentence = InHowMany(candidate.excess) + " some rank takes longer" +
                     (function.empty() ? "" : " (" + function + ")") +
                     ", but another one each time: what they get differs, no rank is slow.";
  finding.suggestion = "balance what each rank gets in a step (sort or pack sequences by length)";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "no rank accounts for most of it";
  candidate.noise = in.excess.step_noise[static_cast<size_t>(in.job.peer_class[members[0]])];
  return candidate;
}

MovingImbalance Make(const AnalysisInput& in, const std::vector<Siblings>& groups, SharedWork work, bool is_doubtful) {
  MovingImbalance out;
  out.own = TakeBeyondGroup(in, groups, &work.members);
  for (const Suspect& suspect : work.members) out.explained[suspect.rank] = suspect.cost;
  out.candidate = MakeCandidate(in, work.members, work.function);
  if (is_doubtful) {
    out.candidate.at_most_info = true;
    out.candidate.finding.confidence = report::Confidence::kSuspected;
    out.candidate.finding.confidence_reason = "other work on the machine, now here and now there, looks the same";
  }
  return out;
}

std::optional<MovingImbalance> Believe(const AnalysisInput& in, const std::vector<Siblings>& groups,
                                       const Reading& reading) {
  if (!Moves(in.job, GroupBySteps(reading.struck), reading.least_groups)) return std::nullopt;
  SharedWork work = FindSharedWork(in, reading.struck);
  if (work.function.empty() || !Moves(in.job, GroupBySteps(work.members), reading.least_groups)) return std::nullopt;
  const bool has_device = in.job.ranks.front().has_device;
  const bool is_doubtful = !has_device && work.function == kAllOperators;
  if (!has_device && !is_doubtful && !StrikesMostSteps(in.job, work.members)) return std::nullopt;
  if (reading.together) work.members = reading.struck;
  return Make(in, groups, std::move(work), is_doubtful);
}

bool IsOneHostEach(const Job& job, const std::vector<Siblings>& replicas) {
  return std::all_of(replicas.begin(), replicas.end(), [&](const Siblings& r) { return AreOnOneHost(job, r.ranks); });
}

void TellOfReplicas(const std::string& headline, Candidate* candidate) {
  report::Finding& finding = candidate->finding;
  finding.headline = headline;
  finding.sentence = InHowMany(candidate->excess) + " all ranks of one replica take longer (" + finding.scope.function +
                     "), but not always of the same one: what they get differs, no rank is slow.";
}

// Of two replicas there is no third to tell which is the usual one.
std::optional<MovingImbalance> BelieveOfTwo(const AnalysisInput& in, const std::vector<Siblings>& groups) {
  std::vector<Suspect> struck = StrikeReplicas(in, groups);
  SharedWork work = FindSharedWork(in, struck);
  if (work.function.empty()) {
    // What disturbs a machine does not strike all stages of a replica.
    const std::vector<Siblings> replicas = SiblingsOfReplicas(in.job);
    const bool of_stages = replicas.size() == 2 && SpansClasses(in.job, replicas.front());
    if (struck.empty() || !of_stages || IsOneHostEach(in.job, replicas)) return std::nullopt;
    work.function = kAllOperators;
  }
  work.members = std::move(struck);  // whole replicas, whatever single ranks of them show
  MovingImbalance out = Make(in, groups, std::move(work), !in.job.ranks.front().has_device);
  TellOfReplicas("now the one and now the other of two replicas", &out.candidate);
  return out;
}

// All ranks of a replica agree on it, whatever their work is told to be.
std::optional<MovingImbalance> BelieveVotes(const AnalysisInput& in, const std::vector<Siblings>& groups) {
  constexpr size_t kLeastGroups = 2;
  const std::vector<Siblings> replicas = SiblingsOfReplicas(in.job);
  std::vector<Suspect> struck = StrikeByVote(in, replicas);
  if (!Moves(in.job, GroupBySteps(struck), kLeastGroups)) return std::nullopt;
  SharedWork work = FindSharedWork(in, struck);
  if (work.function.empty()) work.function = kAllOperators;
  work.members = std::move(struck);
  MovingImbalance out = Make(in, groups, std::move(work), IsOneHostEach(in.job, replicas));
  TellOfReplicas("another replica in each step", &out.candidate);
  return out;
}

}  // namespace

std::set<size_t> MovingImbalance::Ranks() const {
  std::set<size_t> out;
  for (const auto& [rank, by_step] : explained) out.insert(rank);
  for (const Suspect& suspect : own) out.insert(suspect.rank);
  return out;
}

std::optional<MovingImbalance> FindMovingImbalance(const AnalysisInput& in) {
  if (in.job.num_steps() < 3) return std::nullopt;
  const std::vector<Siblings> groups = SiblingsOfGroups(in.job);
  // Where stages agree it is known whom it strikes: all ranks of a replica, also those that do not stand out.
  if (std::optional<MovingImbalance> found = BelieveVotes(in, groups)) return found;
  if (std::optional<MovingImbalance> found = BelieveOfTwo(in, groups)) return found;
  for (const Reading& reading : Readings(in, groups)) {
    if (std::optional<MovingImbalance> found = Believe(in, groups, reading)) return found;
  }
  return std::nullopt;
}

}  // namespace headway::diagnose
