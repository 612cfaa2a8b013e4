// SPDX-License-Identifier: Apache-2.0
// The operations of a transformer layer. Shares of the forward time of a layer follow the multiplications of
// h x 3h, h x h, h x 4h and 4h x h matrices plus attention and the passes bound by memory; the backward pass does each
// multiplication twice.
#include <algorithm>
#include <cmath>
#include <string>

#include "synth/step_builder.h"

namespace headway::synth {
namespace {

// Phases of a layer, for the noise.
enum Phase { kAttention, kFeed, kAttentionBack, kFeedBack, kSmall, kSmallBack, kExtra, kExtraBack };

}  // namespace

int32_t StepBuilder::Sequence(int micro_batch, int layer, int op) const {
  return 1 + ((step_ * micro_batches_ + micro_batch) * Layers() + layer) * 16 + op;
}

void StepBuilder::Node(const char* name, std::initializer_list<Emitter::Op> ops, int32_t forward) {
  emit_.Open(std::string("autograd::engine::evaluate_function: ") + name, kCpuOp, job_.gloo() ? 1 : 6);
  emit_.Open(name, forward >= 0 ? kBackwardOp : kCpuOp, job_.gloo() ? 1 : 3, forward);
  for (const Emitter::Op& op : ops) emit_.Compute(op);
  emit_.Close(job_.gloo() ? 0.5 : 2);
  emit_.Close(job_.gloo() ? 0.5 : 4);
}

void StepBuilder::LayerForward(int mb, int layer) {
  emit_.OpenPython("nn.Module: Block_" + std::to_string(at_.pp * Layers() + layer), kPythonModule);
  const double ms = spec_.layer_ms;
  AttentionForward(mb, layer, ms);
  IsExpertLayer(layer) ? ExpertsForward(mb, layer, ms) : FeedForward(mb, layer, ms);
  SmallKernels(mb, layer, kSmall);
  emit_.ClosePython();
}

void StepBuilder::LayerBackward(int mb, int layer) {
  const double ms = spec_.layer_ms;
  IsExpertLayer(layer) ? ExpertsBackward(mb, layer, ms) : FeedBackward(mb, layer, ms);
  AttentionBackward(mb, layer, ms);
  SmallKernels(mb, layer, kSmallBack);
}

void StepBuilder::TensorAllReduce(int mb, int layer, int place) {
  Wait(emit_.Collective(Coll::kAllReduce, Dim::kTp, spec_.activation_mb, (mb * 1000 + layer) * 8 + place),
       "_c10d_functional::wait_tensor");
}

void StepBuilder::AttentionForward(int mb, int layer, double ms) {
  emit_.Place(mb, layer, kAttention);
  emit_.Compute({"aten::layer_norm", "layernorm", 0.02 * ms, layer % 3}, kForwardOp, Sequence(mb, layer, 0));
  emit_.Compute({"aten::linear", "gemm", 0.20 * ms, 0}, kForwardOp, Sequence(mb, layer, 1));
  emit_.Compute({"aten::scaled_dot_product_attention", "attention", 0.14 * ms}, kForwardOp, Sequence(mb, layer, 2));
  emit_.Compute({"aten::linear", "gemm", 0.07 * ms, 1}, kForwardOp, Sequence(mb, layer, 3));
  TensorAllReduce(mb, layer, 0);
  emit_.Compute({"aten::add", "elementwise", 0.015 * ms, 1}, kForwardOp, Sequence(mb, layer, 4));
}

void StepBuilder::FeedForward(int mb, int layer, double ms) {
  emit_.Place(mb, layer, kFeed);
  emit_.Compute({"aten::layer_norm", "layernorm", 0.02 * ms}, kForwardOp, Sequence(mb, layer, 5));
  emit_.Compute({"aten::linear", "gemm", 0.26 * ms, 2}, kForwardOp, Sequence(mb, layer, 6));
  emit_.Compute({"aten::gelu", "activation", 0.03 * ms, 1}, kForwardOp, Sequence(mb, layer, 7));
  emit_.Compute({"aten::linear", "gemm", 0.23 * ms, 0}, kForwardOp, Sequence(mb, layer, 8));
  TensorAllReduce(mb, layer, 1);
  emit_.Compute({"aten::add", "elementwise", 0.015 * ms, 1}, kForwardOp, Sequence(mb, layer, 9));
}

void StepBuilder::ExpertsForward(int mb, int layer, double ms) {
  const double share = job_.faults.Expert(rank_, step_);
  const int place = 500'000 + (mb * 1000 + layer) * 8;
  emit_.Place(mb, layer, kFeed);
  emit_.Compute({"aten::layer_norm", "layernorm", 0.02 * ms}, kForwardOp, Sequence(mb, layer, 5));
  emit_.Compute({"aten::softmax", "moe_routing", 0.01 * ms, 1}, kForwardOp, Sequence(mb, layer, 6));
  emit_.Open("moe dispatch", kAnnotation, 10);
  Wait(emit_.Collective(Coll::kAllToAll, Dim::kEp, spec_.activation_mb, place), "_c10d_functional::wait_tensor");
  emit_.Close(5);
  emit_.Open("expert", kAnnotation, 5);
  emit_.Compute({"aten::bmm", "moe_gemm", 0.26 * ms * share, 0}, kForwardOp, Sequence(mb, layer, 7));
  emit_.Compute({"aten::gelu", "activation", 0.03 * ms * share, 1}, kForwardOp, Sequence(mb, layer, 8));
  emit_.Compute({"aten::bmm", "moe_gemm", 0.23 * ms * share, 1}, kForwardOp, Sequence(mb, layer, 9));
  emit_.Close(5);
  emit_.Open("moe combine", kAnnotation, 10);
  Wait(emit_.Collective(Coll::kAllToAll, Dim::kEp, spec_.activation_mb, place + 1), "_c10d_functional::wait_tensor");
  emit_.Close(5);
  emit_.Compute({"aten::add", "elementwise", 0.015 * ms, 1}, kForwardOp, Sequence(mb, layer, 10));
}

void StepBuilder::FeedBackward(int mb, int layer, double ms) {
  emit_.Place(mb, layer, kFeedBack);
  Node("MmBackward0", {{"aten::mm", "gemm", 0.23 * ms, 0}, {"aten::mm", "gemm", 0.23 * ms, 1}}, Sequence(mb, layer, 8));
  Node("GeluBackward0", {{"aten::gelu_backward", "activation", 0.04 * ms, 1}}, Sequence(mb, layer, 7));
  Node("MmBackward0", {{"aten::mm", "gemm", 0.26 * ms, 2}}, Sequence(mb, layer, 6));
  // The gradient of the weights is computed while the gradient of the input is being summed.
  const int32_t sum = emit_.Collective(Coll::kAllReduce, Dim::kTp, spec_.activation_mb, (mb * 1000 + layer) * 8 + 2);
  Node("MmBackward0", {{"aten::mm", "gemm", 0.26 * ms, 0}});
  Wait(sum, "_c10d_functional::wait_tensor");
  Node("NativeLayerNormBackward0", {{"aten::native_layer_norm_backward", "layernorm", 0.03 * ms, 1}},
       Sequence(mb, layer, 5));
}

void StepBuilder::ExpertsBackward(int mb, int layer, double ms) {
  const double share = job_.faults.Expert(rank_, step_);
  const int place = 500'000 + (mb * 1000 + layer) * 8;
  emit_.Place(mb, layer, kFeedBack);
  Wait(emit_.Collective(Coll::kAllToAll, Dim::kEp, spec_.activation_mb, place + 2), "_c10d_functional::wait_tensor");
  Node("BmmBackward0", {{"aten::bmm", "moe_gemm", 0.46 * ms * share, 0}}, Sequence(mb, layer, 9));
  Node("GeluBackward0", {{"aten::gelu_backward", "activation", 0.04 * ms * share, 1}}, Sequence(mb, layer, 8));
  Node("BmmBackward0", {{"aten::bmm", "moe_gemm", 0.52 * ms * share, 1}}, Sequence(mb, layer, 7));
  Wait(emit_.Collective(Coll::kAllToAll, Dim::kEp, spec_.activation_mb, place + 3), "_c10d_functional::wait_tensor");
  Node("SoftmaxBackward0", {{"aten::_softmax_backward_data", "moe_routing", 0.01 * ms, 1}}, Sequence(mb, layer, 6));
  Node("NativeLayerNormBackward0", {{"aten::native_layer_norm_backward", "layernorm", 0.03 * ms, 1}},
       Sequence(mb, layer, 5));
}

void StepBuilder::AttentionBackward(int mb, int layer, double ms) {
  emit_.Place(mb, layer, kAttentionBack);
  Node("MmBackward0", {{"aten::mm", "gemm", 0.07 * ms, 0}, {"aten::mm", "gemm", 0.07 * ms, 1}}, Sequence(mb, layer, 3));
  Node("ScaledDotProductFlashAttentionBackward0",
       {{"aten::_scaled_dot_product_flash_attention_backward", "attention", 0.28 * ms, 1}}, Sequence(mb, layer, 2));
  Node("MmBackward0", {{"aten::mm", "gemm", 0.20 * ms, 2}}, Sequence(mb, layer, 1));
  const int32_t sum = emit_.Collective(Coll::kAllReduce, Dim::kTp, spec_.activation_mb, (mb * 1000 + layer) * 8 + 3);
  Node("MmBackward0", {{"aten::mm", "gemm", 0.20 * ms, 0}});
  Wait(sum, "_c10d_functional::wait_tensor");
  Node("NativeLayerNormBackward0", {{"aten::native_layer_norm_backward", "layernorm", 0.03 * ms, 0}},
       Sequence(mb, layer, 0));
}

// What a job bound by launches is made of: kernels of a few us.
void StepBuilder::SmallKernels(int mb, int layer, int phase) {
  if (spec_.kernels_small == 0) return;
  emit_.Place(mb, layer, phase);
  for (int i = 0; i < spec_.kernels_small; ++i) emit_.Compute({"aten::mul", "elementwise", 0.003, i});
}

// The surplus of a stage that was given too much of the model: whole operations, not slower ones.
void StepBuilder::ExtraStageWork(int mb, bool forward) {
  const double ms = job_.faults.StageExtra(rank_, step_) * spec_.layer_ms * Layers() * (forward ? 1 : 2);
  if (ms <= 0) return;
  emit_.Place(mb, 0, forward ? kExtra : kExtraBack);
  const int count = std::max(1, static_cast<int>(std::lround(ms / (0.2 * spec_.layer_ms))));
  for (int i = 0; i < count; ++i) {
    if (forward) {
      emit_.Compute({"aten::linear", "gemm", ms / count, i});
    } else {
      Node("MmBackward0", {{"aten::mm", "gemm", ms / count, i}});
    }
  }
}

}  // namespace headway::synth
