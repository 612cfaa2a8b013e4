// SPDX-License-Identifier: Apache-2.0
// What a device job shows without peers: copies from pageable memory, copies far below a link's speed, a device that
// stands idle because the host is slow to launch, and a host that waits for the device in every step.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/host_waits_edit.h"
#include "diagnose/launch_steps.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::RankPattern;
using pattern::WorkClass;

// What a pinned copy over a PCIe link of this decade reaches at least; far below it something is wrong with the link.
constexpr double kSlowCopyBytesPerNs = 8.0;  // GB/s
constexpr double kLargeCopy = 1 << 20;       // small copies are bound by latency
constexpr double kPinnedGain = 0.7;          // share of a pageable copy's time that pinning saves

Nanos PerStep(const RankPattern& rank, Nanos sum) {
  return sum / static_cast<Nanos>(std::max<size_t>(1, rank.steps.size()));
}

// Exposed time over the window; to the device, and all.
struct Copies {
  Nanos pageable = 0, slow = 0;
  Nanos pageable_in = 0, slow_in = 0;
  double slow_rate = 0;  // GB/s, time-weighted
};

Copies CopiesOf(const RankPattern& rank) {
  Copies out;
  double weighted = 0;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    if (name.work_class != WorkClass::kMemory) continue;
    const bool into_device = name.name.find("HtoD") != std::string::npos;
    const bool host_copy = into_device || name.name.find("DtoH") != std::string::npos;
    if (name.name.find("Pageable") != std::string::npos) {
      out.pageable += rank.functions[f].uncovered;
      out.pageable_in += into_device ? rank.functions[f].uncovered : 0;
    } else if (host_copy && name.resource == "GB/s" && rank.functions[f].calls > 0) {
      const pattern::FunctionTotals& t = rank.functions[f];
      const double mean_bytes = t.mu * static_cast<double>(t.total) / static_cast<double>(t.calls);
      if (mean_bytes < kLargeCopy || t.mu >= kSlowCopyBytesPerNs) continue;
      out.slow += t.uncovered;
      out.slow_in += into_device ? t.uncovered : 0;
      weighted += t.mu * static_cast<double>(t.uncovered);
    }
  }
  if (out.slow > 0) out.slow_rate = weighted / static_cast<double>(out.slow);
  return out;
}

// A candidate about the ranks whose `cost` (per step) is at least a quarter of the largest, without an edit; none below
// 0.5 % of the step.
bool Begin(const AnalysisInput& in, const std::vector<Nanos>& cost, std::vector<size_t>* ranks, Candidate* candidate) {
  const Nanos most = *std::max_element(cost.begin(), cost.end());
  if (most * 200 < in.job.median_step || most <= 0) return false;
  std::vector<size_t>& members = *ranks;
  for (size_t r = 0; r < cost.size(); ++r) {
    if (cost[r] * 4 >= most) members.push_back(r);
  }
  report::Finding& finding = candidate->finding;
  FillScope(in.job, members, &finding.scope);
  finding.headline = Who(in.job, finding.scope);
  candidate->excess.assign(in.job.num_steps(), most);
  finding.when = ClassifyWhen(candidate->excess, in.job.steps);
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "judged by what such operations should take, not by peers";
  return true;
}

// `at_begin`: how much of the cost comes first in a step, as batches do.
bool BeginCopies(const AnalysisInput& in, const std::vector<Nanos>& cost, const std::vector<Nanos>& at_begin,
                 Candidate* candidate) {
  std::vector<size_t> members;
  if (!Begin(in, cost, &members, candidate)) return false;
  const size_t steps = in.job.num_steps();
  for (const size_t r : members) {
    const Nanos first = std::min(at_begin[r], cost[r]);
    RemoveFromStepBegins(in.job, r, std::vector<Nanos>(steps, first), &candidate->edit);
    RemoveOwnTime(in.job, r, {}, std::vector<Nanos>(steps, cost[r] - first), &candidate->edit);
  }
  return true;
}

void CheckCopies(const AnalysisInput& in, AnalysisOutput* out) {
  std::vector<Nanos> pageable, slow, pageable_in, slow_in;
  double rate = 0;
  for (const RankPattern& rank : in.job.ranks) {
    const Copies copies = CopiesOf(rank);
    pageable.push_back(static_cast<Nanos>(kPinnedGain * static_cast<double>(PerStep(rank, copies.pageable))));
    const double gain = copies.slow > 0 ? 1 - copies.slow_rate / (2 * kSlowCopyBytesPerNs) : 0;
    slow.push_back(static_cast<Nanos>(gain * static_cast<double>(PerStep(rank, copies.slow))));
    pageable_in.push_back(static_cast<Nanos>(kPinnedGain * static_cast<double>(PerStep(rank, copies.pageable_in))));
    slow_in.push_back(static_cast<Nanos>(gain * static_cast<double>(PerStep(rank, copies.slow_in))));
    if (copies.slow > 0) rate = rate == 0 ? copies.slow_rate : std::min(rate, copies.slow_rate);
  }
  Candidate unpinned;
  if (BeginCopies(in, pageable, pageable_in, &unpinned)) {
    report::Finding& f = unpinned.finding;
    f.cause = "unpinned-copy";
    f.id = "unpinned-copy-" + std::to_string(f.scope.ranks.front());
    f.scope.function = "Memcpy HtoD (Pageable -> Device)";
    f.sentence = "Batches are copied from pageable memory; the device has nothing else to do meanwhile.";
    f.suggestion = "pin_memory=True in the loader and .to(device, non_blocking=True)";
    f.evidence.push_back({"pageable copies that could be saved, per step", Milliseconds(unpinned.excess.front()),
                          "0.0 ms", "", "exposed time of copies whose name says Pageable"});
    out->candidates.push_back(std::move(unpinned));
  }
  Candidate slow_copy;
  if (BeginCopies(in, slow, slow_in, &slow_copy)) {
    report::Finding& f = slow_copy.finding;
    f.cause = "slow-copy";
    f.id = "slow-copy-" + std::to_string(f.scope.ranks.front());
    f.sentence = "Large copies between host and device run at " + FormatFixed(rate, 1) + " GB/s.";
    f.suggestion = "check PCIe link width and generation, and on which NUMA node the process runs";
    f.evidence.push_back({"copy rate", FormatFixed(rate, 1) + " GB/s",
                          FormatFixed(2 * kSlowCopyBytesPerNs, 0) + " GB/s", "", "pinned copies of 1 MB and more"});
    out->candidates.push_back(std::move(slow_copy));
  }
}

// Idle behind the host from this share of the step on is worth a remark on any rank, on half of them from half of it on
// (every job has some), and from the last one on a warning.
constexpr double kLaunchPercent = 2;
constexpr double kLaunchPercentOfHalf = 1;
constexpr int kLaunchWarningPercent = 20;

// Some steps end with a wait or two (the loss is read); from so many on they are inside the step.
constexpr double kManySyncs = 4;
constexpr double kSyncPercent = 0.5;
constexpr double kIdlePerSync = 200e3;  // ns; until the host has launched again. More has other causes

// Of the middle rank.
double SyncsPerStep(const Job& job) {
  std::vector<Nanos> thousandths;  // the type of Median
  for (const RankPattern& rank : job.ranks) {
    int64_t syncs = 0;
    for (const pattern::Step& step : rank.steps) syncs += step.syncs;
    thousandths.push_back(1000 * syncs / static_cast<int64_t>(std::max<size_t>(1, rank.steps.size())));
  }
  return static_cast<double>(Median(std::move(thousandths))) / 1000;
}

// After each wait the device stands still until the host has launched again.
void DescribeSyncs(double syncs, Nanos idle, report::Finding* f) {
  f->cause = "hidden-sync";
  f->id = "hidden-sync";
  f->sentence = "The host waits for the device " + FormatFixed(syncs, 0) +
                " times a step, and the device stands idle each time until the next launch: " + Milliseconds(idle) +
                " a step.";
  f->suggestion = "avoid .item(), .cpu(), nonzero and prints of tensors inside the step";
  f->evidence.push_back({"calls that wait for the device, per step", FormatFixed(syncs, 1), "1", "",
                         "expected: at most one, where the loss is read"});
}

// Of all ranks: what the program does on some it does on those that have less of it, too. What was launched before the
// recording began is not in it: of the first step no more counts than of the others.
void RemoveWaits(const Job& job, replay::SegmentEdit* edit) {
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    std::vector<Nanos> waits(job.num_steps(), 0);
    for (size_t s = 0; s < waits.size(); ++s) {
      if (const pattern::Step* step = job.StepOf(r, s)) waits[s] = IdleBehindLaunches(job.ranks[r], *step);
    }
    if (waits.size() > 1) waits.front() = std::min(waits.front(), *std::max_element(waits.begin() + 1, waits.end()));
    RemoveOwnTime(job, r, {}, RemoveWaitsForHost(job, r, waits, edit), edit);
  }
}

// The device idle while the host works, with launches that find the stream empty.
void CheckLaunches(const AnalysisInput& in, AnalysisOutput* out) {
  std::vector<Nanos> cost;
  int64_t launches = 0, rows = 0;
  for (const RankPattern& rank : in.job.ranks) {
    Nanos gap = 0;
    for (const pattern::Step& step : rank.steps) {
      gap += IdleBehindLaunches(rank, step);
      launches += step.launches;
      rows += step.device_rows;
    }
    cost.push_back(PerStep(rank, gap));
  }
  Nanos mean = 0;
  for (const Nanos c : cost) mean += c;
  mean /= static_cast<Nanos>(std::max<size_t>(1, cost.size()));
  Candidate candidate;
  const double syncs = SyncsPerStep(in.job);
  const bool is_sync = syncs >= kManySyncs && static_cast<double>(mean) <= syncs * kIdlePerSync;
  const Nanos most = cost.empty() ? 0 : *std::max_element(cost.begin(), cost.end());
  const auto is_at_least = [&in](Nanos idle, double percent) {
    return static_cast<double>(idle) >= percent / 100 * static_cast<double>(in.job.median_step);
  };
  std::vector<size_t> members;
  const bool is_enough = is_at_least(most, is_sync ? kSyncPercent : kLaunchPercent) ||
                         is_at_least(cost.empty() ? 0 : Median(cost), kLaunchPercentOfHalf);
  if (!is_enough || !Begin(in, cost, &members, &candidate)) return;
  RemoveWaits(in.job, &candidate.edit);
  // A single profiled step is slow to launch by being profiled.
  candidate.at_most_info = in.job.num_steps() < 3 || mean * 100 < in.job.median_step * kLaunchWarningPercent;
  report::Finding& f = candidate.finding;
  if (is_sync) {
    DescribeSyncs(syncs, mean, &f);
    out->candidates.push_back(std::move(candidate));
    return;
  }
  f.cause = "launch-bound";
  f.id = "launch-bound";
  const auto steps = static_cast<int64_t>(std::max<size_t>(1, in.job.num_steps() * in.job.num_ranks()));
  f.sentence = "The device stands idle for " +
               FormatPercent(static_cast<double>(mean) / static_cast<double>(in.job.median_step)) +
               " of the step while the host prepares the next of " + FormatCount(launches / steps) + " launches.";
  f.suggestion =
      "fewer and larger kernels: CUDA graphs, torch.compile, fused optimizers; keep the host free of other work";
  f.evidence.push_back(
      {"device idle behind the host, per step", Milliseconds(mean), "", "",
       FormatCount(launches / steps) + " launches and " + FormatCount(rows / steps) + " device rows a step"});
  out->candidates.push_back(std::move(candidate));
}

}  // namespace

namespace {

// A step without device rows in a job that has them was not seen, whatever its length says.
void SayUnseenSteps(const Job& job, AnalysisOutput* out) {
  std::vector<RankId> unseen;  // step numbers; the type of FormatRanks
  for (size_t s = 0; s < job.num_steps(); ++s) {
    for (size_t r = 0; r < job.num_ranks(); ++r) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr || !job.ranks[r].has_device || step->device_rows > 0) continue;
      unseen.push_back(static_cast<RankId>(job.steps[s]));
      break;
    }
  }
  if (unseen.empty()) return;
  out->not_checked.push_back({"steps " + FormatRanks(unseen, 8), "some rank has no device events in them"});
}

}  // namespace

void RunDeviceAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const bool any =
      std::any_of(in.job.ranks.begin(), in.job.ranks.end(), [](const RankPattern& r) { return r.has_device; });
  if (!any || in.job.num_steps() == 0) {
    out->not_checked.push_back({"device copies and launches", "no device events in these traces"});
    return;
  }
  SayUnseenSteps(in.job, out);
  CheckCopies(in, out);
  CheckLaunches(in, out);
  for (Candidate& candidate : FindLaunchSteps(in)) out->candidates.push_back(std::move(candidate));
}

}  // namespace headway::diagnose
