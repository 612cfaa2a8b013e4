// SPDX-License-Identifier: Apache-2.0
// What all ranks have in common has no peers: it is held against what a step should need.
#include <algorithm>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

// Input that a loader with enough workers would hide: from this share of the step on every rank it is worth a remark
// ...
constexpr int kInputPercent = 1;
// ... and from this one a warning.
constexpr int kInputWarningPercent = 15;

// The loader's function that holds most of the rank's input time in these steps.
std::string InputFunction(const AnalysisInput& in, size_t rank, const std::vector<size_t>& steps) {
  const std::vector<FunctionView::Cell> sums = in.view->Sum(rank, steps);
  FunctionView::Node best = -1;
  for (size_t n = 0; n < sums.size(); ++n) {
    const auto node = static_cast<FunctionView::Node>(n);
    if (in.view->work_class(node) != WorkClass::kInput || sums[n].own == 0) continue;
    if (best < 0 || sums[n].own > sums[static_cast<size_t>(best)].own) best = node;
  }
  return best < 0 ? std::string() : in.view->Path(best, 3);
}

// Ranks that load data: in a pipeline the stages between the first and the last get theirs from others.
std::vector<size_t> Loaders(const Job& job) {
  std::vector<size_t> out;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    Nanos input = 0, whole = 0;
    for (const pattern::Step& step : job.ranks[r].steps) {
      input += step.by_class[static_cast<size_t>(WorkClass::kInput)];
      whole += step.end - step.start;
    }
    if (input * 1000 > whole) out.push_back(r);
  }
  return out;
}

void CommonInput(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  const std::vector<size_t> loaders = Loaders(job);
  if (job.num_steps() == 0 || loaders.empty() || (loaders.size() == 1 && job.num_ranks() > 1)) return;
  // The part all of them have: a rank with more is the own-time analysis' business.
  std::vector<Nanos> common(job.num_steps(), 0);
  for (size_t s = 0; s < common.size(); ++s) {
    Nanos least = INT64_MAX;
    for (const size_t r : loaders) {
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
  FillScope(job, loaders, &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.scope.function = InputFunction(in, loaders.front(), steps);
  finding.when = ClassifyWhen(common, job.steps);
  finding.sentence = (job.num_ranks() == 1                ? "The rank waits "
                      : loaders.size() == job.num_ranks() ? "Every rank waits "
                                                          : "Every rank that loads data waits ") +
                     Milliseconds(mean) + " per step for its next batch (" +
                     FormatPercent(static_cast<double>(mean) / static_cast<double>(job.median_step)) + " of the step).";
  finding.suggestion = "more loader workers and prefetching; look at the storage all ranks share";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "all ranks alike: judged by what a step should need, not by peers";
  finding.evidence.push_back({"input per step", Milliseconds(mean),
                              "under " + Milliseconds(job.median_step * kInputPercent / 100), "",
                              "least over the ranks, mean over the steps"});
  candidate.excess = common;
  candidate.at_most_info = mean * 100 < job.median_step * kInputWarningPercent;
  for (const size_t r : loaders) RemoveFromStepBegins(job, r, common, &candidate.edit);
  out->candidates.push_back(std::move(candidate));
}

}  // namespace

void RunCommonCauseAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  if (in.job.num_ranks() == 0) return;
  CommonInput(in, out);
}

}  // namespace headway::diagnose
