// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "synth/mesh.h"
#include "synth/spec.h"

namespace headway::synth {
namespace {

std::unexpected<Error> Bad(std::string message) { return MakeError(ErrorCode::kInvalidArgument, std::move(message)); }

Result<void> CheckShape(const JobSpec& s) {
  if (std::min({s.dp, s.tp, s.pp, s.ep, s.ranks_per_host, s.steps, s.warmup, s.layers}) < 1) {
    return Bad("dp, tp, pp, ep, ranks_per_host, steps, warmup and layers must be at least 1");
  }
  if (s.dp % s.ep != 0) return Bad("ep must divide dp");
  if (s.layers % s.pp != 0) return Bad("pp must divide layers");
  if (s.world() > 4096) return Bad("at most 4096 ranks");
  if (s.micro_batches < 0 || s.kernels_small < 0) return Bad("micro_batches and kernels_small must not be negative");
  // An engine handle per collective of a step; buckets of small collectives come on top.
  if (s.micro() * (s.layers / s.pp) * 12 > 12'000) return Bad("too many layers times micro-batches on one rank");
  if (std::min({s.layer_ms, s.layer_mb, s.activation_mb, s.batch_mb, s.loader_ms, s.noise, s.step_noise}) < 0) {
    return Bad("sizes, times and noises must not be negative");
  }
  return {};
}

bool HoldsData(const Mesh& mesh, const JobSpec& s, int rank) {
  const int pp = mesh.At(rank).pp;
  return pp == 0 || pp == s.pp - 1;
}

Result<void> CheckTarget(const JobSpec& s, const Mesh& mesh, const FaultSpec& f) {
  if ((f.rank >= 0) + (f.host >= 0) + (f.stage >= 0) > 1) return Bad("a fault strikes a rank, a host or a stage");
  if (f.rank >= s.world() || f.host >= mesh.hosts() || f.stage >= s.pp) return Bad("the fault strikes nobody");
  if (f.every < 1 || f.sawtooth < 0) return Bad("every must be at least 1, sawtooth at least 0");
  const bool one_rank_or_host = f.rank >= 0 || f.host >= 0;
  const bool nccl = s.backend == Backend::kNccl;
  switch (f.kind) {
    case FaultKind::kSlowLoader:
      if (f.rank >= 0 && !HoldsData(mesh, s, f.rank)) return Bad("this rank loads no data");
      return {};
    case FaultKind::kSlowHost:
    case FaultKind::kSlowCompute:
    case FaultKind::kGcPause:
    case FaultKind::kProcessPause: return one_rank_or_host ? Result<void>{} : Bad("needs rank= or host=");
    case FaultKind::kSlowLink:
      if (f.host >= 0 && mesh.hosts() < 2) return Bad("there is one host only");
      return one_rank_or_host && s.world() > 1 ? Result<void>{} : Bad("needs rank= or host=");
    case FaultKind::kStageImbalance: return s.pp > 1 && f.stage >= 0 ? Result<void>{} : Bad("needs pp > 1 and stage=");
    case FaultKind::kExpertImbalance: return s.ep > 1 && f.rank >= 0 ? Result<void>{} : Bad("needs ep > 1 and rank=");
    case FaultKind::kRandomImbalance:
      return s.dp > 1 && !one_rank_or_host ? Result<void>{} : Bad("needs dp > 1 and no rank");
    case FaultKind::kHiddenSync:
    case FaultKind::kLaunchBound:
    case FaultKind::kUnpinnedCopy:
    case FaultKind::kSlowCopy:
      if (f.kind != FaultKind::kHiddenSync && f.kind != FaultKind::kLaunchBound && f.rank >= 0 &&
          !HoldsData(mesh, s, f.rank)) {
        return Bad("this rank copies no data");
      }
      return nccl ? Result<void>{} : Bad("needs backend=nccl");
    case FaultKind::kLostOverlap:
      return nccl && s.dp > 1 && s.dp_kind != DpKind::kAllReduce ? Result<void>{}
                                                                 : Bad("needs nccl, dp > 1, ddp or fsdp");
    case FaultKind::kSmallCollectives:
      return s.dp > 1 && s.dp_kind == DpKind::kDdp ? Result<void>{} : Bad("needs dp > 1 and ddp");
    default: return {};
  }
}

void FillIn(const JobSpec& s, const Mesh& mesh, FaultSpec& f) {
  const bool once =
      f.kind == FaultKind::kProcessPause || f.kind == FaultKind::kCheckpointStall || f.kind == FaultKind::kCompileStall;
  if (once && f.only < 0 && f.every == 1 && f.onset < 0) f.only = s.warmup + s.steps / 2;
  if (f.kind != FaultKind::kSlowFunction || !f.function.empty()) return;
  const bool data = f.rank < 0 || HoldsData(mesh, s, f.rank);
  f.function = data ? "augment_batch" : "log_metrics";
}

}  // namespace

Result<JobSpec> Validated(JobSpec spec) {
  if (Result<void> ok = CheckShape(spec); !ok) return std::unexpected(ok.error());
  if (spec.backend == Backend::kGloo) {  // the CPU's backward pass runs in the calling thread; its traces are recent
    spec.autograd_thread = false;
    spec.args = ArgsEra::kSeq;
    spec.whole_us = false;
    spec.gpu_annotations = false;
  }
  const Mesh mesh(spec.dp, spec.tp, spec.pp, spec.ep, spec.ranks_per_host);
  for (FaultSpec& fault : spec.faults) {
    if (Result<void> ok = CheckTarget(spec, mesh, fault); !ok) {
      return Bad(std::string(FaultName(fault.kind)) + ": " + ok.error().message);
    }
    FillIn(spec, mesh, fault);
    if (fault.kind == FaultKind::kSlowFunction) {
      const auto known = std::find_if(std::begin(kScriptFunctions), std::end(kScriptFunctions),
                                      [&](const ScriptFunction& f) { return fault.function == f.name; });
      if (known == std::end(kScriptFunctions))
        return Bad("slow_function: no function is called '" + fault.function + "'");
      if (known->with_data && fault.rank >= 0 && !HoldsData(mesh, spec, fault.rank)) {
        return Bad("slow_function: this rank does not call " + fault.function);
      }
    }
  }
  return spec;
}

}  // namespace headway::synth
