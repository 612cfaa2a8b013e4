// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pauses.h"

#include <algorithm>
#include <iterator>
#include <map>
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

// What holds the excess of one step in one piece: the function of that stretch; empty where there is none.
std::string_view PieceOf(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers, size_t s) {
  const auto piece = static_cast<double>(StretchBeyondPeers(job, suspect.rank, peers, {&s, 1}));
  if (piece < 0.6 * static_cast<double>(suspect.cost[s])) return "";
  const std::string_view function = StretchFunction(job.ranks[suspect.rank], *job.StepOf(suspect.rank, s));
  return function.empty() ? "(nothing recorded)" : function;
}

// Steps of `suspect` whose excess lies in one piece, in another function than that of most steps; empty where that is
// no exception.
std::vector<size_t> PausedSteps(const Job& job, const Suspect& suspect) {
  const std::vector<size_t> peers = SamplePeers(job, suspect.rank, {});
  std::map<std::string_view, std::vector<size_t>> by_piece;
  for (const size_t s : suspect.StruckSteps()) by_piece[PieceOf(job, suspect, peers, s)].push_back(s);
  const auto usual = std::max_element(by_piece.begin(), by_piece.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<size_t> paused;
  for (auto it = by_piece.begin(); it != by_piece.end(); ++it) {
    if (it != usual && !it->first.empty()) paused.insert(paused.end(), it->second.begin(), it->second.end());
  }
  std::sort(paused.begin(), paused.end());
  return paused.size() * 4 <= suspect.struck ? paused : std::vector<size_t>();
}

Nanos MiddleOfStruck(const std::vector<Nanos>& cost) {
  std::vector<Nanos> struck;
  std::copy_if(cost.begin(), cost.end(), std::back_inserter(struck), [](Nanos x) { return x > 0; });
  return Median(std::move(struck));
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
    Suspect pause{suspect.rank, std::vector<Nanos>(suspect.cost.size(), 0), 0, 0, suspect.table, true, kAllWork, {}};
    for (const size_t s : paused) pause.cost[s] = std::exchange(suspect.cost[s], 0);
    // A rank that is slow in nearly all steps is so in these, too.
    const bool lasts = (suspect.struck - paused.size()) * 4 >= (suspect.cost.size() - paused.size()) * 3;
    const Nanos usual = lasts ? MiddleOfStruck(suspect.cost) : 0;
    for (const size_t s : paused) {
      suspect.cost[s] = std::min(usual, pause.cost[s] / 2);
      pause.cost[s] -= suspect.cost[s];
      pause.total += pause.cost[s];
      ++pause.struck;
      suspect.struck -= suspect.cost[s] == 0 ? 1 : 0;
    }
    suspect.total -= pause.total;
    suspect.is_part = true;
    suspect.shared = paused;
    out.push_back(std::move(pause));
  }
  return out;
}

}  // namespace headway::diagnose
