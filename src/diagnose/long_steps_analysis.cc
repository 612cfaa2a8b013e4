// SPDX-License-Identifier: Apache-2.0
// Steps in which all peers together take longer than in their other steps: a checkpoint, a compilation, an evaluation.
// No rank stands out, so each is held against its own other steps; and so is a rank that has no peers.
#include <algorithm>
#include <map>
#include <string>

#include "diagnose/analyses.h"
#include "diagnose/cause.h"
#include "diagnose/common_stalls.h"
#include "diagnose/explain.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// Ranks that are longer in the same steps.
struct LongSteps {
  struct Stage {
    std::vector<size_t> ranks;  // of one class
    std::vector<Nanos> cost;
  };
  std::vector<size_t> ranks;
  std::vector<Nanos> cost;    // by axis step: the middle rank's time beyond its usual; 0 = not struck
  std::vector<Stage> stages;  // where several are joined `ranks` are those of all, and `cost` is that of the worst
  std::vector<size_t> struck, quiet;
  std::vector<FunctionView::Node> functions;  // by axis step: the function that only its name brought out; -1 = none
  bool alike = false;                         // all in one hole of the same length
  size_t speaker = 0;                         // the rank whose excess is the middle one: what it shows is explained
  Nanos noise = 0;
};

// What a step must be longer by.
Nanos Threshold(const Job& job, Nanos noise) { return std::max(4 * noise, job.median_step / 100); }

// Ranks that share processors disturb one another: all may be late by chance. Below this share of a step only a
// function that its name gives away is believed, or one hole of the same length on all.
constexpr int kDisturbedPercent = 15;

// Whether a stall with a name is a good part of what a step takes longer. Where it is not most of it the rest has
// another cause, as where every second batch is slow, too.
bool IsPart(Nanos named, Nanos longer) { return named * 5 >= longer; }
bool IsMost(Nanos named, Nanos longer) { return named * 10 >= longer * 6; }

LongSteps FindLongSteps(const AnalysisInput& in, size_t peer_class, const std::vector<bool>& same_hole) {
  const size_t num_steps = in.job.num_steps();
  LongSteps out;
  out.noise = in.excess.step_noise[peer_class];
  out.cost.assign(num_steps, 0);
  out.functions.assign(num_steps, -1);
  std::vector<Nanos> usual;
  for (const int32_t r : in.job.classes[peer_class]) {
    out.ranks.push_back(static_cast<size_t>(r));
    std::vector<Nanos> row;
    for (size_t s = 0; s < num_steps; ++s) {
      if (const Nanos own = in.excess.own[out.ranks.back() * num_steps + s]; own != kNoValue) row.push_back(own);
    }
    usual.push_back(Median(std::move(row)));
  }
  const CommonStalls stalls = FindCommonStalls(in, out.ranks, same_hole);
  for (size_t s = 0; s < num_steps; ++s) {
    std::vector<std::pair<Nanos, size_t>> longer;  // by how much, rank
    for (size_t i = 0; i < out.ranks.size(); ++i) {
      const Nanos own = in.excess.own[out.ranks[i] * num_steps + s];
      if (own != kNoValue) longer.emplace_back(own - usual[i], out.ranks[i]);
    }
    std::sort(longer.begin(), longer.end());
    // Three quarters of the ranks.
    const bool stands_out = !longer.empty() && longer[longer.size() / 4].first >= Threshold(in.job, out.noise);
    const Nanos stall = std::max(stalls.named[s], stalls.holes[s]);
    const size_t middle = longer.empty() ? 0 : (longer.size() - 1) / 2;  // of two the one that less else strikes
    if (!longer.empty() && (stands_out || stall > 0)) {
      const Nanos beyond = longer[middle].first, named = stalls.named[s];
      out.cost[s] = !stands_out ? stall : IsPart(named, beyond) && !IsMost(named, beyond) ? named : beyond;
      out.alike = out.alike || stalls.holes[s] > 0;
      if (!stands_out || IsPart(named, beyond)) out.functions[s] = stalls.functions[s];
      if (out.struck.empty()) out.speaker = longer[middle].second;
      out.struck.push_back(s);
    } else {
      out.quiet.push_back(s);
    }
  }
  return out;
}

Nanos StretchBeyondQuiet(const Job& job, const LongSteps& steps) {
  std::vector<Nanos> usual;
  const size_t r = steps.speaker;
  for (const size_t s : steps.quiet) {
    if (const pattern::Step* step = job.StepOf(r, s)) usual.push_back(step->longest_stretch);
  }
  const Nanos middle = Median(std::move(usual));
  Nanos sum = 0;
  for (const size_t s : steps.struck) {
    if (const pattern::Step* step = job.StepOf(r, s)) sum += std::max<Nanos>(0, step->longest_stretch - middle);
  }
  return sum;
}

// Steps may differ by what they are given (lengths, evaluation): only what a name gives away is claimed, or that
// nothing ran at all.
bool IsClaimed(const std::string& cause) {
  return cause == "checkpoint-stall" || cause == "compile-or-load" || cause == "gc-pause" || cause == "slow-input" ||
         cause == "paused-process";
}

Cause NameOf(const AnalysisInput& in, const LongSteps& steps) {
  const Job& job = in.job;
  const size_t first = steps.speaker;
  std::vector<Sample> references;
  for (const size_t s : steps.quiet) references.push_back({first, {s}});
  const FunctionView::Node named = steps.functions[steps.struck.front()];
  const Explanation why = Explain(job, in.view, {first, steps.struck}, references, named);
  CauseContext context;
  context.has_device = job.ranks[first].has_device;
  context.when = ClassifyWhen(steps.cost, job.steps);
  for (const Nanos x : steps.cost) context.excess += x;
  context.longest_stretch = StretchBeyondQuiet(job, steps);
  context.stacks_recorded = job.ranks[first].meta.with_stack;
  context.confirmed = why.node >= 0;
  context.against_own_steps = true;
  return NameCause(why, context);
}

// Those of `steps` at `struck` alone.
LongSteps Only(const LongSteps& steps, std::vector<size_t> struck) {
  LongSteps out = steps;
  std::fill(out.cost.begin(), out.cost.end(), 0);
  for (const size_t s : struck) out.cost[s] = steps.cost[s];
  out.struck = std::move(struck);
  return out;
}

// A checkpoint and a compilation in different steps are two causes.
std::vector<LongSteps> SplitByCause(const AnalysisInput& in, const LongSteps& steps) {
  constexpr size_t kMostLookedAt = 32;  // one by one
  if (steps.struck.size() > kMostLookedAt) return {steps};
  std::map<std::string, std::vector<size_t>> by_cause;
  for (const size_t s : steps.struck) by_cause[NameOf(in, Only(steps, {s})).name].push_back(s);
  std::vector<LongSteps> out;
  for (auto& [cause, struck] : by_cause) out.push_back(Only(steps, std::move(struck)));
  return out;
}

// Programs of several stages wait for one another: struck in the same steps they are struck by one thing.
void Join(const LongSteps& more, LongSteps* all) {
  all->ranks.insert(all->ranks.end(), more.ranks.begin(), more.ranks.end());
  all->alike = all->alike && more.alike;
  for (size_t s = 0; s < all->cost.size(); ++s) all->cost[s] = std::max(all->cost[s], more.cost[s]);
  all->noise = std::max(all->noise, more.noise);
  all->stages.insert(all->stages.end(), more.stages.begin(), more.stages.end());
}

std::vector<LongSteps> FindAll(const AnalysisInput& in) {
  std::vector<LongSteps> out;
  const std::vector<bool> same_hole = StepsOfSameHole(in.job);
  for (size_t c = 0; c < in.job.classes.size(); ++c) {
    const LongSteps found = FindLongSteps(in, c, same_hole);
    if (found.struck.empty() || found.quiet.empty()) continue;
    for (LongSteps& part : SplitByCause(in, found)) {
      part.stages = {{part.ranks, part.cost}};
      const auto same =
          std::find_if(out.begin(), out.end(), [&](const LongSteps& l) { return l.struck == part.struck; });
      same == out.end() ? out.push_back(std::move(part)) : Join(part, &*same);
    }
  }
  return out;
}

Candidate MakeCandidate(const AnalysisInput& in, const LongSteps& steps, const Cause& cause) {
  const Job& job = in.job;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = cause.name;
  FillScope(job, steps.ranks, &finding.scope);
  finding.id = cause.name + "-step-" + std::to_string(job.steps[steps.struck.front()]);
  finding.headline = Who(job, finding.scope);
  finding.scope.function = cause.function;
  finding.when = ClassifyWhen(steps.cost, job.steps);
  const bool one = steps.ranks.size() == 1;
  const bool all = steps.ranks.size() == job.num_ranks();
  finding.sentence = std::string("In ") + (steps.struck.size() == 1 ? "this step " : "these steps ") +
                     (one   ? "it takes longer than in its"
                      : all ? "every rank takes longer than in its"
                            : "these ranks all take longer than in their") +
                     " others. " + cause.sentence + ".";
  finding.suggestion = cause.name == "paused-process"
                           ? "record Python stacks to see what ran: a checkpoint, an evaluation, a compilation, a "
                             "garbage collection"
                           : cause.suggestion;
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = one ? "against its other steps; no other rank runs the same program"
                                  : "all ranks in the same steps, against their other steps";
  candidate.excess = steps.cost;
  candidate.noise = steps.noise;
  candidate.against = HeldAgainst::kOtherSteps;
  candidate.at_most_info = !IsClaimed(cause.name);
  for (const LongSteps::Stage& stage : steps.stages) {
    for (const size_t r : stage.ranks) RemoveBeyondQuietSteps(job, r, stage.cost, steps.quiet, &candidate.edit);
  }
  return candidate;
}

}  // namespace

void RunLongStepsAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  if (in.job.num_steps() < 3) return;
  const bool has_device = in.job.num_ranks() > 0 && in.job.ranks.front().has_device;
  for (const LongSteps& steps : FindAll(in)) {
    const Cause cause = NameOf(in, steps);
    // More to compute in some steps is how data are.
    if (cause.name == "slow-device" || cause.name == "data-imbalance") continue;
    const bool named = cause.name == "checkpoint-stall" || cause.name == "compile-or-load" || cause.name == "gc-pause";
    const Nanos worst = *std::max_element(steps.cost.begin(), steps.cost.end());
    const bool most = steps.ranks.size() * 4 >= in.job.num_ranks() * 3;
    const bool believed = steps.alike || worst * 100 >= in.job.median_step * kDisturbedPercent;
    if (!has_device && !named && !(most && believed)) continue;
    out->candidates.push_back(MakeCandidate(in, steps, cause));
  }
}

}  // namespace headway::diagnose
