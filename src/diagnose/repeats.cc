// SPDX-License-Identifier: Apache-2.0
#include "diagnose/repeats.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "diagnose/call_times.h"

namespace headway::diagnose {

namespace {

// Whether `a` costs at least as much in every step in which `b` costs anything. What all take alike says all that one
// takes beyond them only where that is the smaller part of it, as where one is a little slower in it. Stages that do
// without differ from one by more than that, too.
bool CostsAsMuch(const Candidate& a, const Candidate& b) {
  const Nanos part = a.against == HeldAgainst::kOtherSteps && b.against != HeldAgainst::kOtherSteps ? 2 : 1;
  bool shared = false;
  for (size_t s = 0; s < std::min(a.excess.size(), b.excess.size()); ++s) {
    if (b.excess[s] <= 0) continue;
    const Nanos at_most = b.against == HeldAgainst::kOtherStages ? a.excess[s] + a.excess[s] / 2 : a.excess[s];
    if (at_most < part * b.excess[s]) return false;
    shared = true;
  }
  return shared;
}

bool ShareSteps(const Candidate& a, const Candidate& b) {
  for (size_t s = 0; s < std::min(a.excess.size(), b.excess.size()); ++s) {
    if (a.excess[s] > 0 && b.excess[s] > 0) return true;
  }
  return false;
}

// Of the same ranks: struck in common steps.
bool IsSame(const Candidate& a, const Candidate& b) {
  const auto& ranks = b.finding.scope.ranks;
  return a.finding.cause == b.finding.cause && !ranks.empty() && a.finding.scope.ranks == ranks && ShareSteps(a, b);
}

// Seen by what one rank shows and by what all show, it is the same; the latter sees more of it.
bool IsOfProgram(const Candidate& candidate) { return candidate.finding.cause == "launch-bound"; }

Nanos Cost(const Candidate& candidate) {
  return std::accumulate(candidate.excess.begin(), candidate.excess.end(), Nanos{0});
}

bool Includes(const std::vector<RankId>& ranks, const std::vector<RankId>& fewer) {
  return std::includes(ranks.begin(), ranks.end(), fewer.begin(), fewer.end());
}

// `a` says all that `b` says: it names more ranks, and costs them as much. What a program does it does everywhere,
// though it shows in other steps elsewhere: there the costlier says it, be it of fewer.
bool Covers(const Candidate& a, const Candidate& b) {
  const auto& ranks = a.finding.scope.ranks;
  const auto& others = b.finding.scope.ranks;
  if (a.finding.cause != b.finding.cause || others.empty() || ranks.empty() || ranks == others) return false;
  if (IsOfProgram(a) && ShareSteps(a, b)) {
    const bool is_costlier = Cost(a) > Cost(b) || (Cost(a) == Cost(b) && ranks.size() > others.size());
    return is_costlier && (Includes(ranks, others) || Includes(others, ranks));
  }
  const bool on_top = b.against == HeldAgainst::kPeers && a.against == HeldAgainst::kNothing;
  if (on_top || b.is_beyond_host) return false;
  return ranks.size() > others.size() && Includes(ranks, others) && CostsAsMuch(a, b);
}

// What a host does for its ranks takes longer on a slow one, whatever analysis comes upon it: its input, its code, its
// launches, in the steps in which it is slow; unless it takes far longer than the host is slow.
bool IsSymptom(const Candidate& host, const Candidate& candidate) {
  const std::string& cause = candidate.finding.cause;
  const bool of_host = cause == "slow-input" || cause == "slow-host-code" || cause == "launch-bound";
  const auto& ranks = host.finding.scope.ranks;
  if (host.finding.cause != "slow-host" || !of_host || ranks.empty() || candidate.finding.scope.ranks != ranks) {
    return false;
  }
  if (host.longer > 0 && IsOwnMatter(candidate.longer, host.longer)) return false;
  size_t struck = 0, both = 0;
  for (size_t s = 0; s < std::min(host.excess.size(), candidate.excess.size()); ++s) {
    struck += candidate.excess[s] > 0 ? 1 : 0;
    both += candidate.excess[s] > 0 && host.excess[s] > 0 ? 1 : 0;
  }
  return both > 0 && both * 4 >= struck * 3;
}

// What stops all ranks of a stall that has a name, or is in a function that has one, shows as a pause without one, too.
bool IsPauseOf(const Candidate& stall, const Candidate& pause) {
  const std::string& cause = stall.finding.cause;
  if (pause.finding.cause != "paused-process") return false;
  const bool in_code = cause == "slow-host-code" && stall.only_here;
  if (!in_code && cause != "checkpoint-stall" && cause != "compile-or-load" && cause != "gc-pause") return false;
  const auto& ranks = stall.finding.scope.ranks;
  const auto& paused = pause.finding.scope.ranks;
  if (paused.empty() || !Includes(ranks, paused)) return false;
  for (size_t s = 0; s < std::min(stall.excess.size(), pause.excess.size()); ++s) {
    // Of what takes long in code only what the device does not hide is known to be that code's.
    const Nanos most = in_code ? (stall.excess[s] > 0 ? pause.excess[s] : 0) : 2 * stall.excess[s];
    if (pause.excess[s] > most) return false;
  }
  return true;
}

// One kernel that is longer on a stage that has more to do than the others, which are what its rank was held against,
// is what it has to do.
bool IsOfStage(const Candidate& stage, const Candidate& candidate) {
  const report::Finding& finding = candidate.finding;
  return stage.finding.cause == "stage-imbalance" && finding.cause == "slow-device" &&
         !finding.scope.function.empty() && finding.scope.ranks == stage.finding.scope.ranks &&
         ShareSteps(stage, candidate);
}

// Copies from pageable memory are slow by that: held against others they are no second matter.
bool IsUnpinned(const Candidate& unpinned, const Candidate& copy) {
  const report::Scope& scope = copy.finding.scope;
  return unpinned.finding.cause == "unpinned-copy" && copy.finding.cause == "slow-copy" &&
         scope.function.find("Pageable") != std::string::npos && !scope.ranks.empty() &&
         Includes(unpinned.finding.scope.ranks, scope.ranks);
}

// What a stage takes longer for its slow host is no work to move to another stage.
bool IsStageOnHost(const Candidate& host, const Candidate& stage) {
  return host.finding.cause == "slow-host" && stage.finding.cause == "stage-imbalance" &&
         !stage.finding.scope.ranks.empty() && Includes(host.finding.scope.ranks, stage.finding.scope.ranks) &&
         CostsAsMuch(host, stage);
}

// Whether `told` is three quarters of `all`: by step `part` of what both take.
template <typename Part>
bool IsMostOf(const Candidate& told, const Candidate& all, const Part& part) {
  Nanos sum = 0, parts = 0;
  for (size_t s = 0; s < std::min(told.excess.size(), all.excess.size()); ++s) {
    const Nanos x = std::max<Nanos>(0, all.excess[s]);
    sum += x;
    parts += part(std::max<Nanos>(0, told.excess[s]), x);
  }
  return parts > 0 && parts * 4 >= sum * 3;
}

// What a stage takes longer where nothing is recorded is the holes that are told of its ranks, if they are most of it.
bool IsHolesOf(const Candidate& pause, const Candidate& stage) {
  const report::Finding& finding = stage.finding;
  if (pause.finding.cause != "paused-process" || finding.cause != "slow-host-code" || !finding.scope.function.empty() ||
      stage.against != HeldAgainst::kOtherStages || finding.scope.ranks != pause.finding.scope.ranks) {
    return false;
  }
  const Nanos part = pause.against == HeldAgainst::kOtherSteps ? 2 : 1;
  return IsMostOf(pause, stage, [part](Nanos told, Nanos all) { return 2 * part * all <= 3 * told ? all : 0; });
}

// What a stage takes longer is no work to move where three quarters of it are one function of its host that takes
// longer than on other ranks.
bool IsCodeOf(const Candidate& code, const Candidate& stage) {
  const report::Finding& finding = code.finding;
  if (finding.cause != "slow-host-code" || finding.scope.function.empty() || stage.finding.cause != "stage-imbalance" ||
      finding.scope.ranks != stage.finding.scope.ranks) {
    return false;
  }
  return IsMostOf(code, stage, [](Nanos told, Nanos all) { return std::min(told, all); });
}

// Of own time that both take away the more; neither knows of the other. These causes change own time only.
void Absorb(const Candidate& symptom, Candidate* host) {
  std::map<uint32_t, Nanos> own;
  for (const auto& change : host->edit.own) own[change.mark] = change.own;
  for (const auto& change : symptom.edit.own) {
    const auto [at, fresh] = own.try_emplace(change.mark, change.own);
    if (!fresh) at->second = std::min(at->second, change.own);
  }
  host->edit.own.clear();
  for (const auto& [mark, left] : own) host->edit.own.push_back({mark, left});
  host->excess.resize(std::max(host->excess.size(), symptom.excess.size()), 0);
  for (size_t s = 0; s < symptom.excess.size(); ++s) host->excess[s] = std::max(host->excess[s], symptom.excess[s]);
}

void AbsorbSymptoms(std::vector<Candidate>* candidates) {
  std::vector<bool> gone(candidates->size(), false);
  for (Candidate& host : *candidates) {
    for (size_t i = 0; i < candidates->size(); ++i) {
      const Candidate& candidate = (*candidates)[i];
      const bool is_symptom = IsSymptom(host, candidate), is_code = IsCodeOf(host, candidate);
      const bool is_part = IsPauseOf(host, candidate) || IsOfStage(host, candidate) || IsStageOnHost(host, candidate) ||
                           IsHolesOf(host, candidate) || IsUnpinned(host, candidate) || is_code;
      if (gone[i] || (!is_symptom && !is_part)) continue;
      if (is_symptom) Absorb(candidate, &host);
      if (is_code) host.at_most_info &= candidate.at_most_info;  // two that show the same
      gone[i] = true;
    }
  }
  std::vector<Candidate> kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    if (!gone[i]) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

// Of those that are the same the first one of those that claim most, or of a program the costliest: by index.
std::vector<size_t> Different(const std::vector<Candidate>& candidates, const std::vector<size_t>& among) {
  std::vector<size_t> out;
  for (const size_t i : among) {
    const Candidate& candidate = candidates[i];
    const auto known =
        std::find_if(out.begin(), out.end(), [&](size_t before) { return IsSame(candidates[before], candidate); });
    if (known == out.end()) {
      out.push_back(i);
    } else if (IsOfProgram(candidate) ? Cost(candidate) > Cost(candidates[*known])
                                      : candidates[*known].at_most_info && !candidate.at_most_info) {
      *known = i;
    }
  }
  return out;
}

}  // namespace

void DropRepeats(std::vector<Candidate>* candidates) {
  AbsorbSymptoms(candidates);
  std::vector<size_t> all(candidates->size());
  std::iota(all.begin(), all.end(), size_t{0});
  const std::vector<size_t> different = Different(*candidates, all);  // what goes covers nothing itself
  // What is covered cannot stand for another that says more than what covers it.
  std::erase_if(all, [&](size_t i) {
    return std::any_of(different.begin(), different.end(),
                       [&](size_t a) { return Covers((*candidates)[a], (*candidates)[i]); });
  });
  std::vector<Candidate> kept;
  for (const size_t i : Different(*candidates, all)) kept.push_back(std::move((*candidates)[i]));
  *candidates = std::move(kept);
}

}  // namespace headway::diagnose
