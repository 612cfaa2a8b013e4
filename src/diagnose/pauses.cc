// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pauses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "diagnose/excess.h"
#include "diagnose/peers.h"

namespace headway::diagnose {

namespace {

std::string_view NameOf(const pattern::RankPattern& rank, pattern::FunctionId f) {
  return f < 0 ? std::string_view() : std::string_view((*rank.function_table)[static_cast<size_t>(f)].name);
}

bool IsInput(const pattern::RankPattern& rank, pattern::FunctionId f) {
  return f >= 0 && (*rank.function_table)[static_cast<size_t>(f)].work_class == pattern::WorkClass::kInput;
}

std::string_view StretchFunction(const pattern::RankPattern& rank, const pattern::Step& step) {
  return NameOf(rank, step.longest_stretch_function);
}

// What holds the excess of one step in one piece: the function of that stretch; empty where there is none.
std::string_view PieceOf(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers, size_t s) {
  const auto piece = static_cast<double>(StretchBeyondPeers(job, suspect.rank, peers, {&s, 1}));
  if (piece < 0.6 * static_cast<double>(suspect.cost[s])) return "";
  const std::string_view function = StretchFunction(job.ranks[suspect.rank], *job.StepOf(suspect.rank, s));
  return function.empty() ? "(nothing recorded)" : function;
}

// Steps of `suspect` whose excess lies in one piece, in another function than that of most steps, by that function;
// empty where that is no exception.
std::vector<std::vector<size_t>> PausedSteps(const Job& job, const Suspect& suspect) {
  const std::vector<size_t> peers = SamplePeers(job, suspect.rank, {});
  std::map<std::string_view, std::vector<size_t>> by_piece;
  for (const size_t s : suspect.StruckSteps()) by_piece[PieceOf(job, suspect, peers, s)].push_back(s);
  const auto usual = std::max_element(by_piece.begin(), by_piece.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::vector<size_t>> paused;
  size_t count = 0;
  for (auto it = by_piece.begin(); it != by_piece.end(); ++it) {
    if (it == usual || it->first.empty()) continue;
    count += it->second.size();
    paused.push_back(it->second);
  }
  return count * 4 <= suspect.struck ? paused : std::vector<std::vector<size_t>>();
}

// The middle of what the peers that have the step show in it: value_of(peer, step); nothing where none has it.
template <typename ValueOf>
std::optional<Nanos> MiddleOfPeers(const Job& job, std::span<const size_t> peers, size_t s, const ValueOf& value_of) {
  std::vector<Nanos> values;
  for (const size_t p : peers) {
    if (const pattern::Step* step = job.StepOf(p, s)) values.push_back(value_of(p, *step));
  }
  return values.empty() ? std::nullopt : std::optional(Median(std::move(values)));
}

// 0 where it is hardly longer than theirs in the same function.
Nanos HostStretchOf(const Job& job, size_t rank, std::span<const size_t> peers, size_t s) {
  const pattern::Step* mine = job.StepOf(rank, s);
  if (mine == nullptr) return 0;
  const std::string_view function = NameOf(job.ranks[rank], mine->host_stretch_function);
  const auto usual = MiddleOfPeers(job, peers, s, [&](size_t p, const pattern::Step& step) {
    return NameOf(job.ranks[p], step.host_stretch_function) == function ? step.host_stretch : 0;
  });
  return usual && mine->host_stretch * 2 >= *usual * 3 ? mine->host_stretch - *usual : 0;
}

}  // namespace

Nanos StretchBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers, std::span<const size_t> steps) {
  Nanos sum = 0;
  for (const size_t s : steps) {
    const pattern::Step* mine = job.StepOf(rank, s);
    if (mine == nullptr) continue;
    const std::string_view function = StretchFunction(job.ranks[rank], *mine);
    const auto usual = MiddleOfPeers(job, peers, s, [&](size_t p, const pattern::Step& step) {
      const bool has_reason = job.ranks[rank].has_device || IsInput(job.ranks[p], step.longest_stretch_function);
      return !has_reason || StretchFunction(job.ranks[p], step) == function ? step.longest_stretch : 0;
    });
    sum += std::max<Nanos>(0, mine->longest_stretch - usual.value_or(0));
  }
  return sum;
}

Nanos HostStretchBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers,
                             std::span<const size_t> steps) {
  Nanos sum = 0;
  for (const size_t s : steps) sum += HostStretchOf(job, rank, peers, s);
  return sum;
}

Nanos HostInputBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers, std::span<const size_t> steps) {
  Nanos sum = 0;
  for (const size_t s : steps) {
    const pattern::Step* mine = job.StepOf(rank, s);
    const bool is_input = mine != nullptr && IsInput(job.ranks[rank], mine->host_stretch_function);
    if (is_input) sum += HostStretchOf(job, rank, peers, s);
  }
  return sum;
}

bool ArePausesMasked(const Job& job, size_t rank, std::span<const size_t> peers, std::span<const size_t> steps,
                     std::span<const Nanos> cost) {
  const bool has_device = job.ranks[rank].has_device;
  size_t masked = 0;
  for (const size_t s : steps) {
    const auto usual = MiddleOfPeers(job, peers, s, [has_device](size_t, const pattern::Step& step) {
      return has_device ? step.host_stretch : step.longest_stretch;
    });
    masked += usual && *usual >= cost[s] ? 1 : 0;
  }
  return masked * 2 > steps.size();
}

std::vector<std::vector<Suspect>> TakePauses(const AnalysisInput& in, std::vector<Suspect>* suspects) {
  std::vector<std::vector<Suspect>> out;
  for (Suspect& suspect : *suspects) {
    const std::vector<std::vector<size_t>> paused = PausedSteps(in.job, suspect);
    if (paused.empty()) continue;
    for (const std::vector<size_t>& steps : paused)
      suspect.shared.insert(suspect.shared.end(), steps.begin(), steps.end());
    std::sort(suspect.shared.begin(), suspect.shared.end());
    // A rank that is slow in nearly all steps is so in these, too.
    const size_t others = suspect.struck - suspect.shared.size();
    const bool lasts = others * 4 >= (suspect.cost.size() - suspect.shared.size()) * 3;
    std::vector<Nanos> rest = suspect.cost;
    for (const size_t s : suspect.shared) rest[s] = 0;
    const Nanos usual = lasts ? MedianOfStruck(rest, 1) : 0;
    suspect.is_part = true;
    for (size_t k = 0; k < paused.size(); ++k) {
      std::vector<Nanos> cost(suspect.cost.size(), 0);
      for (const size_t s : paused[k]) {
        cost[s] = suspect.Take(s, suspect.cost[s] - std::min(usual, suspect.cost[s] / 2));
      }
      Suspect pause = MakeSuspect(suspect.rank, *suspect.table, std::move(cost));
      pause.is_part = true;
      if (out.size() <= k) out.emplace_back();
      out[k].push_back(std::move(pause));
    }
  }
  return out;
}

}  // namespace headway::diagnose
