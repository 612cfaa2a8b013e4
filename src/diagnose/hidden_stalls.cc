// SPDX-License-Identifier: Apache-2.0
#include "diagnose/hidden_stalls.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "diagnose/cause.h"
#include "diagnose/common_steps.h"
#include "diagnose/excess.h"
#include "diagnose/scope.h"

namespace headway::diagnose {

namespace {

using pattern::FunctionId;
using pattern::Step;
using pattern::WorkClass;

// By how much a pause must exceed the usual one, as a part of a step.
constexpr Nanos kOfStep = 100;

// By rank and axis step: the longest pause beyond what it is in quiet steps (a quarter up; the rank's own or the middle
// of its peers', whichever is shorter), where it is more than twice that and far from what such pauses vary by; 0 = as
// ever.
std::vector<std::vector<Nanos>> PausesOf(const Job& job) {
  constexpr int kFromNoise = 6;
  std::vector<std::vector<Nanos>> out(job.num_ranks(), std::vector<Nanos>(job.num_steps(), 0));
  std::vector<Nanos> usual(job.num_ranks(), 0), away;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::vector<Nanos> known;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (const Step* step = job.StepOf(r, s)) known.push_back(out[r][s] = LongestPause(job, *step));
    }
    // Files are written lane by lane: of one that breaks off rows of a lane may lack in all steps, and seem a pause.
    if (IsCut(job.ranks[r])) std::fill(out[r].begin(), out[r].end(), 0);
    if (known.empty() || IsCut(job.ranks[r])) continue;
    std::sort(known.begin(), known.end());
    usual[r] = known[known.size() / 4];
    for (size_t i = 0; i < (known.size() + 1) / 2; ++i) away.push_back(known[i] - usual[r]);
  }
  const Nanos noise = DeviationOf(std::move(away));
  constexpr size_t kLeastPeers = 3;  // of fewer the others may as well be those that hardly pause
  const Nanos of_all = Median(usual);
  std::vector<Nanos> of_class;
  for (const std::vector<int32_t>& members : job.classes) {
    std::vector<Nanos> values;
    for (const int32_t r : members) {
      if (!IsCut(job.ranks[static_cast<size_t>(r)])) values.push_back(usual[static_cast<size_t>(r)]);
    }
    of_class.push_back(values.size() > kLeastPeers ? Median(std::move(values)) : of_all);
  }
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    usual[r] = std::min(usual[r], of_class[static_cast<size_t>(job.peer_class[r])]);
    const Nanos least = std::max({usual[r], kFromNoise * noise, job.median_step / kOfStep});
    for (Nanos& x : out[r]) x = x - usual[r] >= least ? x - usual[r] : 0;
  }
  return out;
}

}  // namespace

Nanos LongestPause(const Job& job, const Step& step) {
  return job.ranks.front().has_device ? step.host_stretch : step.longest_stretch;
}

PausePlace PlaceOfPause(const Job& job, size_t rank, size_t s) {
  const Step* step = job.StepOf(rank, s);
  PausePlace out;
  if (step == nullptr) return out;
  const FunctionId innermost =
      job.ranks.front().has_device ? step->host_stretch_function : step->longest_stretch_function;
  if (innermost < 0) return out;
  const pattern::FunctionTable& table = *job.ranks[rank].function_table;
  out.work_class = table[static_cast<size_t>(innermost)].work_class;
  for (FunctionId f = innermost; f >= 0; f = table[static_cast<size_t>(f)].parent) {
    const std::string& name = table[static_cast<size_t>(f)].name;
    out.path = out.path.empty() ? name : name + " > " + out.path;
    if (out.function.empty() && !name.starts_with('(')) out.function = name;
  }
  return out;
}

std::string_view CauseByPlace(const PausePlace& place) {
  if (const std::string_view stall = StallOfName(place.path); !stall.empty()) return stall;
  return place.work_class == WorkClass::kInput ? "slow-input" : "";
}

namespace {

HiddenStall MakeStall(std::vector<size_t> ranks, std::vector<size_t> struck,
                      const std::vector<std::vector<Nanos>>& pauses) {
  HiddenStall out{std::move(ranks), std::move(struck), std::vector<Nanos>(pauses.front().size(), 0)};
  Nanos longest = -1;
  for (const size_t s : out.struck) {
    std::vector<std::pair<Nanos, size_t>> order;
    for (const size_t r : out.ranks) order.emplace_back(pauses[r][s], r);
    std::sort(order.begin(), order.end());
    const auto& [middle, rank] = order[order.size() / 2];
    out.pause[s] = middle;
    if (middle <= longest) continue;
    longest = middle;
    out.worst = s;
    out.speaker = rank;
  }
  return out;
}

// Those of most ranks, told of all, by what gives them away: a checkpoint and a compilation in different steps are two
// causes. Takes them out of `pauses` (by rank and axis step).
std::vector<HiddenStall> TakeStallsOfAll(const Job& job, std::vector<std::vector<Nanos>>* pauses) {
  std::map<std::string_view, std::vector<size_t>> steps;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    std::vector<std::pair<Nanos, size_t>> order;
    for (size_t r = 0; r < job.num_ranks(); ++r) order.emplace_back((*pauses)[r][s], r);
    std::sort(order.begin(), order.end());
    if (order[(order.size() - 1) / 2].first == 0) continue;  // of half of them or fewer each stands for itself
    steps[CauseByPlace(PlaceOfPause(job, order[order.size() / 2].second, s))].push_back(s);
  }
  std::vector<HiddenStall> out;
  for (auto& [name, struck] : steps) {
    out.push_back(MakeStall(AllRanks(job), std::move(struck), *pauses));
    out.back().of_all = true;
    for (const size_t s : out.back().struck) {
      for (std::vector<Nanos>& of_rank : *pauses) {
        const Nanos more = of_rank[s] - out.back().pause[s];
        of_rank[s] = more >= job.median_step / kOfStep ? more : 0;  // what stops one of them for longer
      }
    }
  }
  return out;
}

// What stops a rank does so for about as long each time: far shorter pauses than its longest have another reason.
void LeaveLong(const std::vector<Nanos>& pauses, std::vector<size_t>* struck) {
  constexpr int kFarShorter = 4;
  Nanos longest = 0;
  for (const size_t s : *struck) longest = std::max(longest, pauses[s]);
  std::erase_if(*struck, [&](size_t s) { return pauses[s] * kFarShorter < longest; });
}

}  // namespace

std::vector<HiddenStall> FindHiddenStalls(const Job& job) {
  std::vector<std::vector<Nanos>> pauses = PausesOf(job);
  std::vector<HiddenStall> out = TakeStallsOfAll(job, &pauses);
  if (!job.ranks.front().has_device)
    out.clear();  // what all ranks without devices do shows in their own time (long-steps)
  std::map<std::pair<std::vector<size_t>, std::string>, std::vector<size_t>> together;  // by steps and place: ranks
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::map<std::string_view, std::vector<size_t>> steps;  // by what gives it away
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (pauses[r][s] > 0) steps[CauseByPlace(PlaceOfPause(job, r, s))].push_back(s);
    }
    for (auto& [name, struck] : steps) {
      LeaveLong(pauses[r], &struck);
      const std::string place = name.empty() ? PlaceOfPause(job, r, struck.front()).function : std::string(name);
      together[{std::move(struck), place}].push_back(r);
    }
  }
  for (auto& [key, ranks] : together) out.push_back(MakeStall(std::move(ranks), key.first, pauses));
  std::erase_if(out, [&](const HiddenStall& stall) { return stall.of_all && Lasts(job, stall); });
  return out;
}

LongestPauses::LongestPauses(const Job& job) {
  constexpr size_t kMost = 256;  // of a stall of more, the shortest of these stands for the rest
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (const Step* step = job.StepOf(r, s)) longest_.push_back({LongestPause(job, *step), r, s});
    }
  }
  const auto longer = [](const Pause& a, const Pause& b) {
    return std::tie(b.length, a.rank, a.step) < std::tie(a.length, b.rank, b.step);
  };
  const auto kept = longest_.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, longest_.size()));
  std::partial_sort(longest_.begin(), kept, longest_.end(), longer);
  longest_.erase(kept, longest_.end());
}

Nanos LongestPauses::Besides(const HiddenStall& stall) const {
  for (const Pause& pause : longest_) {
    const bool is_of_it = stall.pause[pause.step] > 0 &&
                          std::find(stall.ranks.begin(), stall.ranks.end(), pause.rank) != stall.ranks.end();
    if (!is_of_it) return pause.length;
  }
  return longest_.empty() ? 0 : longest_.back().length;
}

}  // namespace headway::diagnose
