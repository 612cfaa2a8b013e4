// SPDX-License-Identifier: Apache-2.0
// The program of one rank's training step: loader, forward and backward passes in 1F1B order, gradient exchange,
// optimizer. All ranks' programs of a step fit together: every collective is issued by all members in one order.
#pragma once

#include <utility>
#include <vector>

#include "synth/emitter.h"

namespace headway::synth {

// One unit of the pipeline's work on a stage.
struct PipelineAction {
  bool forward = true;
  int micro_batch = 0;
  bool operator==(const PipelineAction&) const = default;
};

// 1F1B (Narayanan et al. 2019): min(stages - stage - 1, m) forward passes, then one forward and one backward in turn,
// then the remaining backward passes. With equal stages and backward time b, forward time f the pipeline idles
// (stages - 1) / m of the useful time m (f + b).
std::vector<PipelineAction> OneForwardOneBackward(int stage, int stages, int micro_batches);

class StepBuilder {
 public:
  StepBuilder(Job& job, int rank, int step, Program& program);
  void Build();

 private:
  // step_builder.cc
  void Begin();
  void Data();
  void Pipeline();
  void GlooPipeline();
  void Forward(int micro_batch);
  void Backward(int micro_batch);
  void Optimizer();
  void Finish();
  void CallFunction(int place);  // index into kScriptFunctions

  // layers.cc
  void LayerForward(int micro_batch, int layer);
  void LayerBackward(int micro_batch, int layer);
  void AttentionForward(int mb, int layer, double ms);
  void FeedForward(int mb, int layer, double ms);
  void ExpertsForward(int mb, int layer, double ms);
  void AttentionBackward(int mb, int layer, double ms);
  void FeedBackward(int mb, int layer, double ms);
  void ExpertsBackward(int mb, int layer, double ms);
  // One node of the backward graph; forward: the number of the forward operation it belongs to, kNone without.
  void Node(const char* name, std::initializer_list<Emitter::Op> ops, int32_t forward = kNone);
  // Number of the forward operation `op` of a layer; autograd's sequence number.
  int32_t Sequence(int micro_batch, int layer, int op) const;
  void SmallKernels(int mb, int layer, int phase);
  void ExtraStageWork(int mb, bool forward);

  // gradients.cc
  void Gather(int layer, bool forward, int micro_batch);  // FSDP: fetches the parameters of a layer
  void NeedParameters(int layer, bool forward);
  void LayerGradients(int micro_batch, int layer);
  void GradientBucket(double megabytes, int place);
  void FinishGradients();
  void ReduceAfterBackward();

  // The compute stream (gloo: the host) goes on only when the collective has ended.
  void Wait(int32_t handle, const char* gloo_span);
  void TensorAllReduce(int mb, int layer, int place);

  bool IsExpertLayer(int layer) const { return job_.spec.ep > 1 && layer % 2 == 1; }
  int Layers() const { return job_.spec.layers / job_.spec.pp; }
  bool Loads() const;  // whether this rank reads the data

  Job& job_;
  const JobSpec& spec_;
  Emitter emit_;
  int rank_, step_;
  Coordinate at_;
  int micro_batches_;
  std::vector<int32_t> gathers_;                      // per layer: the handle of its parameters
  std::vector<int32_t> gradients_;                    // handles not waited for yet
  double bucket_ = 0;                                 // MB waiting for their bucket
  std::vector<std::pair<double, int>> late_buckets_;  // MB and place
};

}  // namespace headway::synth
