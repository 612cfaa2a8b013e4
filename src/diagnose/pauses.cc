// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pauses.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "diagnose/excess.h"
#include "diagnose/peers.h"

namespace headway::diagnose {

namespace {

std::string_view StretchFunction(const pattern::RankPattern& rank, const pattern::Step& step) {
  const pattern::FunctionId f = step.longest_stretch_function;
  return f < 0 ? std::string_view() : std::string_view((*rank.function_table)[static_cast<size_t>(f)].name);
}

// Steps of `suspect` in which at least 60 % of the excess is one piece; empty where that is no exception among steps
// of another kind.
std::vector<size_t> PausedSteps(const Job& job, const Suspect& suspect) {
  constexpr size_t kLeastOthers = 2;
  const std::vector<size_t> peers = SamplePeers(job, suspect.rank, {});
  std::vector<size_t> paused;
  std::vector<double> others;
  for (const size_t s : suspect.StruckSteps()) {
    const auto piece = static_cast<double>(StretchBeyondPeers(job, suspect.rank, peers, {&s, 1}));
    const double share = piece / static_cast<double>(suspect.cost[s]);
    if (share >= 0.6) {
      paused.push_back(s);
    } else {
      others.push_back(share);
    }
  }
  const bool few = paused.size() * 4 <= suspect.struck;
  const auto spread = std::count_if(others.begin(), others.end(), [](double share) { return share <= 0.3; });
  const bool apart = others.size() >= kLeastOthers && static_cast<size_t>(spread) * 4 >= others.size() * 3;
  return few && apart ? paused : std::vector<size_t>();
}

}  // namespace

Nanos StretchBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers, std::span<const size_t> steps) {
  Nanos sum = 0;
  for (const size_t s : steps) {
    const pattern::Step* mine = job.StepOf(rank, s);
    if (mine == nullptr) continue;
    const std::string_view function = StretchFunction(job.ranks[rank], *mine);
    std::vector<Nanos> others;
    for (const size_t p : peers) {
      const pattern::Step* step = job.StepOf(p, s);
      if (step == nullptr) continue;
      const bool same = !job.ranks[rank].has_device || StretchFunction(job.ranks[p], *step) == function;
      others.push_back(same ? step->longest_stretch : 0);
    }
    sum += std::max<Nanos>(0, mine->longest_stretch - Median(std::move(others)));
  }
  return sum;
}

std::vector<Suspect> TakePauses(const AnalysisInput& in, std::vector<Suspect>* suspects) {
  std::vector<Suspect> out;
  for (Suspect& suspect : *suspects) {
    const std::vector<size_t> paused = PausedSteps(in.job, suspect);
    if (paused.empty()) continue;
    Suspect pause{suspect.rank, std::vector<Nanos>(suspect.cost.size(), 0), 0, 0, suspect.table, true};
    for (const size_t s : paused) {
      pause.cost[s] = std::exchange(suspect.cost[s], 0);
      pause.total += pause.cost[s];
      ++pause.struck;
    }
    suspect.total -= pause.total;
    suspect.struck -= pause.struck;
    suspect.is_part = true;
    out.push_back(std::move(pause));
  }
  return out;
}

}  // namespace headway::diagnose
