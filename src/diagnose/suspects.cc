// SPDX-License-Identifier: Apache-2.0
#include "diagnose/suspects.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace headway::diagnose {

namespace {

// How far the usual excess must lie from what chance gives, in deviations.
constexpr double kFromPeers = 3.5;
constexpr double kFromNoise = 5;

bool IsLasting(const Job& job, const ExcessTable& table, size_t rank) {
  const auto c = static_cast<size_t>(job.peer_class[rank]);
  if (job.num_steps() < 3) return false;
  const double error = static_cast<double>(table.step_noise[c]) / std::sqrt(static_cast<double>(job.num_steps()));
  const double level = static_cast<double>(table.typical[rank]);
  return level > std::max({static_cast<double>(job.median_step) / (job.ranks[rank].has_device ? 200 : 100),
                           kFromPeers * static_cast<double>(table.rank_noise[c]), kFromNoise * error});
}

// Steps in which the excess, counted from `usual`, reaches `least`.
Suspect Strike(const Job& job, const ExcessTable& table, size_t rank, Nanos least, Nanos usual) {
  std::vector<Nanos> cost(job.num_steps(), 0);
  for (size_t s = 0; s < cost.size(); ++s) {
    if (table.At(rank, s) == kNoValue) continue;
    const Nanos x = table.At(rank, s) - usual;
    if (x >= least) cost[s] = x;
  }
  return MakeSuspect(rank, table, std::move(cost));
}

// By axis step: beyond the middle of the quicker side of its class; empty = the rank is not of a slower side. Where up
// to half of a class is far slower than the rest, what its ranks deviate by says nothing and their middle is between
// the two: the slower ones are held against the others.
using SlowerSide = std::vector<Nanos>;

// By axis step.
std::vector<Nanos> MiddleOf(const ExcessTable& table, const std::vector<std::pair<Nanos, size_t>>& ranks, size_t to) {
  std::vector<Nanos> out(table.steps, 0);
  for (size_t s = 0; s < out.size(); ++s) {
    std::vector<Nanos> values;
    for (size_t i = 0; i < to; ++i) {
      if (const Nanos own = table.own[ranks[i].second * table.steps + s]; own != kNoValue) values.push_back(own);
    }
    out[s] = values.empty() ? kNoValue : Median(std::move(values));
  }
  return out;
}

// By rank.
std::vector<SlowerSide> SlowerSides(const Job& job, const ExcessTable& table) {
  constexpr size_t kLeastMembers = 6, kLeastSide = 2;
  constexpr Nanos kOfStep = 10;  // hosts and devices differ by a few per cent as it is
  std::vector<SlowerSide> out(job.num_ranks());
  for (const std::vector<int32_t>& members : job.classes) {
    if (members.size() < kLeastMembers || job.num_steps() < 3) continue;
    std::vector<std::pair<Nanos, size_t>> order;
    for (const int32_t r : members) {
      order.emplace_back(table.typical[static_cast<size_t>(r)], static_cast<size_t>(r));
    }
    std::sort(order.begin(), order.end());
    size_t first = 0;  // of the slower side
    Nanos widest = 0;
    for (size_t i = (order.size() + 1) / 2; i + kLeastSide <= order.size(); ++i) {
      const Nanos gap = order[i].first - order[i - 1].first;
      if (gap > widest) first = i;
      widest = std::max(widest, gap);
    }
    const auto deviation = [&](size_t from, size_t to) {
      std::vector<Nanos> away;
      const Nanos middle = order[(from + to) / 2].first;
      for (size_t i = from; i < to; ++i) away.push_back(order[i].first - middle);
      return DeviationOf(std::move(away));
    };
    const Nanos within = first == 0 ? 0 : std::max(deviation(0, first), deviation(first, order.size()));
    if (first == 0 || widest < std::max(5 * within, job.median_step / kOfStep)) continue;
    const std::vector<Nanos> quicker = MiddleOf(table, order, first);
    for (size_t i = first; i < order.size(); ++i) {
      const size_t rank = order[i].second;
      for (size_t s = 0; s < table.steps; ++s) {
        const Nanos own = table.own[rank * table.steps + s];
        out[rank].push_back(own == kNoValue || quicker[s] == kNoValue ? 0 : own - quicker[s]);
      }
    }
  }
  return out;
}

// Nothing struck where the rank is not suspect. `slower`: SlowerSides.
Suspect Look(const Job& job, const ExcessTable& table, size_t rank, const SlowerSide& slower) {
  const auto c = static_cast<size_t>(job.peer_class[rank]);
  if (job.classes[c].size() < 2 || job.num_steps() == 0) return {};
  Suspect suspect = StrikeSingleSteps(job, table, rank);
  if (!slower.empty()) {
    const Nanos half = Median(slower) / 2;
    std::vector<Nanos> cost = slower;
    for (Nanos& x : cost) x = x >= half ? x : 0;
    suspect = MakeSuspect(rank, table, std::move(cost));
  } else if (IsLasting(job, table, rank)) {
    Suspect lasting = Strike(job, table, rank, table.typical[rank] / 2, 0);
    if (lasting.total > suspect.total) suspect = std::move(lasting);
  }
  const Nanos worst = *std::max_element(suspect.cost.begin(), suspect.cost.end());
  const bool has_device = job.ranks[rank].has_device;
  const bool far_in_one = worst >= std::max(6 * table.step_noise[c], job.median_step / (has_device ? 100 : 50));
  // Several steps that stand out less each are no more chance than one that does far, however little that adds up to;
  // of a rank that always takes a little longer: beyond that.
  constexpr Nanos kFarInSeveral = 4;
  const auto several = std::max<Nanos>(3, static_cast<Nanos>(job.num_steps() / 20));
  const auto struck = static_cast<Nanos>(suspect.struck);
  const Nanos usual = std::max<Nanos>(0, table.typical[rank]);
  const bool far_in_several =
      has_device && struck >= several && suspect.total >= (usual + kFarInSeveral * table.step_noise[c]) * struck;
  const Nanos least = static_cast<Nanos>(job.num_steps()) * job.median_step / 200;
  const bool is_enough = far_in_one || far_in_several || suspect.total >= least;
  return suspect.struck > 0 && is_enough ? suspect : Suspect{};
}

}  // namespace

void Suspect::SetCost(std::vector<Nanos> by_step) {
  cost = std::move(by_step);
  total = 0;
  struck = 0;
  for (Nanos& x : cost) {
    x = std::max<Nanos>(0, x);
    total += x;
    struck += x > 0 ? 1 : 0;
  }
}

Nanos Suspect::Take(size_t step, Nanos amount) {
  const Nanos less = std::clamp<Nanos>(amount, 0, cost[step]);
  cost[step] -= less;
  total -= less;
  if (less > 0 && cost[step] == 0) --struck;
  return less;
}

std::vector<size_t> Suspect::StruckSteps() const {
  std::vector<size_t> steps;
  for (size_t s = 0; s < cost.size(); ++s) {
    if (cost[s] > 0) steps.push_back(s);
  }
  return steps;
}

std::vector<size_t> Suspect::TellingSteps() const {
  const std::vector<size_t> all = StruckSteps();
  std::vector<size_t> out;
  std::set_difference(all.begin(), all.end(), shared.begin(), shared.end(), std::back_inserter(out));
  return out.empty() ? all : out;
}

Suspect MakeSuspect(size_t rank, const ExcessTable& table, std::vector<Nanos> cost) {
  Suspect suspect;
  suspect.rank = rank;
  suspect.table = &table;
  suspect.SetCost(std::move(cost));
  return suspect;
}

Nanos MedianOfStruck(const std::vector<Nanos>& cost, Nanos least) {
  std::vector<Nanos> struck;
  std::copy_if(cost.begin(), cost.end(), std::back_inserter(struck), [least](Nanos x) { return x >= least; });
  return Median(std::move(struck));
}

Suspect StrikeSingleSteps(const Job& job, const ExcessTable& table, size_t rank) {
  return StrikeSingleSteps(job, table, rank, table.step_noise[static_cast<size_t>(job.peer_class[rank])]);
}

Suspect StrikeSingleSteps(const Job& job, const ExcessTable& table, size_t rank, Nanos noise) {
  Suspect suspect = Strike(job, table, rank, std::max(3 * noise, job.median_step / 100), 0);
  // Where half of the peers are slow, a rank that is not is usually ahead of them: what it falls back by in a step
  // shows against that. Its distance from them varies as they do, so it has to stand out further.
  const Nanos usual = table.typical[rank];
  if (suspect.struck > 0 || usual > -4 * noise) return suspect;
  const Nanos least = std::max(8 * noise, job.median_step / 50);
  suspect = Strike(job, table, rank, least, usual);
  // Where the peers are slow now and then it falls back only against them.
  std::vector<Nanos> own;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (const Nanos x = table.own[rank * table.steps + s]; x != kNoValue) own.push_back(x);
  }
  const Nanos middle = Median(std::move(own));
  for (size_t s = 0; s < suspect.cost.size(); ++s) {
    if (suspect.cost[s] > 0 && table.own[rank * table.steps + s] - middle < least) suspect.Take(s, suspect.cost[s]);
  }
  return suspect;
}

namespace {

void SortByTotal(std::vector<Suspect>* suspects) {
  std::stable_sort(suspects->begin(), suspects->end(),
                   [](const Suspect& a, const Suspect& b) { return a.total > b.total; });
}

}  // namespace

std::vector<Suspect> FindSuspects(const AnalysisInput& in) {
  std::vector<Suspect> suspects;
  const std::vector<SlowerSide> slower = SlowerSides(in.job, in.excess);
  const std::vector<SlowerSide> slower_beside = SlowerSides(in.job, in.beside_compute);
  for (size_t r = 0; r < in.job.num_ranks(); ++r) {
    Suspect suspect = Look(in.job, in.excess, r, slower[r]);
    if (suspect.struck == 0 && in.job.ranks[r].has_device)
      suspect = Look(in.job, in.beside_compute, r, slower_beside[r]);
    if (suspect.struck > 0) suspects.push_back(std::move(suspect));
  }
  SortByTotal(&suspects);
  return suspects;
}

namespace {

// Whether the rank takes longer, by half of what it is struck by and more, than in its quiet steps, which are a quarter
// of all at least.
bool ShowsInItsOwnSteps(const Suspect& suspect) {
  std::vector<Nanos> quiet;
  const auto own = [&](size_t s) { return suspect.table->own[suspect.rank * suspect.table->steps + s]; };
  for (size_t s = 0; s < suspect.cost.size(); ++s) {
    if (suspect.cost[s] == 0 && own(s) != kNoValue) quiet.push_back(own(s));
  }
  if (quiet.size() * 4 < suspect.cost.size()) return false;
  const Nanos usual = Median(std::move(quiet));
  const std::vector<size_t> struck = suspect.StruckSteps();
  return std::all_of(struck.begin(), struck.end(), [&](size_t s) { return 2 * (own(s) - usual) >= suspect.cost[s]; });
}

}  // namespace

std::vector<Suspect> LookAgain(const AnalysisInput& in, const std::vector<Suspect>& found,
                               const std::set<size_t>& explained, ExcessTable* table) {
  constexpr size_t kLeastPeers = 3;
  std::set<size_t> slow;
  std::map<int32_t, size_t> left;  // by class that has slow ranks: those without
  for (const Suspect& suspect : found) {
    slow.insert(suspect.rank);
    const int32_t c = in.job.peer_class[suspect.rank];
    const auto it = left.try_emplace(c, in.job.classes[static_cast<size_t>(c)].size()).first;
    --it->second;
  }
  if (slow.empty()) return {};
  *table = ComputeExcess(in.job, OwnPart::kAll, slow);
  std::vector<Suspect> out;
  for (const auto& [c, peers] : left) {
    std::vector<Suspect> hidden;
    for (const int32_t r : in.job.classes[static_cast<size_t>(c)]) {
      const auto rank = static_cast<size_t>(r);
      if (peers < 2 || slow.count(rank) > 0 || explained.count(rank) > 0) continue;
      Suspect suspect = Look(in.job, *table, rank, {});
      if (suspect.struck > 0) hidden.push_back(std::move(suspect));
    }
    // Few peers do not tell which of them is the odd one: its own other steps have to.
    const bool few = peers <= kLeastPeers;
    if (few && (hidden.size() != 1 || !ShowsInItsOwnSteps(hidden.front()))) continue;
    std::move(hidden.begin(), hidden.end(), std::back_inserter(out));
  }
  SortByTotal(&out);
  return out;
}

}  // namespace headway::diagnose
