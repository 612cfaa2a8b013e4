// SPDX-License-Identifier: Apache-2.0
#include "diagnose/headline.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace headway::diagnose {

using report::Finding;
using report::Severity;

namespace {

bool Loud(const Finding& finding) { return finding.severity != Severity::kInfo; }

// What can be won back is a mean over the window. Where a few long steps hold much of it (a pause, a checkpoint), the
// median step does not have it in it, and what it is a part of is the mean step.
struct TypicalStep {
  Nanos time = 0;
  bool is_mean = false;
};

TypicalStep StepToWinFrom(const Diagnosis& d) {
  const Job& job = d.job;
  Nanos sum = 0;
  for (const Nanos time : job.step_time) sum += time;
  const Nanos mean = job.step_time.empty() ? 0 : sum / static_cast<Nanos>(job.num_steps());
  const bool few_hold_it = d.all_removed_per_step > job.median_step || mean * 10 > job.median_step * 11;
  if (d.all_removed_per_step <= 0 || !few_hold_it || mean <= job.median_step) return {job.median_step, false};
  return {mean, true};
}

}  // namespace

std::string StepLine(const Diagnosis& d) {
  std::string line = FormatDuration(d.job.median_step) + " median";
  if (d.job.num_steps() >= 5) line += " (p95 " + FormatDuration(d.job.p95_step) + ")";
  if (d.all_removed_per_step <= 0) return line;
  const TypicalStep step = StepToWinFrom(d);
  if (step.is_mean) line += ", " + FormatDuration(step.time) + " mean";
  return line + "; " + FormatDuration(std::min(d.all_removed_per_step, step.time)) + " of " +
         (step.is_mean ? "the mean" : "it") + " can be won back";
}

namespace {

std::string HeadlineSentence(const Diagnosis& d) {
  const auto loud = std::count_if(d.findings.begin(), d.findings.end(), Loud);
  if (loud == 0) {
    if (!d.blind_to.empty()) return "Nothing to blame was found, but " + d.blind_to + ".";
    if (d.job.num_ranks() == 1) return "One rank: what bounds its step is below; no peers to compare it with.";
    const report::LargeRemarks large = report::RemarksAbove(d.findings, d.detection_floor);
    const std::string nobody = "o rank, host, link or function holds this job up by more than " +
                               FormatDuration(d.detection_floor) + " per step.";
    if (large.count == 0) return "N" + nobody;
    return "No fault was found, but " + large.InWords() + " per step below; beside " +
           (large.count == 1 ? "it n" : "them n") + nobody;
  }
  const Finding& first = d.findings.front();
  const TypicalStep step = StepToWinFrom(d);
  const Nanos cost = std::min(first.recoverable_per_step, step.time);
  const double share = static_cast<double>(cost) / static_cast<double>(std::max<Nanos>(1, step.time));
  std::string cause = first.cause;
  std::replace(cause.begin(), cause.end(), '-', ' ');
  std::string sentence = cause + ", " + first.headline + ", costs the whole job " + FormatDuration(cost) + " per step" +
                         (step.is_mean ? " in the mean, " : ", ") + FormatPercent(share) + " of it";
  if (!sentence.empty()) sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  if (loud > 1) sentence += "; " + Counted(loud - 1, "more cause") + " below";
  return sentence + ".";
}

}  // namespace

report::Headline HeadlineOf(const Diagnosis& d) {
  report::Headline headline;
  headline.sentence = HeadlineSentence(d);
  const TypicalStep step = StepToWinFrom(d);
  headline.now = step.time;
  if (step.is_mean) headline.now_label = "now, mean";
  if (d.all_removed_per_step > 0) headline.attainable = std::max<Nanos>(0, step.time - d.all_removed_per_step);
  if (d.blind_to.empty()) headline.detection_floor = d.detection_floor;
  return headline;
}

}  // namespace headway::diagnose
