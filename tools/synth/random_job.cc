// SPDX-License-Identifier: Apache-2.0
#include "synth/random_job.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "synth/draws.h"
#include "synth/mesh.h"

namespace headway::synth {
namespace {

// Kinds a random job may have; a uniform slowdown shows only against an earlier run.
constexpr std::array kKinds = {
    FaultKind::kSlowCompute,    FaultKind::kSlowHost,        FaultKind::kSlowFunction,    FaultKind::kSlowLoader,
    FaultKind::kGcPause,        FaultKind::kProcessPause,    FaultKind::kSlowLink,        FaultKind::kSlowFabric,
    FaultKind::kStageImbalance, FaultKind::kExpertImbalance, FaultKind::kRandomImbalance, FaultKind::kHiddenSync,
    FaultKind::kLaunchBound,    FaultKind::kUnpinnedCopy,    FaultKind::kSlowCopy,        FaultKind::kCheckpointStall,
    FaultKind::kCompileStall,   FaultKind::kLateEntry,       FaultKind::kLostOverlap,     FaultKind::kSmallCollectives,
    FaultKind::kSlowCompute,    FaultKind::kSlowCompute,     FaultKind::kSlowLink,        FaultKind::kSlowLoader};

void DrawShape(Chooser& draw, JobSpec& s) {
  do {
    s.tp = draw.Pick(std::array{1, 1, 2, 2, 4, 8});
    s.pp = draw.Pick(std::array{1, 1, 2, 2, 4});
    s.dp = draw.Pick(std::array{1, 2, 2, 4, 4, 8, 16});
  } while (s.world() < 4 || s.world() > 64);
  s.ep = s.dp >= 2 && draw.Chance(0.25) ? std::min(s.dp, draw.Pick(std::array{2, 4, 8})) : 1;
  do {
    s.ranks_per_host = draw.Pick(std::array{2, 4, 8, 8});
  } while (s.ranks_per_host < s.tp);
  s.steps = 8 + draw.Below(13);
  const int micro = s.pp > 1 ? s.pp * (1 + draw.Below(2)) : 1 + draw.Below(2);
  s.micro_batches = micro;
  const int per_stage = std::max(2, std::min(12, (s.pp > 1 ? 20 : 14) / micro));
  s.layers = s.pp * (2 + draw.Below(per_stage - 1));
  const int kind = draw.Below(4);
  s.dp_kind = s.dp == 1 || kind < 2 ? DpKind::kDdp : kind == 2 ? DpKind::kFsdp : DpKind::kAllReduce;
}

// Sizes for which communication costs a visible part of the step, and most of it can be hidden.
void DrawSizes(Chooser& draw, JobSpec& s) {
  s.backend = draw.Chance(0.25) ? Backend::kGloo : Backend::kNccl;
  const bool gloo = s.backend == Backend::kGloo;
  s.layer_ms = draw.Real(gloo ? 2 : 1, 8);
  const Mesh mesh(s.dp, s.tp, s.pp, s.ep, s.ranks_per_host);
  const bool crosses = mesh.hosts() > 1 && mesh.Host(0) != mesh.Host(mesh.RankAt(0, s.dp - 1, 0));
  const double gbs = gloo ? 1 : crosses ? 46 : 297;
  const double beside = s.layer_ms * (s.dp_kind == DpKind::kFsdp ? 1 : 2 * s.micro());
  s.layer_mb = draw.Real(0.1, 0.5) * beside * gbs;
  s.bucket_mb = s.layer_mb * draw.Real(0.5, 2.5);
  s.activation_mb = draw.Real(0.02, 0.12) * s.layer_ms * (gloo ? 1 : s.tp > 1 ? 297 : 46);
  s.batch_mb = draw.Real(4, 40);
  s.loader_ms = draw.Real(0.3, 3);
  s.step_noise = draw.Real(0.002, 0.006);
  s.common_noise = draw.Real(0.001, 0.005);
  s.rank_noise = draw.Real(0.001, 0.005);
  s.host_noise = draw.Real(0.005, 0.02);
  s.hiccup_rate = draw.Real(0, 0.05);
}

void DrawForm(Chooser& draw, JobSpec& s) {
  const double era = draw.Real(0, 1);
  s.args = era < 0.15 ? ArgsEra::kNoArgs : era < 0.45 ? ArgsEra::kNoSeq : ArgsEra::kSeq;
  s.whole_us = s.args == ArgsEra::kNoArgs;
  s.stacks = draw.Chance(0.4);
  s.shapes = draw.Chance(0.3);
  s.flows = draw.Chance(0.5);
  s.autograd_thread = draw.Chance(0.85);
  s.gpu_annotations = draw.Chance(0.7);
  s.sync = draw.Chance(0.8);
  s.loss_all_reduce = draw.Chance(0.7);
  s.job_groups = s.backend == Backend::kGloo;
}

FaultSpec DrawFault(Chooser& draw, const JobSpec& s, double target_effect) {
  FaultSpec f;
  f.kind = draw.Pick(kKinds);
  const Mesh mesh(s.dp, s.tp, s.pp, s.ep, s.ranks_per_host);
  const int rank = draw.Below(s.world()), host = draw.Below(mesh.hosts());
  const double where = draw.Real(0, 1);
  switch (f.kind) {
    case FaultKind::kSlowHost: f.host = host; break;
    case FaultKind::kStageImbalance: f.stage = draw.Below(s.pp); break;
    case FaultKind::kSlowLoader:
    case FaultKind::kSlowCopy:
    case FaultKind::kUnpinnedCopy:
    case FaultKind::kHiddenSync:
      if (where < 0.6) f.rank = rank;
      if (where >= 0.6 && where < 0.8) f.host = host;
      break;
    case FaultKind::kSlowLink: where < 0.5 ? f.rank = rank : f.host = host; break;
    case FaultKind::kSlowCompute:
    case FaultKind::kSlowFunction:
    case FaultKind::kGcPause:
    case FaultKind::kProcessPause:
    case FaultKind::kExpertImbalance: f.rank = rank; break;
    default: break;
  }
  const double pattern = draw.Real(0, 1);
  const int every = 2 + draw.Below(3), onset = s.warmup + s.steps / 4 + draw.Below(std::max(1, s.steps / 3));
  const bool once = f.kind == FaultKind::kProcessPause || f.kind == FaultKind::kCheckpointStall ||
                    f.kind == FaultKind::kCompileStall || f.kind == FaultKind::kLateEntry;
  if (once) f.only = s.warmup + 1 + draw.Below(s.steps - 1);
  if (!once && pattern < 0.1) f.every = every;
  if (!once && pattern >= 0.1 && pattern < 0.2) f.onset = onset;
  if (f.kind == FaultKind::kSlowCompute && pattern >= 0.2 && pattern < 0.3) f.sawtooth = 4 + draw.Below(4);
  f.target_effect = target_effect > 0 ? target_effect : std::exp(draw.Real(std::log(3.0), std::log(30.0)));
  return f;
}

}  // namespace

JobSpec RandomJob(uint64_t seed, double target_effect, int attempt) {
  Chooser draw(Key(seed, 0x0b5, attempt));
  JobSpec spec;
  spec.seed = seed;
  DrawShape(draw, spec);
  DrawSizes(draw, spec);
  DrawForm(draw, spec);
  const double luck = Uniform(Key(seed, 0xfa7e));
  const size_t wanted = luck < 0.2 ? 0 : luck < 0.76 ? 1 : luck < 0.92 ? 2 : 3;
  while (spec.faults.size() < wanted) {
    JobSpec with = spec;
    with.faults.push_back(DrawFault(draw, spec, target_effect));
    const FaultSpec& drawn = with.faults.back();
    if (drawn.host >= 0 && spec.world() <= spec.ranks_per_host) continue;  // the only host: no host among others
    const bool again = std::any_of(spec.faults.begin(), spec.faults.end(), [&](const FaultSpec& f) {
      return f.kind == drawn.kind;  // two of a kind are one fault on two ranks: not asked for here
    });
    if (Result<JobSpec> valid = Validated(with); valid && !again) spec = *valid;
  }
  Result<JobSpec> valid = Validated(spec);
  HEADWAY_CHECK(valid.has_value());
  return *valid;
}

}  // namespace headway::synth
