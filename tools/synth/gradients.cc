// SPDX-License-Identifier: Apache-2.0
// How replicas agree on gradients: DDP buckets beside the backward pass, FSDP gathers and reduce-scatters with
// prefetch, or one all-reduce per layer after the backward pass.
#include <algorithm>
#include <string>

#include "synth/step_builder.h"

namespace headway::synth {
namespace {

enum Phase { kGradients = 2000, kParameters };

std::string Block(const char* what, int layer) { return std::string(what) + " (blocks." + std::to_string(layer) + ")"; }

}  // namespace

void StepBuilder::Gather(int layer, bool forward, int micro_batch) {
  if (spec_.dp == 1) return;
  emit_.Place(micro_batch, layer * 2 + (forward ? 0 : 1), kParameters);
  emit_.Open(Block("FSDP::all_gather", layer), kAnnotation, 20);
  const int place = 700'000 + (micro_batch * 1000 + layer) * 4 + (forward ? 0 : 1);
  const int32_t handle = emit_.Collective(Coll::kAllGather, Dim::kDp, spec_.layer_mb, place);
  gathers_[static_cast<size_t>(layer)] = handle;
  // Without prefetch everybody waits at once (so does FSDP on the CPU).
  if (job_.gloo() || job_.faults.LostOverlap(step_)) Wait(handle, "");
  emit_.Close(5);
}

void StepBuilder::NeedParameters(int layer, bool forward) {
  if (spec_.dp == 1) return;
  if (job_.gloo() || job_.faults.LostOverlap(step_)) return;
  emit_.Open(Block(forward ? "FSDP::pre_forward" : "FSDP::pre_backward", layer), kAnnotation, 8);
  Wait(gathers_[static_cast<size_t>(layer)], "");
  emit_.Close(4);
}

void StepBuilder::LayerGradients(int micro_batch, int layer) {
  const bool last = micro_batch == micro_batches_ - 1;
  emit_.Place(micro_batch, layer, kGradients);
  emit_.Open("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", kCpuOp, 3);
  if (micro_batch == 0) {
    emit_.Open("torch::autograd::AccumulateGrad", kCpuOp, 5);
    emit_.Close(3);
  } else {  // adds to what the micro-batches before left; bound by memory
    emit_.Compute({"torch::autograd::AccumulateGrad", "elementwise", spec_.layer_mb * 3 / 1.5e3, 1});
  }
  emit_.Close(3);
  if (spec_.dp == 1) return;
  const int place = 800'000 + (micro_batch * 1000 + layer) * 64;
  if (spec_.dp_kind == DpKind::kFsdp) {
    emit_.Open(Block("FSDP::post_backward_reduce", layer), kAnnotation, 15);
    const int32_t handle = emit_.Collective(Coll::kReduceScatter, Dim::kDp, spec_.layer_mb, place);
    if (job_.gloo() || job_.faults.LostOverlap(step_)) {
      Wait(handle, "");
    } else {
      gradients_.push_back(handle);
    }
    emit_.Close(5);
  } else if (spec_.dp_kind == DpKind::kDdp && last) {
    const int parts = job_.faults.BucketsPerLayer(step_);
    if (parts > 0) {
      for (int i = 0; i < parts; ++i) GradientBucket(spec_.layer_mb / parts, place + std::min(i, 62));
      return;
    }
    bucket_ += spec_.layer_mb;
    if (bucket_ < spec_.bucket_mb && layer > 0) return;
    GradientBucket(bucket_, place + 63);
    bucket_ = 0;
  }
}

void StepBuilder::GradientBucket(double megabytes, int place) {
  if (job_.faults.LostOverlap(step_)) {  // found out only after the backward pass, as with an unused parameter
    late_buckets_.push_back({megabytes, place});
    return;
  }
  gradients_.push_back(emit_.Collective(Coll::kAllReduce, Dim::kDp, megabytes, place));
}

void StepBuilder::ReduceAfterBackward() {
  emit_.Open("reduce gradients", kAnnotation, 20);
  for (int layer = Layers() - 1; layer >= 0; --layer) {
    gradients_.push_back(emit_.Collective(Coll::kAllReduce, Dim::kDp, spec_.layer_mb, 900'000 + layer));
  }
  for (int32_t handle : gradients_) Wait(handle, "");
  gradients_.clear();
  emit_.Close(5);
}

void StepBuilder::FinishGradients() {
  if (spec_.dp == 1) return;
  emit_.Place(0, 0, kGradients + 5);
  if (spec_.dp_kind == DpKind::kAllReduce) ReduceAfterBackward();
  for (const auto& [megabytes, place] : late_buckets_) {
    gradients_.push_back(emit_.Collective(Coll::kAllReduce, Dim::kDp, megabytes, place));
  }
  // Collectives of one group end in order: the last one is the one to wait for, except on gloo's two threads.
  const size_t from = job_.gloo() || gradients_.empty() ? 0 : gradients_.size() - 1;
  for (size_t i = from; i < gradients_.size(); ++i) Wait(gradients_[i], "");
}

}  // namespace headway::synth
