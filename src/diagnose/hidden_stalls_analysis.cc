// SPDX-License-Identifier: Apache-2.0
// Pauses that own time hides: of hosts whose devices had work until they ran dry (a checkpoint, a compilation, a
// collection, a stopped process), and of single ranks without devices whose steps vary by more. As holes all of them
// show.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/cause.h"
#include "diagnose/common_steps.h"
#include "diagnose/excess.h"
#include "diagnose/own_edit.h"
#include "diagnose/peers.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::FunctionId;
using pattern::Step;
using pattern::WorkClass;

// By how much a pause must exceed the usual one, as a part of a step.
constexpr Nanos kOfStep = 100;

bool HasDevice(const Job& job) { return job.ranks.front().has_device; }

Nanos LongestOf(const Job& job, const Step& step) { return HasDevice(job) ? step.host_stretch : step.longest_stretch; }

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
      if (const Step* step = job.StepOf(r, s)) known.push_back(out[r][s] = LongestOf(job, *step));
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

// The call path that a rank's host pauses in.
struct Place {
  std::string path;      // outermost first
  std::string function;  // the innermost frame that has a name
  WorkClass work_class = WorkClass::kIdle;
};

Place PlaceOf(const Job& job, size_t rank, size_t s) {
  const Step* step = job.StepOf(rank, s);
  Place out;
  if (step == nullptr) return out;
  const FunctionId innermost = HasDevice(job) ? step->host_stretch_function : step->longest_stretch_function;
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

// The cause that the place gives away; "" where it may be anything that stops a process.
std::string_view NameOf(const Place& place) {
  if (const std::string_view stall = StallOfName(place.path); !stall.empty()) return stall;
  return place.work_class == WorkClass::kInput ? "slow-input" : "";
}

// Ranks whose hosts pause in the same steps.
struct Stall {
  std::vector<size_t> ranks;
  std::vector<size_t> struck;  // axis steps
  std::vector<Nanos> pause;    // by axis step: of the middle rank; 0 = not struck
  size_t worst = 0;            // axis step of the longest
  size_t speaker = 0;          // the middle rank there: what it shows is told
  bool of_all = false;
};

// In nearly all steps: there are no others to hold them against.
bool Lasts(const Job& job, const Stall& stall) { return stall.struck.size() * 4 > job.num_steps() * 3; }

Stall MakeStall(std::vector<size_t> ranks, std::vector<size_t> struck, const std::vector<std::vector<Nanos>>& pauses) {
  Stall out{std::move(ranks), std::move(struck), std::vector<Nanos>(pauses.front().size(), 0)};
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
std::vector<Stall> TakeStallsOfAll(const Job& job, std::vector<std::vector<Nanos>>* pauses) {
  std::map<std::string_view, std::vector<size_t>> steps;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    std::vector<std::pair<Nanos, size_t>> order;
    for (size_t r = 0; r < job.num_ranks(); ++r) order.emplace_back((*pauses)[r][s], r);
    std::sort(order.begin(), order.end());
    if (order[(order.size() - 1) / 2].first == 0) continue;  // of half of them or fewer each stands for itself
    steps[NameOf(PlaceOf(job, order[order.size() / 2].second, s))].push_back(s);
  }
  std::vector<Stall> out;
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

std::vector<Stall> FindStalls(const Job& job) {
  std::vector<std::vector<Nanos>> pauses = PausesOf(job);
  std::vector<Stall> out = TakeStallsOfAll(job, &pauses);
  if (!HasDevice(job)) out.clear();  // what all ranks without devices do shows in their own time (long-steps)
  std::map<std::pair<std::vector<size_t>, std::string>, std::vector<size_t>> together;  // by steps and place: ranks
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::map<std::string_view, std::vector<size_t>> steps;  // by what gives it away
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (pauses[r][s] > 0) steps[NameOf(PlaceOf(job, r, s))].push_back(s);
    }
    for (auto& [name, struck] : steps) {
      const std::string place = name.empty() ? PlaceOf(job, r, struck.front()).function : std::string(name);
      together[{std::move(struck), place}].push_back(r);
    }
  }
  for (auto& [key, ranks] : together) out.push_back(MakeStall(std::move(ranks), key.first, pauses));
  std::erase_if(out, [&](const Stall& stall) { return stall.of_all && Lasts(job, stall); });
  return out;
}

// By how much the rank's device waited longer for its host than it does in quiet steps, or than its peers' do where
// there are none; as far as the pause goes.
std::vector<Nanos> RunDry(const AnalysisInput& in, const Stall& stall, size_t rank) {
  const size_t steps = in.job.num_steps();
  if (Lasts(in.job, stall)) {
    std::vector<Nanos> beyond(steps, 0);
    for (const size_t s : stall.struck) {
      const Nanos x = in.beside_compute.At(rank, s);
      if (x != kNoValue) beyond[s] = std::clamp<Nanos>(x, 0, stall.pause[s]);
    }
    return beyond;
  }
  std::vector<Nanos> quiet, out(steps, 0);
  const auto waited = [&](size_t s) { return in.beside_compute.own[rank * steps + s]; };
  for (size_t s = 0; s < steps; ++s) {
    if (stall.pause[s] == 0 && waited(s) != kNoValue) quiet.push_back(waited(s));
  }
  const Nanos usual = Median(std::move(quiet));
  for (const size_t s : stall.struck) {
    if (waited(s) != kNoValue) out[s] = std::clamp<Nanos>(waited(s) - usual, 0, stall.pause[s]);
  }
  return out;
}

// How the struck steps compare with the middle one of the others. The first step may be long for reasons of its own,
// and of the last one the length is not known: neither counts.
struct Lengths {
  Nanos longer = 0;   // by how much the struck ones are, on average
  Nanos noise = 0;    // between the others
  size_t struck = 0;  // that count

  [[nodiscard]] bool Tell() const {
    const auto error = static_cast<double>(noise) / std::max(1.0, std::sqrt(static_cast<double>(struck)));
    return longer > 0 && static_cast<double>(longer) >= 2 * error;
  }
};

Lengths CompareLengths(const Job& job, const Stall& stall) {
  std::vector<Nanos> quiet;
  Lengths out;
  Nanos sum = 0;
  for (size_t s = 1; s + 1 < job.num_steps(); ++s) {
    if (stall.pause[s] > 0) {
      sum += job.step_time[s];
      ++out.struck;
    } else {
      quiet.push_back(job.step_time[s]);
    }
  }
  if (quiet.size() < 3 || out.struck == 0) return {};
  const Nanos middle = Median(quiet);
  out.longer = sum / static_cast<Nanos>(out.struck) - middle;
  for (Nanos& x : quiet) x -= middle;
  out.noise = DeviationOf(std::move(quiet));
  return out;
}

// Code of a function takes its time again and again; what stops a process may find it in any.
Cause CauseOf(const Place& place, size_t times) {
  constexpr size_t kAgain = 3;
  const std::string function = ShortFrame(place.function);
  Cause out{std::string(NameOf(place)), function, function, ""};
  if (out.name == "slow-input") {
    out.suggestion = "look at the storage and loader workers; prefetch more batches (num_workers, prefetch_factor)";
  } else if (!out.name.empty()) {
    out.suggestion = AdviceOnStall(out.name);
  } else if (place.work_class == WorkClass::kIdle || times < kAgain || place.function.empty()) {
    out = {"paused-process", "", "",
           "look for what stops the process: a checkpoint, a collection, a debugger, swapping, a container's CPU quota "
           "(record Python stacks to tell)"};
  } else {
    out.name = "slow-host-code";
    out.suggestion = "look at what this function does in these steps";
  }
  return out;
}

// How much ranks like these vary beside what they compute.
Nanos NoiseBeside(const AnalysisInput& in, const Stall& stall) {
  Nanos noise = 0;
  for (const size_t r : stall.ranks) {
    noise = std::max(noise, in.beside_compute.step_noise[static_cast<size_t>(in.job.peer_class[r])]);
  }
  return noise;
}

Candidate MakeCandidate(const AnalysisInput& in, const Stall& stall, const Lengths& lengths) {
  const Job& job = in.job;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  candidate.excess = stall.pause;
  const bool longer = !Lasts(job, stall) && lengths.Tell();
  candidate.noise = longer ? lengths.noise : NoiseBeside(in, stall);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  const Nanos whole = LongestOf(job, *job.StepOf(stall.speaker, stall.worst));
  const Cause cause = CauseOf(PlaceOf(job, stall.speaker, stall.worst), stall.struck.size());
  finding.cause = cause.name;
  FillScope(job, stall.ranks, &finding.scope);
  finding.scope.function = cause.function;
  finding.id = cause.name + "-hidden-" + (stall.of_all ? "all" : std::to_string(finding.scope.ranks.front())) + "-" +
               std::to_string(job.steps[stall.struck.front()]);
  finding.headline = Who(job, finding.scope);
  const bool one = stall.ranks.size() == 1;
  const bool has_device = HasDevice(job);
  finding.sentence = std::string(has_device ? (one ? "Its host " : "Their hosts ") : (one ? "It " : "They ")) +
                     (cause.function.empty() ? "recorded nothing" : (one ? "is in " : "are in ") + cause.sentence) +
                     " for " + FormatDuration(whole) + " in one piece" +
                     (!has_device ? ""
                      : one       ? " while its device worked off what it had"
                                  : " while their devices worked off what they had") +
                     (longer ? std::string(stall.struck.size() == 1 ? ": this step is " : ": these steps are ") +
                                   FormatDuration(lengths.longer) + " longer than the others."
                      : has_device ? " and then waited."
                                   : ".");
  finding.suggestion = cause.suggestion;
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = stall.of_all ? "most hosts in the same steps" : "most other ranks go on in these steps";
  const std::set<size_t> stalled(stall.ranks.begin(), stall.ranks.end());
  std::vector<size_t> quiet;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (stall.pause[s] == 0) quiet.push_back(s);
  }
  for (const size_t r : stall.ranks) {
    const std::vector<Nanos> dry = RunDry(in, stall, r);
    const std::vector<size_t> peers = stall.of_all ? std::vector<size_t>() : SamplePeers(job, r, stalled);
    if (peers.empty() && cause.name == "slow-input") {
      RemoveFromStepBegins(job, r, dry, &candidate.edit);
    } else if (stall.of_all) {
      RemoveBeyondQuietSteps(job, r, dry, quiet, &candidate.edit);
    } else {
      RemoveOwnTime(job, r, peers, dry, &candidate.edit);
    }
  }
  return candidate;
}

// Whether it costs anything: the steps are longer, or devices were out of work.
bool Matters(const AnalysisInput& in, const Stall& stall, const Lengths& lengths) {
  const bool lasts = Lasts(in.job, stall);
  if (!lasts && lengths.Tell()) return true;
  std::vector<Nanos> dry;
  for (const size_t r : stall.ranks) {
    Nanos sum = 0;
    for (const Nanos x : RunDry(in, stall, r)) sum += x;
    dry.push_back(sum / static_cast<Nanos>(stall.struck.size()));
  }
  const auto steps = std::sqrt(static_cast<double>(lasts ? stall.struck.size() : 1));
  const auto noise = static_cast<Nanos>(5 * static_cast<double>(NoiseBeside(in, stall)) / steps);
  return Median(std::move(dry)) >= std::max(noise, in.job.median_step / 100);
}

}  // namespace

void RunHiddenStallsAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() == 0 || job.num_steps() < 5) return;
  for (const Stall& stall : FindStalls(job)) {
    const Lengths lengths = CompareLengths(job, stall);
    if (!Matters(in, stall, lengths)) continue;
    Candidate candidate = MakeCandidate(in, stall, lengths);
    // Without devices code that takes long is own time: what a name gives away, or nothing does, remains.
    if (HasDevice(job) || candidate.finding.cause != "slow-host-code") out->candidates.push_back(std::move(candidate));
  }
}

}  // namespace headway::diagnose
