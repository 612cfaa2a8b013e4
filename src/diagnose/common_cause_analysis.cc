// SPDX-License-Identifier: Apache-2.0
// What all ranks have in common has no peers: it is held against what a step should need, and against the other steps.
#include <algorithm>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/cause.h"
#include "diagnose/explain.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// Input that a loader with enough workers would hide: from this share of the step on every rank it is worth a remark
// ...
constexpr int kInputPercent = 5;
// ... and from this one a warning.
constexpr int kInputWarningPercent = 15;

// The loader's function that holds most of rank 0's input time in these steps.
std::string InputFunction(const AnalysisInput& in, const std::vector<size_t>& steps) {
  const std::vector<FunctionView::Cell> sums = in.view->Sum(0, steps);
  FunctionView::Node best = -1;
  for (size_t n = 0; n < sums.size(); ++n) {
    const auto node = static_cast<FunctionView::Node>(n);
    if (in.view->work_class(node) != WorkClass::kInput || sums[n].own == 0) continue;
    if (best < 0 || sums[n].own > sums[static_cast<size_t>(best)].own) best = node;
  }
  return best < 0 ? std::string() : in.view->Path(best, 3);
}

void CommonInput(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_steps() == 0) return;
  // The part all ranks have: a rank with more is the own-time analysis' business.
  std::vector<Nanos> common(job.num_steps(), 0);
  for (size_t s = 0; s < common.size(); ++s) {
    Nanos least = INT64_MAX;
    for (size_t r = 0; r < job.num_ranks(); ++r) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step != nullptr) least = std::min(least, step->by_class[static_cast<size_t>(WorkClass::kInput)]);
    }
    common[s] = least == INT64_MAX ? 0 : least;
  }
  Nanos sum = 0;
  for (const Nanos x : common) sum += x;
  const Nanos mean = sum / static_cast<Nanos>(common.size());
  if (mean * 100 < job.median_step * kInputPercent) return;
  std::vector<size_t> steps;
  for (size_t s = 0; s < common.size(); ++s) {
    if (common[s] * 2 >= mean) steps.push_back(s);
  }
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-input";
  finding.id = "slow-input-all";
  FillScope(job, AllRanks(job), &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.scope.function = InputFunction(in, steps);
  finding.when = ClassifyWhen(common, job.steps);
  finding.sentence = "Every rank waits " + Milliseconds(mean) + " per step for its next batch (" +
                     FormatPercent(static_cast<double>(mean) / static_cast<double>(job.median_step)) + " of the step).";
  finding.suggestion = "more loader workers and prefetching; look at the storage all ranks share";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "all ranks alike: judged by what a step should need, not by peers";
  finding.evidence.push_back({"input per step", Milliseconds(mean),
                              "under " + Milliseconds(job.median_step * kInputPercent / 100), "",
                              "least over the ranks, mean over the steps"});
  candidate.excess = common;
  candidate.at_most_info = mean * 100 < job.median_step * kInputWarningPercent;
  for (const size_t r : AllRanks(job)) RemoveOwnTime(job, r, {}, common, &candidate.edit);
  out->candidates.push_back(std::move(candidate));
}

// Steps in which nearly all ranks take longer than in their other steps.
void CommonSteps(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  const size_t num_steps = job.num_steps();
  if (num_steps < 3) return;
  std::vector<Nanos> usual(job.num_ranks(), 0);
  Nanos noise = 0;
  for (const Nanos n : in.excess.step_noise) noise = std::max(noise, n);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::vector<Nanos> row;
    for (size_t s = 0; s < num_steps; ++s) {
      if (const Nanos own = in.excess.own[r * num_steps + s]; own != kNoValue) row.push_back(own);
    }
    usual[r] = Median(std::move(row));
  }
  const Nanos threshold = std::max(4 * noise, job.median_step * 15 / 100);
  std::vector<Nanos> cost(num_steps, 0);
  std::vector<size_t> struck, quiet;
  for (size_t s = 0; s < num_steps; ++s) {
    std::vector<Nanos> longer;
    for (size_t r = 0; r < job.num_ranks(); ++r) {
      if (const Nanos own = in.excess.own[r * num_steps + s]; own != kNoValue) longer.push_back(own - usual[r]);
    }
    std::sort(longer.begin(), longer.end());
    if (!longer.empty() && longer[longer.size() / 4] >= threshold) {  // three quarters of the ranks
      cost[s] = longer[longer.size() / 2];
      struck.push_back(s);
    } else {
      quiet.push_back(s);
    }
  }
  if (struck.empty() || quiet.empty()) return;
  std::vector<Sample> references;
  for (const size_t s : quiet) references.push_back({0, {s}});
  const Explanation why = Explain(job, in.view, {0, struck}, references);
  CauseContext context;
  context.has_device = job.ranks.front().has_device;
  context.when = ClassifyWhen(cost, job.steps);
  for (const size_t s : struck) context.excess += cost[s];
  context.stacks_recorded = job.ranks.front().meta.with_stack;
  context.confirmed = why.node >= 0;
  const Cause cause = NameCause(why, context);
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = cause.name;
  finding.id = cause.name + "-steps";
  FillScope(job, AllRanks(job), &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.scope.function = cause.function;
  finding.when = context.when;
  finding.sentence = "In these steps every rank takes longer than in its others. " + cause.sentence + ".";
  finding.suggestion = cause.suggestion;
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "all ranks in the same steps, against their other steps";
  candidate.excess = cost;
  candidate.noise = noise;
  // Steps may differ by what they are given (lengths, evaluation): only causes that a name gives away are claimed.
  candidate.at_most_info = cause.name != "checkpoint-stall" && cause.name != "compile-or-load" &&
                           cause.name != "gc-pause" && cause.name != "slow-input";
  for (const size_t r : AllRanks(job)) RemoveOwnTime(job, r, {}, cost, &candidate.edit);
  out->candidates.push_back(std::move(candidate));
}

}  // namespace

void RunCommonCauseAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  if (in.job.num_ranks() == 0) return;
  CommonInput(in, out);
  CommonSteps(in, out);
}

}  // namespace headway::diagnose
