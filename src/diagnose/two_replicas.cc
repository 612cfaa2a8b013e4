// SPDX-License-Identifier: Apache-2.0
#include "diagnose/two_replicas.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "base/median.h"

namespace headway::diagnose {

namespace {

// Each of the two is struck in a tenth of the steps, and more than once.
constexpr size_t kLeastOfEach = 2, kShareOfEach = 10;
constexpr size_t kLeastStruck = 3;

// Ranks that run the same part of the program, one of each replica.
using Pair = std::pair<size_t, size_t>;

// Classes of two are such a pair. Where a class is two groups of the kind, their ranks pair by their places in them.
std::vector<Pair> PairsOf(const Job& job, const std::vector<Siblings>& siblings, const std::string& kind) {
  std::vector<Pair> pairs;
  std::vector<std::vector<const Siblings*>> of_class(job.classes.size());
  for (const Siblings& group : siblings) {
    if (group.kind == kind) of_class[static_cast<size_t>(group.peer_class)].push_back(&group);
  }
  for (size_t c = 0; c < job.classes.size(); ++c) {
    const std::vector<int32_t>& members = job.classes[c];
    if (members.size() == 2) {
      pairs.emplace_back(members[0], members[1]);
      continue;
    }
    const auto& groups = of_class[c];
    if (groups.size() != 2 || groups[0]->ranks.size() != groups[1]->ranks.size() ||
        2 * groups[0]->ranks.size() != members.size())
      return {};
    for (size_t i = 0; i < groups[0]->ranks.size(); ++i) pairs.emplace_back(groups[0]->ranks[i], groups[1]->ranks[i]);
  }
  return pairs;
}

// Beyond what a rank takes when nothing strikes it: a tenth up, as each of two may be struck in all steps in which the
// other is not.
std::vector<Nanos> BeyondQuiet(const AnalysisInput& in, size_t rank) {
  return diagnose::BeyondQuiet(in.excess, rank, std::max(kLeastOfEach, in.job.num_steps() / kShareOfEach) - 1);
}

// By step: how much longer the first of the pair is than the second.
std::vector<Nanos> DifferenceOf(const AnalysisInput& in, const Pair& pair) {
  std::vector<Nanos> out = BeyondQuiet(in, pair.first);
  const std::vector<Nanos> other = BeyondQuiet(in, pair.second);
  if (out.empty() || other.empty()) return {};
  for (size_t s = 0; s < out.size(); ++s) out[s] -= other[s];
  return out;
}

// How often the longer one is another than the time before. What sets in once (work that goes from one of them to the
// other) is no turn.
constexpr size_t kLeastTurns = 2;
size_t Turns(const std::vector<Nanos>& middle, Nanos least) {
  size_t turns = 0;
  int before = 0;
  for (const Nanos x : middle) {
    const int now = x >= least ? 1 : -x >= least ? -1 : 0;
    if (now == 0) continue;
    turns += before != 0 && now != before ? 1 : 0;
    before = now;
  }
  return turns;
}

// Whether there are steps that strike neither, a quarter of all, and the same amount to the one and to the other in the
// rest: then a single turn is one, and a single step of one of them enough. What goes over once is always somewhere.
// `far`: how many times what the pairs differ by it has to be.
bool StrikesEitherAlike(const std::vector<Nanos>& middle, Nanos least, Nanos by_first, Nanos by_second, Nanos far) {
  constexpr Nanos kAlikePercent = 85;
  const auto quiet = std::count_if(middle.begin(), middle.end(), [&](Nanos x) { return std::abs(x) < least; });
  const auto [weaker, stronger] = std::minmax(by_first, by_second);
  return quiet * 4 >= std::ssize(middle) && weaker >= far * least && weaker * 100 >= stronger * kAlikePercent;
}

// Whether every pair says of every struck step what the middle one does, by half as much at least.
bool AllAgree(const std::vector<std::vector<Nanos>>& differences, const std::vector<Nanos>& middle, Nanos least) {
  for (size_t s = 0; s < middle.size(); ++s) {
    if (std::abs(middle[s]) < least) continue;
    for (const auto& of_pair : differences) {
      if ((middle[s] > 0 ? of_pair[s] : -of_pair[s]) * 2 < std::abs(middle[s])) return false;
    }
  }
  return true;
}

bool IsOneHostEach(const Job& job, const std::vector<Pair>& pairs) {
  std::vector<size_t> first, second;
  for (const auto& [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  return AreOnOneHost(job, first) && AreOnOneHost(job, second);
}

// By step: how much longer the first of the pairs take than the second, the middle one of them.
std::vector<Nanos> AsMeasured(const AnalysisInput& in, const std::vector<Pair>& pairs) {
  std::vector<Nanos> out;
  for (size_t s = 0; s < in.job.num_steps(); ++s) {
    std::vector<Nanos> differences;
    for (const auto& [first, second] : pairs) {
      differences.push_back(in.excess.own[first * in.excess.steps + s] - in.excess.own[second * in.excess.steps + s]);
    }
    out.push_back(Median(std::move(differences)));
  }
  return out;
}

// Whether each of them is the longer one, by a quarter of what strikes it, in the steps that strike it. Where one gets
// in some steps what the other lacks in them (an expert with more tokens), the other is as long as ever in the rest,
// which only beside those looks like more.
bool EachIsLonger(const AnalysisInput& in, const std::vector<Pair>& pairs, const std::vector<Nanos>& middle,
                  Nanos least, Nanos by_first, Nanos by_second) {
  const std::vector<Nanos> measured = AsMeasured(in, pairs);
  std::vector<Nanos> first, second;
  for (size_t s = 0; s < middle.size(); ++s) {
    if (middle[s] >= least) first.push_back(measured[s]);
    if (-middle[s] >= least) second.push_back(-measured[s]);
  }
  return Median(std::move(first)) * 4 >= by_first && Median(std::move(second)) * 4 >= by_second;
}

// What the middle of `count` values on a bell curve deviates by, of what the others (of an even number all) deviate by
// from it: bounds of what draws give, 1, 0.66, 0.76, 0.52, 0.59, 0.45, 0.49 from two values on.
double OfMiddle(size_t count) {
  const auto n = static_cast<double>(count);
  return count == 2 ? 1 : count % 2 == 1 ? 1.25 / std::sqrt(n) : 1.35 / std::sqrt(n - 1);
}

// What the pairs say of each step, and what that deviates by.
struct Agreement {
  std::vector<Nanos> middle;  // by step; of three pairs and more, a rank that is slow by itself spoils its pair only
  Nanos noise = 0;            // of `middle`, from what a quiet pair is apart from it
};

Agreement AgreementOf(const std::vector<std::vector<Nanos>>& differences) {
  Agreement out;
  std::vector<std::vector<Nanos>> apart(differences.size());
  for (size_t s = 0; s < differences.front().size(); ++s) {
    std::vector<std::pair<Nanos, size_t>> of_step;  // with the pair
    for (size_t p = 0; p < differences.size(); ++p) of_step.emplace_back(differences[p][s], p);
    std::sort(of_step.begin(), of_step.end());
    const size_t half = of_step.size() / 2;
    const bool is_odd = of_step.size() % 2 == 1;
    out.middle.push_back(is_odd ? of_step[half].first : (of_step[half - 1].first + of_step[half].first) / 2);
    for (size_t i = 0; i < of_step.size(); ++i) {
      if (!is_odd || i != half) apart[of_step[i].second].push_back(of_step[i].first - out.middle.back());
    }
  }
  std::vector<Nanos> deviations;
  for (std::vector<Nanos>& of_pair : apart) deviations.push_back(DeviationOf(std::move(of_pair)));
  out.noise = static_cast<Nanos>(OfMiddle(apart.size()) * static_cast<double>(LowerMedian(&deviations)));
  return out;
}

// By step: a batch strikes all that work on it about alike. What one of them takes far beyond that is its own: beyond
// twice what the middle pair says; of two pairs, the one that says less.
std::vector<Nanos> MostOfOne(const std::vector<std::vector<Nanos>>& differences, const std::vector<Nanos>& middle,
                             Nanos least) {
  std::vector<Nanos> out;
  for (size_t s = 0; s < middle.size(); ++s) {
    Nanos usual = std::abs(middle[s]);
    if (differences.size() == 2) {
      const Nanos sign = middle[s] < 0 ? -1 : 1;
      usual = std::max(least, std::min(sign * differences[0][s], sign * differences[1][s]));
    }
    out.push_back(2 * usual);
  }
  return out;
}

std::vector<Suspect> Strike(const AnalysisInput& in, const std::vector<Pair>& pairs) {
  const Job& job = in.job;
  constexpr size_t kLeastPairs = 2;
  if (pairs.size() < kLeastPairs) return {};
  std::vector<std::vector<Nanos>> differences;
  for (const Pair& pair : pairs) {
    differences.push_back(DifferenceOf(in, pair));
    if (differences.back().empty()) return {};
  }
  const auto [middle, noise] = AgreementOf(differences);
  const bool has_device = job.ranks.front().has_device;
  // Other work on the machine strikes few of many ranks at once.
  const Nanos of_step = job.median_step / (has_device ? 200 : pairs.size() >= 8 ? 40 : 20);
  const Nanos least = std::max((has_device ? 2 : 3) * noise, of_step);
  std::vector<Suspect> out;
  std::vector<Nanos> first, second;
  for (const Nanos x : middle) {
    if (x >= least) first.push_back(x);
    if (-x >= least) second.push_back(-x);
  }
  // Both of them about as much, and in half of the steps: what strikes one of them now and then leaves the other
  // chance. In fewer where it is far more than chance, the same amount to either, and all pairs say so.
  const size_t steps = job.num_steps(), struck = first.size() + second.size(),
               fewest = std::min(first.size(), second.size());
  if (struck < kLeastStruck || fewest == 0) return {};
  const Nanos by_first = Median(std::move(first)), by_second = Median(std::move(second));
  const bool is_often = struck * 2 >= steps;
  const bool takes_turns =
      is_often && fewest >= std::max(kLeastOfEach, steps / kShareOfEach) && Turns(middle, least) >= kLeastTurns;
  const bool may_be_few =
      is_often ? has_device : AllAgree(differences, middle, least) && (has_device || !IsOneHostEach(job, pairs));
  const Nanos far = has_device ? 4 : 3;
  if (!takes_turns && !(may_be_few && StrikesEitherAlike(middle, least, by_first, by_second, far))) return {};
  if (std::min(by_first, by_second) * 2 < std::max(by_first, by_second)) return {};
  if (!EachIsLonger(in, pairs, middle, least, by_first, by_second)) return {};
  const std::vector<Nanos> most = MostOfOne(differences, middle, least);
  for (size_t p = 0; p < pairs.size(); ++p) {
    std::vector<Nanos> of_first(steps, 0), of_second(steps, 0);
    for (size_t s = 0; s < steps; ++s) {
      if (middle[s] >= least) of_first[s] = std::min(differences[p][s], most[s]);
      if (-middle[s] >= least) of_second[s] = std::min(-differences[p][s], most[s]);
    }
    for (Suspect side : {MakeSuspect(pairs[p].first, in.excess, std::move(of_first)),
                         MakeSuspect(pairs[p].second, in.excess, std::move(of_second))}) {
      if (side.struck > 0) out.push_back(std::move(side));
    }
  }
  return out;
}

}  // namespace

std::vector<Suspect> StrikeReplicas(const AnalysisInput& in, const std::vector<Siblings>& groups) {
  constexpr size_t kLeastSteps = 6;
  if (in.job.num_steps() < kLeastSteps) return {};
  std::set<std::string> kinds{""};
  for (const Siblings& group : groups) kinds.insert(group.kind);
  for (const std::string& kind : kinds) {
    std::vector<Suspect> found = Strike(in, PairsOf(in.job, groups, kind));
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace headway::diagnose
