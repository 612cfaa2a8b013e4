// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "base/text.h"
#include "tests/web/sample_model.h"

namespace headway::sample {
namespace {

using report::ReportDoc;
using report::Table;
using report::Unit;
using report::Value;

// Rows in pairs: an abnormal worker and a normal one beside it.
Table PairTable(const std::vector<std::string>& names, int32_t pairs, uint64_t seed, int32_t ranks) {
  Table table;
  table.columns = {{"function", Unit::kText, ""},    {"rank", Unit::kRank, ""},
                   {"beta", Unit::kShare, "beta"},   {"mu", Unit::kShare, "mu"},
                   {"sigma", Unit::kShare, "sigma"}, {"per step", Unit::kDuration, ""},
                   {"calls", Unit::kCount, ""},      {"against normal", Unit::kRatio, ""}};
  for (int32_t p = 0; p < pairs; ++p) {
    const auto u = static_cast<uint64_t>(p);
    const std::string name = names[static_cast<size_t>(p) % names.size()] +
                             (static_cast<size_t>(p) < names.size() ? "" : "_" + std::to_string(p));
    const double beta = 0.21 / (1 + 0.7 * p) * (1 + 0.1 * Noise(u, seed, 1));
    const double factor = 1.31 + 0.02 * Noise(u, seed, 2);
    const auto normal_rank = static_cast<int64_t>((11 + p * 5) % ranks);
    const auto row = [&](double times, int64_t rank, Table::RowRole role) {
      Table::Row r;
      r.role = role;
      r.pair = p;
      r.rank = static_cast<RankId>(rank);
      r.cells = {name,
                 rank,
                 beta * times,
                 0.62 / times,
                 0.11 + 0.05 * std::fabs(Noise(u, seed, 3)),
                 Ms(beta * times * 390),
                 int64_t{24 + 8 * p},
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

}  // namespace

void AddTables(const Shape& shape, ReportDoc* doc) {
  const int32_t scale = shape.ranks > 500 ? 8 : 1;
  const std::vector<std::string> kernels = {
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8>(Params)",
      "flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>",
      "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)",
      "flash_bwd_dq_dk_dv_loop_kernel",
      "fused_adam_cuda_kernel",
      "layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>",
      "softmax_warp_forward"};
  const std::vector<std::string> copies = {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)",
                                           "Memset (Device)"};
  const std::vector<std::string> collectives = {"AllReduce, Ring, inter-host", "AllGather, Ring, in-host",
                                                "ReduceScatter, NVLS, in-host", "SendRecv, pp stage 1 -> 2"};
  const std::vector<std::string> runtime = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync"};
  const std::vector<std::string> python = {"train.py:main/train_step/forward/block.py:forward/attention.py:forward",
                                           "train.py:main/train_step/optimizer.py:step",
                                           "train.py:main/next_batch/dataloader.py:__next__"};
  const auto add = [&](const char* name, const char* title, const std::vector<std::string>& names, int32_t pairs,
                       uint64_t seed) {
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
  doc->not_checked = {{"hardware counters", "none recorded; run the agent with --counters"},
                      {"rank 41", "no trace of it in the folder"}};
  doc->data_quality.summary =
      "48.2 M events, 3 repaired (control characters), clocks aligned to 4 us, 0.3 % of time under unknown names";
  doc->data_quality.facts = {
      {"events", int64_t{48'213'990} * shape.ranks / 64, Unit::kCount, "", ""},
      {"ranks read", int64_t{shape.ranks - 1}, Unit::kCount, "of " + FormatCount(shape.ranks), ""},
      {"clock residual", int64_t{4'100}, Unit::kDuration, "between hosts", "clock-residual"},
      {"time under unknown names", 0.003, Unit::kShare, "", "unknown-time"},
      {"replay error", 0.011, Unit::kShare, "of the measured step", "replay-error"},
      {"GPU events", std::string("all"), Unit::kText, "", ""},
      {"last step", std::string("keep"), Unit::kText, "", ""}};
  doc->data_quality.problems = {
      {"warning", "control-character", 3, "replaced by U+FFFD in names", "rank7.json.gz, byte 88,120,331"},
      {"note", "launch-outside-window", 1'204, "kernels kept without their launch", "rank0.json.gz, byte 1,034"}};
  doc->commands = {
      {"page", "headway diagnose DIR --html report.html", "This page."},
      {"timeline", "headway diagnose DIR --timeline out.json", "The timeline of all ranks for ui.perfetto.dev."},
      {"what-if", "headway whatif DIR --edit remove-straggler:19", "What replacing the slow GPU brings."}};
}

}  // namespace headway::sample
