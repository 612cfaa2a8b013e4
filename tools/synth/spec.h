// SPDX-License-Identifier: Apache-2.0
// What job is made: its shape, model, noise, faults and the form its traces take. Everything is set by "key=value".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headway::synth {

enum class Backend : uint8_t { kNccl, kGloo };
enum class DpKind : uint8_t { kDdp, kFsdp, kAllReduce };  // all-reduce: one per layer, after the whole backward pass
enum class ArgsEra : uint8_t { kNoArgs, kNoSeq, kSeq };   // collective arguments: torch 2.0, 2.3, newer
enum class FaultKind : uint8_t {
  kSlowCompute,
  kSlowHost,
  kSlowFunction,
  kSlowLoader,
  kGcPause,
  kProcessPause,
  kSlowLink,
  kSlowFabric,
  kStageImbalance,
  kExpertImbalance,
  kRandomImbalance,
  kHiddenSync,
  kLaunchBound,
  kUnpinnedCopy,
  kSlowCopy,
  kCheckpointStall,
  kCompileStall,
  kLateEntry,
  kUniformSlowdown,
  kLostOverlap,
  kSmallCollectives,
};
inline constexpr int kFaultKinds = 21;

// The name truth.json gives the kind; those that cpu_ddp and cpu_mesh know have their names.
const char* FaultName(FaultKind kind);

struct FaultSpec {
  FaultKind kind = FaultKind::kSlowCompute;
  int rank = -1;  // exactly one of rank, host, stage is >= 0, or none: all ranks
  int host = -1;
  int stage = -1;
  // How strong. What it counts depends on the kind: a factor minus 1 (slow compute, host, link, fabric, copy;
  // imbalances; uniform), ms per struck step (function, loader, pauses, stalls, late entry), us per operation
  // (launch-bound), synchronisations per micro-batch (hidden sync), buckets per layer (small collectives).
  double size = -1;           // < 0: the kind's default
  double target_ms = -1;      // >= 0: `size` is found so that a struck step lasts this much longer
  double target_effect = -1;  // the same in multiples of the healthy job's step noise
  int onset = -1;             // first step struck; < 0: from the first
  int every = 1;              // strikes every `every`-th step
  int only = -1;              // >= 0: strikes this step alone
  int sawtooth = 0;           // > 0: grows from 0 to `size` over so many steps and falls back
  std::string function;       // of a slow function: one of kScriptFunctions' short names
};

// Functions that the training script calls once per step; with stacks they are events of their own.
struct ScriptFunction {
  const char* name;
  const char* event;  // as the profiler names it
  double us;          // usual time
  bool with_data;     // only on ranks that load data
};
inline constexpr ScriptFunction kScriptFunctions[] = {{"augment_batch", "train.py(142): augment_batch", 250, true},
                                                      {"log_metrics", "train.py(171): log_metrics", 120, false},
                                                      {"update_lr", "train.py(98): update_lr", 40, false}};

// What a fault does to one step: 0 not struck, 1 full size; between for a saw-tooth.
double Strength(const FaultSpec& fault, int step);

struct JobSpec {
  uint64_t seed = 1;
  int run = 0;  // > 0: a further run on the same machines: their speeds and clocks stay, the noise is new
  // Shape.
  int dp = 2, tp = 1, pp = 1, ep = 1;
  int ranks_per_host = 8;
  int steps = 10, warmup = 2;
  int micro_batches = 0;  // 0: 2 pp, or 1 without a pipeline
  // Model and speed.
  int layers = 8;            // in all
  double layer_ms = 3.0;     // forward pass of one layer of one micro-batch, on one rank
  double layer_mb = 50;      // parameters of a layer on one rank, in MB of gradient
  double activation_mb = 8;  // what TP, EP and PP send per micro-batch
  double batch_mb = 40;      // host to device per step
  int kernels_small = 0;     // > 0: so many further tiny kernels per layer
  DpKind dp_kind = DpKind::kDdp;
  double bucket_mb = 100;
  Backend backend = Backend::kNccl;
  bool sync = true;  // the loop reads the loss in every step
  bool loss_all_reduce = true;
  double loader_ms = 1.5;
  double net_gbs = 0, node_gbs = 0;  // 0: as measured
  // Noise (sigmas of log-normals unless said otherwise).
  double noise = 1.0;           // scales the spread of single operations
  double step_noise = 0.004;    // of a rank's step
  double common_noise = 0.003;  // of a step on all ranks (the batch)
  double rank_noise = 0.003;    // between devices
  double host_noise = 0.015;    // between host processors
  double hiccup_rate = 0.02;    // pauses of 0.1 to 1 ms per rank and step
  double clock_ms = 50;         // hosts' clocks are off by up to so much
  double drift_ppm = 100;
  // Form of the traces.
  bool stacks = false, shapes = false, flows = true, autograd_thread = true, job_groups = false;
  bool gpu_annotations = true, pinned = true;
  ArgsEra args = ArgsEra::kSeq;
  bool whole_us = false;  // integer us since the epoch, as up to torch 2.2
  std::vector<FaultSpec> faults;

  uint64_t noise_seed() const { return seed + static_cast<uint64_t>(run) * 0x9e3779b97f4a7c15ULL; }
  int world() const { return dp * tp * pp; }
  int micro() const { return micro_batches > 0 ? micro_batches : (pp > 1 ? 2 * pp : 1); }
};

// "dp=2,tp=2,fault=slow_compute:rank=3:size=0.6:onset=4"; keys are the fields' names (--help lists them).
[[nodiscard]] Result<JobSpec> ParseSpec(std::string_view text, JobSpec spec = {});
[[nodiscard]] Result<FaultSpec> ParseFault(std::string_view text);
// Fills in what is left open (which step a pause strikes, which function is slow) and rejects jobs that cannot exist:
// layers not divisible over stages, a fault on a rank that does not exist or cannot have it, ...
[[nodiscard]] Result<JobSpec> Validated(JobSpec spec);
// The inverse of ParseSpec, for truth.json; only what differs from the default.
std::string SpecText(const JobSpec& spec);
// One line per key.
std::string SpecHelp();

}  // namespace headway::synth
