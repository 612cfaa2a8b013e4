// SPDX-License-Identifier: Apache-2.0
// Pauses that own time hides: of hosts whose devices had work until they ran dry (a checkpoint, a compilation, a
// collection, a stopped process), and of single ranks without devices whose steps vary by more. As holes all of them
// show.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/cause.h"
#include "diagnose/excess.h"
#include "diagnose/hidden_stalls.h"
#include "diagnose/own_edit.h"
#include "diagnose/peers.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

bool HasDevice(const Job& job) { return job.ranks.front().has_device; }

// By how much the rank's device waited longer for its host than it does in quiet steps, or than its peers' do where
// there are none; as far as the pause goes.
std::vector<Nanos> RunDry(const AnalysisInput& in, const HiddenStall& stall, size_t rank) {
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

Lengths CompareLengths(const Job& job, const HiddenStall& stall) {
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
Cause CauseOf(const PausePlace& place, size_t times) {
  constexpr size_t kAgain = 3;
  const std::string function = ShortFrame(place.function);
  Cause out{std::string(CauseByPlace(place)), function, function, ""};
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
Nanos NoiseBeside(const AnalysisInput& in, const HiddenStall& stall) {
  Nanos noise = 0;
  for (const size_t r : stall.ranks) {
    noise = std::max(noise, in.beside_compute.step_noise[static_cast<size_t>(in.job.peer_class[r])]);
  }
  return noise;
}

Candidate MakeCandidate(const AnalysisInput& in, const HiddenStall& stall, const Lengths& lengths) {
  const Job& job = in.job;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  candidate.excess = stall.pause;
  const bool longer = !Lasts(job, stall) && lengths.Tell();
  candidate.noise = longer ? lengths.noise : NoiseBeside(in, stall);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  const Nanos whole = LongestPause(job, *job.StepOf(stall.speaker, stall.worst));
  const Cause cause = CauseOf(PlaceOfPause(job, stall.speaker, stall.worst), stall.struck.size());
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
bool Costs(const AnalysisInput& in, const HiddenStall& stall, const Lengths& lengths) {
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

// Whether it is worth a remark whatever it costs: hosts that rest for so long that their devices must have had four
// fifths of a step in store, which the next pause may not find; or, where a pause is own time, however much that
// varies, one of a twentieth of the step and three times any other.
bool IsRemarkable(const Job& job, const HiddenStall& stall, const LongestPauses& longest) {
  const Nanos pause = stall.pause[stall.worst];
  if (HasDevice(job)) return stall.of_all && pause * 5 >= job.median_step * 4;
  return pause * 20 >= job.median_step &&
         LongestPause(job, *job.StepOf(stall.speaker, stall.worst)) >= 3 * longest.Besides(stall);
}

}  // namespace

void RunHiddenStallsAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() == 0 || job.num_steps() < 5) return;
  const LongestPauses longest(job);
  for (const HiddenStall& stall : FindHiddenStalls(job)) {
    const Lengths lengths = CompareLengths(job, stall);
    const bool costs = Costs(in, stall, lengths);
    if (!costs && !IsRemarkable(job, stall, longest)) continue;
    Candidate candidate = MakeCandidate(in, stall, lengths);
    candidate.at_most_info = !costs;
    // Without devices code that takes long is own time: what a name gives away, or nothing does, remains.
    if (HasDevice(job) || candidate.finding.cause != "slow-host-code") out->candidates.push_back(std::move(candidate));
  }
}

}  // namespace headway::diagnose
