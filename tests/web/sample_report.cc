// SPDX-License-Identifier: Apache-2.0
#include "tests/web/sample_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "tests/web/sample_timeline.h"

namespace headway::sample {
namespace {

using report::Confidence;
using report::Evidence;
using report::Finding;
using report::HeatStrip;
using report::ReportDoc;
using report::Section;
using report::Severity;
using report::StackedBars;
using report::Table;
using report::TimeClass;
using report::Unit;
using report::Value;
using report::Waterfall;
using report::WhenKind;

constexpr RankId kSlowRank = 19;
constexpr int32_t kSlowHost = 5;
constexpr double kSlowFactor = 1.31;

// A number in [-1, 1] that depends on its arguments alone (splitmix64).
double Noise(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t z = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + c * 0x94d049bb133111ebULL + 0x2545f4914f6cdd1dULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) / static_cast<double>(1ULL << 52) - 1.0;
}

Nanos Ms(double ms) { return static_cast<Nanos>(std::llround(ms * 1e6)); }

struct Cell {
  Nanos compute = 0;
  Nanos memory = 0;
  Nanos host = 0;
  Nanos input = 0;
  Nanos transfer = 0;
  Nanos wait = 0;
  [[nodiscard]] Nanos Own() const { return compute + memory + host + input; }
  [[nodiscard]] Nanos Step() const { return Own() + transfer + wait; }
};

struct Model {
  Shape shape;
  std::vector<Cell> cells;  // ranks x steps
  std::vector<Nanos> steps;
  std::vector<Nanos> without_slow_rank;

  [[nodiscard]] const Cell& At(int32_t rank, int32_t step) const {
    return cells[static_cast<size_t>(rank * shape.steps + step)];
  }
};

bool InputSlow(const Shape& shape, int32_t rank, int32_t step) {
  return !shape.healthy && rank / shape.ranks_per_host == kSlowHost && step >= shape.steps / 2;
}

Cell OwnCell(const Shape& shape, int32_t rank, int32_t step) {
  const auto r = static_cast<uint64_t>(rank);
  const auto s = static_cast<uint64_t>(step);
  Cell cell;
  cell.compute = Ms(262 * (1 + 0.006 * Noise(r, s, 1) + 0.004 * Noise(r, 0, 2)));
  if (rank == kSlowRank && !shape.healthy) cell.compute = static_cast<Nanos>(static_cast<double>(cell.compute) * kSlowFactor);
  cell.memory = Ms(9 + 0.4 * Noise(r, s, 3));
  cell.host = Ms(12 + 1.5 * Noise(r, s, 4));
  cell.input = Ms(2 + 0.8 * Noise(r, s, 5)) + (InputSlow(shape, rank, step) ? Ms(96 + 9 * Noise(r, s, 6)) : 0);
  cell.transfer = Ms(24 + 0.6 * Noise(0, s, 7));
  return cell;
}

Model Simulate(const Shape& shape) {
  Model model{shape, {}, {}, {}};
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    for (int32_t step = 0; step < shape.steps; ++step) model.cells.push_back(OwnCell(shape, rank, step));
  }
  for (int32_t step = 0; step < shape.steps; ++step) {
    Nanos latest = 0;
    Nanos latest_other = 0;
    for (int32_t rank = 0; rank < shape.ranks; ++rank) {
      const Nanos own = model.At(rank, step).Own();
      latest = std::max(latest, own);
      if (rank != kSlowRank) latest_other = std::max(latest_other, own);
    }
    for (int32_t rank = 0; rank < shape.ranks; ++rank) {
      Cell& cell = model.cells[static_cast<size_t>(rank * shape.steps + step)];
      cell.wait = latest - cell.Own();
    }
    const Nanos transfer = model.At(0, step).transfer;
    model.steps.push_back(latest + transfer);
    model.without_slow_rank.push_back(latest_other + transfer);
  }
  return model;
}

Nanos Median(std::vector<Nanos> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string HostOf(const Shape& shape, int32_t rank) { return "n" + std::to_string(rank / shape.ranks_per_host); }
std::string DeviceOf(const Shape& shape, int32_t rank) { return "gpu " + std::to_string(rank % shape.ranks_per_host); }

void AddPlaces(const Shape& shape, ReportDoc* doc) {
  doc->coordinate_names = {"pp", "dp", "tp"};
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    const int32_t stage = rank * 4 / shape.ranks;
    doc->places.push_back({rank, HostOf(shape, rank), DeviceOf(shape, rank), {stage, (rank / 4) % 4, rank % 4}});
  }
}

void AddHeat(const Model& model, ReportDoc* doc) {
  HeatStrip strip;
  for (int32_t rank = 0; rank < model.shape.ranks; ++rank) strip.rows.push_back({rank, ""});
  strip.columns = doc->steps;
  const auto metric = [&](const char* name, const char* term, auto value) {
    HeatStrip::Metric m{name, Unit::kDuration, term, {}, {}, true};
    for (int32_t rank = 0; rank < model.shape.ranks; ++rank) {
      for (int32_t step = 0; step < model.shape.steps; ++step) {
        m.integers.push_back(rank == 41 ? HeatStrip::kMissing : value(model.At(rank, step)));
      }
    }
    strip.metrics.push_back(std::move(m));
  };
  metric("own time", "own-time", [](const Cell& c) { return c.Own(); });
  metric("waiting", "wait-time", [](const Cell& c) { return c.wait; });
  metric("input", "input-time", [](const Cell& c) { return c.input; });
  metric("compute", "compute-time", [](const Cell& c) { return c.compute; });
  metric("lateness", "lateness", [](const Cell& c) { return std::max<Nanos>(0, c.Own() - Ms(288)); });
  doc->sections.push_back({report::section::kRanksBySteps, "Ranks by steps",
                           "A slow rank is a line down, a slow step a line across.", std::move(strip), false});
}

void AddBars(const Model& model, ReportDoc* doc) {
  StackedBars bars;
  bars.series = {{"compute", TimeClass::kCompute, true, {}, "compute-time"}, {"memory", TimeClass::kMemory, true, {}, "memory-time"},
                 {"host", TimeClass::kHost, true, {}, "host-time"},          {"input", TimeClass::kInput, true, {}, "input-time"},
                 {"transfer", TimeClass::kTransfer, false, {}, "transfer-time"}, {"waiting", TimeClass::kWait, false, {}, "wait-time"}};
  for (int32_t rank = 0; rank < model.shape.ranks; ++rank) {
    if (rank == 41) continue;
    bars.bars.push_back({rank, "", rank == kSlowRank && !model.shape.healthy ? report::Mark::kCulprit : report::Mark::kNone});
    Cell sum;
    for (int32_t step = 0; step < model.shape.steps; ++step) {
      const Cell& c = model.At(rank, step);
      sum = {sum.compute + c.compute, sum.memory + c.memory, sum.host + c.host, sum.input + c.input, sum.transfer + c.transfer, sum.wait + c.wait};
    }
    const Nanos n = model.shape.steps;
    const Nanos values[] = {sum.compute / n, sum.memory / n, sum.host / n, sum.input / n, sum.transfer / n, sum.wait / n};
    for (size_t k = 0; k < bars.series.size(); ++k) bars.series[k].values.push_back(values[k]);
  }
  bars.reference = Median(model.steps);
  doc->sections.push_back({report::section::kRanks, "Time per rank",
                           "The culprit's own time is long; its victims' waiting is.", std::move(bars), false});
}

void AddBreakdown(const Model& model, ReportDoc* doc) {
  Cell sum;
  Nanos n = 0;
  for (const Cell& c : model.cells) {
    sum = {sum.compute + c.compute, sum.memory + c.memory, sum.host + c.host, sum.input + c.input, sum.transfer + c.transfer, sum.wait + c.wait};
    ++n;
  }
  Waterfall w;
  using Role = Waterfall::Role;
  const Nanos idle = Ms(3.1);
  w.items = {{"compute", TimeClass::kCompute, Role::kPart, sum.compute / n, "", "compute-time"},
             {"memory", TimeClass::kMemory, Role::kPart, sum.memory / n, "", "memory-time"},
             {"exposed communication", TimeClass::kTransfer, Role::kPart, (sum.transfer + sum.wait) / n, "", "exposed-communication"},
             {"waiting", TimeClass::kWait, Role::kWithin, sum.wait / n, "blocked on a rank that came late", "wait-time"},
             {"transfer", TimeClass::kTransfer, Role::kWithin, sum.transfer / n, "", "transfer-time"},
             {"host", TimeClass::kHost, Role::kPart, sum.host / n, "", "host-time"},
             {"input", TimeClass::kInput, Role::kPart, sum.input / n, "", "input-time"},
             {"idle", TimeClass::kIdle, Role::kPart, idle, "", "idle-time"}};
  Nanos total = 0;
  for (const auto& item : w.items) total += item.role == Role::kPart ? item.value : 0;
  w.items.push_back({"step", TimeClass::kOther, Role::kTotal, total, "", "step-time"});
  doc->sections.push_back({report::section::kStepBreakdown, "Where the time goes", "The median step, over all ranks.", std::move(w), false});
}

std::vector<RankId> AllBut(const Shape& shape, int32_t from, int32_t to) {
  std::vector<RankId> ranks;
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    if ((rank < from || rank >= to) && rank != 41) ranks.push_back(rank);
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
  f.scope = {.ranks = {kSlowRank}, .hosts = {HostOf(model.shape, kSlowRank)}, .devices = {"gpu 3"}, .links = {}, .function = "", .group = "dp group 3"};
  f.when = {WhenKind::kPersistent, {}};
  f.victims = AllBut(model.shape, kSlowRank, kSlowRank + 1);
  for (size_t s = 0; s < model.steps.size(); ++s) f.cost_by_step.push_back(model.steps[s] - model.without_slow_rank[s]);
  // What is hidden behind the slow input in the later steps counts too once that is fixed first.
  for (Nanos& cost : f.cost_by_step) cost = std::max(cost, Ms(76));
  f.recoverable_per_step = Ms(81);
  f.worst_step = *std::ranges::max_element(f.cost_by_step);
  f.headline = "rank 19 (host n2, gpu 3)";
  f.sentence = "Its compute kernels take 1.31x the time of the same kernels on its 7 peers, in every step; the other ranks wait "
               "for it in all-reduce (dp group 3). SM clock 1,155 MHz, peers 1,755.";
  f.suggestion = "check power and cooling of n2/gpu 3, or move the rank; `headway whatif DIR --edit remove-straggler:19` gives 331 ms";
  f.edit = "remove-straggler:19";
  f.evidence = {Evidence{"own time per step", "366 ms", "", "285 ms", "12 steps, ranks 16-23"},
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
  for (int32_t rank = kSlowHost * model.shape.ranks_per_host; rank < (kSlowHost + 1) * model.shape.ranks_per_host; ++rank) {
    if (rank != 41) f.scope.ranks.push_back(rank);
  }
  f.scope.hosts = {"n5"};
  f.scope.function = "torch/utils/data/dataloader.py:_MultiProcessingDataLoaderIter.__next__";
  const auto onset = static_cast<size_t>(model.shape.steps / 2);
  f.when = {WhenKind::kOnset, {steps[onset]}};
  f.victims = AllBut(model.shape, kSlowHost * model.shape.ranks_per_host, (kSlowHost + 1) * model.shape.ranks_per_host);
  for (size_t s = 0; s < model.steps.size(); ++s) f.cost_by_step.push_back(s < onset ? Ms(0.3) : model.steps[s] - Ms(396) + Ms(12));
  f.recoverable_per_step = Ms(15);
  f.worst_step = *std::ranges::max_element(f.cost_by_step);
  f.headline = "all ranks of host n5";
  f.sentence = "Since step #" + std::to_string(steps[onset]) + " every rank of n5 waits 96 ms for its data loader before the forward pass; on the other hosts it is 2 ms.";
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

// Rows in pairs: an abnormal worker and a normal one beside it.
Table PairTable(const std::vector<std::string>& names, int32_t pairs, uint64_t seed, int32_t ranks) {
  Table table;
  table.columns = {{"function", Unit::kText, ""}, {"rank", Unit::kRank, ""}, {"beta", Unit::kShare, "beta"}, {"mu", Unit::kShare, "mu"},
                   {"sigma", Unit::kShare, "sigma"}, {"per step", Unit::kDuration, ""}, {"calls", Unit::kCount, ""}, {"against normal", Unit::kRatio, ""}};
  for (int32_t p = 0; p < pairs; ++p) {
    const auto u = static_cast<uint64_t>(p);
    const std::string name = names[static_cast<size_t>(p) % names.size()] + (static_cast<size_t>(p) < names.size() ? "" : "_" + std::to_string(p));
    const double beta = 0.21 / (1 + 0.7 * p) * (1 + 0.1 * Noise(u, seed, 1));
    const double factor = 1.31 + 0.02 * Noise(u, seed, 2);
    const auto normal_rank = static_cast<int64_t>((11 + p * 5) % ranks);
    const auto row = [&](double times, int64_t rank, Table::RowRole role) {
      Table::Row r;
      r.role = role;
      r.pair = p;
      r.rank = static_cast<RankId>(rank);
      r.cells = {name, rank, beta * times, 0.62 / times, 0.11 + 0.05 * std::fabs(Noise(u, seed, 3)), Ms(beta * times * 390), int64_t{24 + 8 * p},
                 times > 1 ? Value(times) : Value()};
      return r;
    };
    table.rows.push_back(row(factor, kSlowRank, Table::RowRole::kAbnormal));
    table.rows.push_back(row(1, normal_rank == kSlowRank ? 20 : normal_rank, Table::RowRole::kNormal));
  }
  table.sort_column = 2;
  table.notes = {"Abnormal: beta above 1 % and outside the region of its peers (median + 5 MAD)."};
  return table;
}

void AddTables(const Shape& shape, ReportDoc* doc) {
  const int32_t scale = shape.ranks > 500 ? 8 : 1;
  const std::vector<std::string> kernels = {
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>(Params)", "flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>",
      "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)", "flash_bwd_dq_dk_dv_loop_kernel", "fused_adam_cuda_kernel",
      "layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>", "softmax_warp_forward"};
  const std::vector<std::string> copies = {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)", "Memset (Device)"};
  const std::vector<std::string> collectives = {"AllReduce, Ring, inter-host", "AllGather, Ring, in-host", "ReduceScatter, NVLS, in-host", "SendRecv, pp stage 1 -> 2"};
  const std::vector<std::string> runtime = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync"};
  const std::vector<std::string> python = {"train.py:main/train_step/forward/block.py:forward/attention.py:forward", "train.py:main/train_step/optimizer.py:step",
                                           "train.py:main/next_batch/dataloader.py:__next__"};
  const auto add = [&](const char* name, const char* title, const std::vector<std::string>& names, int32_t pairs, uint64_t seed) {
    doc->sections.push_back({name, title, "", PairTable(names, pairs * scale, seed, shape.ranks), false});
  };
  add(report::section::kComputeKernels, "Compute kernels", kernels, 14, 1);
  add(report::section::kMemoryOperations, "Memory operations", copies, 3, 2);
  add(report::section::kCommunication, "Communication", collectives, 8, 3);
  add(report::section::kCudaRuntime, "CUDA runtime", runtime, 4, 4);
  add(report::section::kPythonPaths, "Python call paths", python, 6, 5);
}

void AddQuality(const Shape& shape, ReportDoc* doc) {
  doc->analyses_run = 11;
  doc->not_checked = {{"hardware counters", "none recorded; run the agent with --counters"}, {"rank 41", "no trace of it in the folder"}};
  doc->data_quality.summary = "48.2 M events, 3 repaired (control characters), clocks aligned to 4 us, 0.3 % of time under unknown names";
  doc->data_quality.facts = {{"events", int64_t{48'213'990} * shape.ranks / 64, Unit::kCount, "", ""},
                             {"ranks read", int64_t{shape.ranks - 1}, Unit::kCount, "of " + FormatCount(shape.ranks), ""},
                             {"clock residual", int64_t{4'100}, Unit::kDuration, "between hosts", "clock-residual"},
                             {"time under unknown names", 0.003, Unit::kShare, "", "unknown-time"},
                             {"replay error", 0.011, Unit::kShare, "of the measured step", "replay-error"},
                             {"GPU events", std::string("all"), Unit::kText, "", ""},
                             {"last step", std::string("keep"), Unit::kText, "", ""}};
  doc->data_quality.problems = {{"warning", "control-character", 3, "replaced by U+FFFD in names", "rank7.json.gz, byte 88,120,331"},
                                {"note", "launch-outside-window", 1'204, "kernels kept without their launch", "rank0.json.gz, byte 1,034"}};
  doc->commands = {{"page", "headway diagnose DIR --html report.html", "This page."},
                   {"timeline", "headway diagnose DIR --timeline out.json", "The timeline of all ranks for ui.perfetto.dev."},
                   {"what-if", "headway whatif DIR --edit remove-straggler:19", "What replacing the slow GPU brings."}};
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
  doc.header = {{"job", FormatCount(shape.ranks) + " ranks on " + std::to_string(shape.ranks / shape.ranks_per_host) + " hosts, " +
                            std::to_string(shape.steps) + " steps read " + range + ", PyTorch 2.9, NCCL; rank 41 has no trace"}};
  AddPlaces(shape, &doc);
  AddQuality(shape, &doc);
  AddBreakdown(model, &doc);
  AddBars(model, &doc);
  AddHeat(model, &doc);
  const Nanos now = Median(model.steps);
  doc.headline.now = now;
  doc.headline.detection_floor = Ms(3);
  if (shape.healthy) {
    doc.header.push_back({"step", FormatDuration(now) + " median"});
    doc.headline.sentence = "Nothing slows this job beyond its noise";
    return doc;
  }
  doc.header.push_back({"step", FormatDuration(now) + " median (p95 466); 96 ms of it can be won back"});
  doc.headline.sentence = "One GPU of " + FormatCount(shape.ranks) + " slows the whole job by 20 %";
  doc.headline.attainable = now - Ms(96);
  doc.findings = {SlowDevice(model), SlowInput(model, doc.steps), LostOverlap()};
  AddTimelines(shape.ranks, shape.ranks_per_host, &doc);
  AddTables(shape, &doc);
  return doc;
}

}  // namespace headway::sample
