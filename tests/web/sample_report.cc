// SPDX-License-Identifier: Apache-2.0
#include "tests/web/sample_report.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "tests/web/sample_model.h"
#include "tests/web/sample_timeline.h"

namespace headway::sample {
namespace {

using report::Confidence;
using report::Evidence;
using report::Finding;
using report::ReportDoc;
using report::Severity;
using report::WhenKind;

std::vector<RankId> AllBut(const Shape& shape, int32_t from, int32_t to) {
  std::vector<RankId> ranks;
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    if ((rank < from || rank >= to) && rank != kMissingRank) ranks.push_back(rank);
  }
  return ranks;
}

Finding SlowDevice(const Model& model) {
  Finding f;
  f.id = "slow-device-19";
  f.cause = "slow-device";
  f.severity = Severity::kCritical;
  f.confidence = Confidence::kSure;
  f.confidence_reason = "all 212 kernels in proportion, in every step, 7 peers agree to 0.6 %";
  f.scope = {
      .ranks = {kSlowRank}, .hosts = {"n2"}, .devices = {"gpu 3"}, .links = {}, .function = "", .group = "dp group 3"};
  f.when = {WhenKind::kPersistent, {}};
  f.victims = AllBut(model.shape, kSlowRank, kSlowRank + 1);
  for (size_t s = 0; s < model.steps.size(); ++s) f.cost_by_step.push_back(model.steps[s] - model.without_slow_rank[s]);
  // What is hidden behind the slow input in the later steps counts too once that is fixed first.
  for (Nanos& cost : f.cost_by_step) cost = std::max(cost, Ms(76));
  f.recoverable_per_step = Ms(81);
  f.worst_step = *std::ranges::max_element(f.cost_by_step);
  f.headline = "rank 19 (host n2, gpu 3)";
  f.sentence =
      "Its compute kernels take 1.31x the time of the same kernels on its 7 peers, in every step; the other ranks wait "
      "for it in all-reduce (dp group 3). SM clock 1,155 MHz, peers 1,755.";
  f.suggestion =
      "check power and cooling of n2/gpu 3, or move the rank; `headway whatif DIR --edit remove-straggler:19` gives "
      "331 ms";
  f.edit = "remove-straggler:19";
  f.evidence = {
      Evidence{"own time per step", "366 ms", "", "285 ms", "12 steps, ranks 16-23"},
      Evidence{"compute kernels, time against peers", "1.31x", "", "1.00x", "212 kernels of equal name and shape"},
      Evidence{"SM clock", "1,155 MHz", "1,755 MHz", "1,755 MHz", "device counters, every 100 ms"},
      Evidence{"waiting in all-reduce", "0.2 ms", "", "79 ms", "dp group 3, 12 steps"}};
  return f;
}

Finding SlowInput(const Model& model, const std::vector<int64_t>& steps) {
  Finding f;
  f.id = "slow-input-n5";
  f.cause = "slow-input";
  f.severity = Severity::kWarning;
  f.confidence = Confidence::kLikely;
  f.confidence_reason = "one host and 6 steps; the file system itself was not measured";
  for (int32_t rank = kSlowHost * model.shape.ranks_per_host; rank < (kSlowHost + 1) * model.shape.ranks_per_host;
       ++rank) {
    if (rank != kMissingRank) f.scope.ranks.push_back(rank);
  }
  f.scope.hosts = {"n5"};
  f.scope.function = "torch/utils/data/dataloader.py:_MultiProcessingDataLoaderIter.__next__";
  const auto onset = static_cast<size_t>(model.shape.steps / 2);
  f.when = {WhenKind::kOnset, {steps[onset]}};
  f.victims = AllBut(model.shape, kSlowHost * model.shape.ranks_per_host, (kSlowHost + 1) * model.shape.ranks_per_host);
  for (size_t s = 0; s < model.steps.size(); ++s)
    f.cost_by_step.push_back(s < onset ? Ms(0.3) : model.steps[s] - Ms(396) + Ms(12));
  f.recoverable_per_step = Ms(15);
  f.worst_step = *std::ranges::max_element(f.cost_by_step);
  f.headline = "all ranks of host n5";
  f.sentence =
      "Since step #" + std::to_string(steps[onset]) +
      " every rank of n5 waits 96 ms for its data loader before the forward pass; on the other hosts it is 2 ms.";
  f.suggestion = "look at n5's disk and at other jobs on it; more loader workers would hide up to 60 ms";
  f.edit = "scale:name=dataloader,x0.02";
  f.evidence = {Evidence{"input wait per step", "98 ms", "", "2.0 ms", "steps since the onset, ranks 40-47"},
                Evidence{"input wait before the onset", "2.1 ms", "", "2.0 ms", "the steps before"}};
  return f;
}

Finding LostOverlap() {
  Finding f;
  f.id = "lost-overlap-tp";
  f.cause = "lost-overlap";
  f.severity = Severity::kInfo;
  f.confidence = Confidence::kSuspected;
  f.confidence_reason = "below the noise between steps";
  f.headline = "tensor-parallel all-gather";
  f.sentence = "The all-gather of the tensor-parallel groups starts after the layer norm it could run beside.";
  f.suggestion = "nothing to gain here before the findings above are fixed";
  f.scope.group = "tp groups";
  f.recoverable_per_step = Ms(0.6);
  f.worst_step = Ms(0.8);
  return f;
}

}  // namespace

ReportDoc Diagnosis(const Shape& shape) {
  const Model model = Simulate(shape);
  ReportDoc doc;
  doc.command = "diagnose";
  doc.title = "headway diagnose: runs/llama-13b-2025-11-03";
  doc.version = "0.1.0";
  for (int32_t s = 0; s < shape.steps; ++s) doc.steps.push_back(shape.first_step + s);
  doc.step_durations = model.steps;
  const std::string range = "(#" + std::to_string(doc.steps.front()) + "-" + std::to_string(doc.steps.back()) + ")";
  doc.header = {{"job", FormatCount(shape.ranks) + " ranks on " + std::to_string(shape.ranks / shape.ranks_per_host) +
                            " hosts, " + std::to_string(shape.steps) + " steps read " + range +
                            ", PyTorch 2.9, NCCL; rank 41 has no trace"}};
  AddPlaces(shape, &doc);
  AddQuality(shape, &doc);
  AddBreakdown(model, &doc);
  AddBars(model, &doc);
  AddHeat(model, &doc);
  AddStepTimes(model, &doc);
  const Nanos now = Quantile(model.steps, 50);
  doc.headline.now = now;
  doc.headline.detection_floor = Ms(3);
  if (shape.healthy) {
    doc.header.push_back({"step", FormatDuration(now) + " median"});
    doc.headline.sentence = "Nothing slows this job beyond its noise";
    return doc;
  }
  doc.header.push_back({"step", FormatDuration(now) + " median (p95 " + FormatDuration(Quantile(model.steps, 95)) +
                                    "); 96 ms of it can be won back"});
  doc.headline.sentence = "One GPU of " + FormatCount(shape.ranks) + " slows the whole job by 20 %";
  doc.headline.attainable = now - Ms(96);
  doc.findings = {SlowDevice(model), SlowInput(model, doc.steps), LostOverlap()};
  AddTimelines(shape.ranks, shape.ranks_per_host, &doc);
  AddTables(shape, &doc);
  return doc;
}

report::FindingsDocument Findings(const Shape& shape) {
  const ReportDoc doc = Diagnosis(shape);
  report::FindingsDocument findings;
  findings.job = {.world_size = shape.ranks,
                  .ranks_read = AllBut(shape, shape.ranks, shape.ranks),
                  .hosts = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"},
                  .first_step = doc.steps.front(),
                  .last_step = doc.steps.back(),
                  .window = Ms(4'900),
                  .frameworks = {"PyTorch 2.9"}};
  findings.step_time.median = *doc.headline.now;
  findings.step_time.p95 = Quantile(doc.step_durations, 95);
  findings.step_time.breakdown = {.compute = Ms(263),
                                  .memory = Ms(9),
                                  .comm_wait = Ms(85),
                                  .comm_transfer = Ms(24),
                                  .host = Ms(12),
                                  .input = Ms(8),
                                  .idle = Ms(3)};
  findings.step_time.replay_error = 0.011;
  findings.steps = doc.steps;
  findings.findings = doc.findings;
  findings.not_checked = doc.not_checked;
  findings.data_quality = {.ranks_missing = {kMissingRank},
                           .events = 48'213'990,
                           .repaired = {{"control-character", 3}},
                           .dropped = {},
                           .unknown_time_share = 0.003,
                           .clock_residual = 4'100,
                           .gpu_events = "all",
                           .last_step = "keep"};
  return findings;
}

}  // namespace headway::sample
