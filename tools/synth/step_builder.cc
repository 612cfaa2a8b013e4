// SPDX-License-Identifier: Apache-2.0
#include "synth/step_builder.h"

#include <algorithm>
#include <string>

#include "synth/draws.h"

namespace headway::synth {
namespace {

// Places of the noise outside the layers.
enum Phase { kPhaseBegin = 1000, kPhaseData, kPhaseHead, kPhaseOptimizer, kPhaseEnd, kPhasePeer, kPhaseFunction };

}  // namespace

std::vector<PipelineAction> OneForwardOneBackward(int stage, int stages, int micro_batches) {
  std::vector<PipelineAction> actions;
  const int warmup = std::min(stages - stage - 1, micro_batches);
  for (int i = 0; i < warmup; ++i) actions.push_back({true, i});
  for (int i = warmup; i < micro_batches; ++i) {
    actions.push_back({true, i});
    actions.push_back({false, i - warmup});
  }
  for (int i = micro_batches - warmup; i < micro_batches; ++i) actions.push_back({false, i});
  return actions;
}

StepBuilder::StepBuilder(Job& job, int rank, int step, Program& program)
    : job_(job),
      spec_(job.spec),
      emit_(job, rank, step, program),
      rank_(rank),
      step_(step),
      at_(job.mesh.At(rank)),
      micro_batches_(job.spec.micro()) {
  gathers_.assign(static_cast<size_t>(Layers()), kNone);
}

bool StepBuilder::Loads() const { return at_.pp == 0 || at_.pp == spec_.pp - 1; }

void StepBuilder::Build() {
  // Starting the profiler takes each rank its own time.
  if (step_ == spec_.warmup) emit_.Hole(job_.faults.LateEntry(rank_));
  emit_.Open("ProfilerStep#" + std::to_string(step_), kAnnotation, 12);
  emit_.OpenPython("train.py(210): train_step");
  Begin();
  Data();
  if (job_.gloo() && spec_.pp > 1) {
    GlooPipeline();
  } else {
    Pipeline();
  }
  FinishGradients();
  Optimizer();
  Finish();
  emit_.ClosePython();
  emit_.Close(3);
  emit_.Mark();
}

void StepBuilder::Begin() {
  emit_.Place(0, 0, kPhaseBegin);
  // Pauses that every operating system makes.
  const uint64_t key = Key(spec_.noise_seed(), 0x41c, rank_, step_);
  if (Uniform(key) < spec_.hiccup_rate) emit_.Hole(static_cast<Time>(1e5 + 9e5 * Uniform(key + 1)));
  CallFunction(2);
}

// A function of the training script: its own event with stacks, else part of the host's time between events.
void StepBuilder::CallFunction(int place) {
  const ScriptFunction& function = kScriptFunctions[place];
  emit_.Place(0, place, kPhaseFunction);
  emit_.OpenPython(function.event);
  emit_.Busy(function.us * LogNormal(Key(spec_.noise_seed(), 0xf0, rank_, step_, place), 0.1 * spec_.noise));
  emit_.Hole(job_.faults.Function(rank_, step_, function.name));
  emit_.ClosePython();
}

void StepBuilder::Data() {
  if (Loads()) {
    const double spread = LogNormal(Key(spec_.noise_seed(), 0x10ad, rank_, step_), 0.06 * spec_.noise);
    emit_.Open("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kAnnotation, 15);
    emit_.OpenPython("torch/utils/data/_utils/fetch.py(49): fetch");
    emit_.OpenPython("train.py(120): __getitem__");
    emit_.OpenPython("train.py(150): read_shard");
    emit_.Busy(spec_.loader_ms * 700 * spread);
    emit_.Hole(job_.faults.Loader(rank_, step_));
    emit_.ClosePython();
    emit_.Busy(spec_.loader_ms * 200 * spread);
    emit_.ClosePython();
    emit_.OpenPython("torch/utils/data/_utils/collate.py(23): default_collate");
    emit_.Busy(spec_.loader_ms * 100 * spread);
    emit_.ClosePython();
    emit_.ClosePython();
    emit_.Close(10);
    CallFunction(0);
    emit_.Place(0, 0, kPhaseData);
    emit_.CopyToDevice(spec_.batch_mb);
  }
  emit_.Place(0, 1, kPhaseData);
  emit_.Open("Optimizer.zero_grad#AdamW.zero_grad", kAnnotation, 30);
  emit_.Close(20);
}

void StepBuilder::Pipeline() {
  const bool first = at_.pp == 0, last = at_.pp == spec_.pp - 1;
  const std::vector<PipelineAction> actions = OneForwardOneBackward(at_.pp, spec_.pp, micro_batches_);
  for (const PipelineAction& action : actions) {
    emit_.Place(action.micro_batch, action.forward ? 0 : 1, kPhasePeer);
    const bool receives = action.forward ? !first : !last;
    const bool sends = action.forward ? !last : !first;
    if (receives) Wait(emit_.PeerToPeer(false, action.forward, spec_.activation_mb), "");
    action.forward ? Forward(action.micro_batch) : Backward(action.micro_batch);
    emit_.Place(action.micro_batch, action.forward ? 2 : 3, kPhasePeer);
    if (sends) emit_.PeerToPeer(true, action.forward, spec_.activation_mb);
  }
}

// As torch.distributed.pipelining.Schedule1F1B does it: the host waits for every receive, and for a send before the
// next one in the same direction; in the steady state a send and a receive are started and waited for together.
void StepBuilder::GlooPipeline() {
  const bool first = at_.pp == 0, last = at_.pp == spec_.pp - 1;
  const int m = micro_batches_, warmup = std::min(m, spec_.pp - at_.pp);
  const double mb = spec_.activation_mb;
  const auto start = [&](bool send, bool forward) { return emit_.PeerToPeer(send, forward, mb); };
  const auto wait = [&](int32_t handle) { emit_.HostWait(handle, "", kCpuOp); };
  int32_t sent = kNone;
  for (int f = 0; f < warmup; ++f) {
    emit_.Place(f, 0, kPhasePeer);
    if (!first) wait(start(false, true));
    Forward(f);
    emit_.Place(f, 1, kPhasePeer);
    wait(sent);
    sent = !last && f != warmup - 1 ? start(true, true) : kNone;
  }
  int b = 0;
  for (int f = warmup;; ++f) {
    emit_.Place(b, 2, kPhasePeer);
    const int32_t out = !last ? start(true, true) : kNone;  // of the forward pass just done
    const int32_t in = !last ? start(false, false) : kNone;
    wait(out);
    wait(in);
    Backward(b++);
    if (f == m) break;
    emit_.Place(b, 3, kPhasePeer);
    const int32_t back = !first ? start(true, false) : kNone;
    const int32_t next = !first ? start(false, true) : kNone;
    wait(back);
    wait(next);
    Forward(f);
  }
  emit_.Place(b, 4, kPhasePeer);
  sent = !first ? start(true, false) : kNone;
  while (b < m) {
    emit_.Place(b, 5, kPhasePeer);
    if (!last) wait(start(false, false));
    Backward(b++);
    emit_.Place(b, 6, kPhasePeer);
    wait(sent);
    sent = !first ? start(true, false) : kNone;
  }
  wait(sent);
}

void StepBuilder::Forward(int micro_batch) {
  emit_.OpenPython("nn.Module: Model_0", kPythonModule);
  if (spec_.dp_kind == DpKind::kDdp && spec_.dp > 1) emit_.Open("DistributedDataParallel.forward", kAnnotation, 60);
  emit_.Place(micro_batch, 0, kPhaseHead);
  const double layer_ms = spec_.layer_ms;
  if (at_.pp == 0) emit_.Compute({"aten::embedding", "embedding", layer_ms * 0.03});
  if (spec_.dp_kind == DpKind::kFsdp) Gather(0, true, micro_batch);
  const int syncs = job_.faults.HiddenSyncs(rank_, step_);
  for (int layer = 0; layer < Layers(); ++layer) {
    if (spec_.dp_kind == DpKind::kFsdp && layer + 1 < Layers()) Gather(layer + 1, true, micro_batch);
    if (spec_.dp_kind == DpKind::kFsdp) NeedParameters(layer, true);
    LayerForward(micro_batch, layer);
    // Spread over the layers, so that the host loses its lead again and again.
    for (int i = 0; i < syncs; ++i) {
      if (i * Layers() / syncs == layer) emit_.Item(false);
    }
  }
  ExtraStageWork(micro_batch, true);
  emit_.Place(micro_batch, 1, kPhaseHead);
  if (at_.pp == spec_.pp - 1) {
    emit_.Compute({"aten::linear", "gemm", layer_ms * 0.12, 1});
    emit_.Compute({"aten::cross_entropy_loss", "reduce", layer_ms * 0.02, 1});
  }
  if (spec_.dp_kind == DpKind::kDdp && spec_.dp > 1) emit_.Close(20);
  emit_.ClosePython();
  if (micro_batch == 0) {
    if (const Time pause = job_.faults.Gc(rank_, step_); pause > 0) {
      emit_.OpenPython("train.py(66): churn");
      emit_.OpenPython("<built-in function collect>");
      emit_.Hole(pause);
      emit_.ClosePython();
      emit_.ClosePython();
    }
    emit_.Hole(job_.faults.Pause(rank_, step_));
    if (const Time load = job_.faults.Compile(rank_, step_); load > 0) {
      emit_.OpenPython("torch/_inductor/codecache.py(1180): load");
      emit_.Open("CompiledFxGraph", kAnnotation);
      emit_.Hole(load);
      emit_.Close();
      emit_.ClosePython();
    }
  }
}

void StepBuilder::Backward(int micro_batch) {
  emit_.OpenPython("torch/autograd/graph.py(820): _engine_run_backward");
  if (!job_.gloo() && spec_.autograd_thread) emit_.SetThread(kAutogradThread);
  emit_.Place(micro_batch, 2, kPhaseHead);
  if (at_.pp == spec_.pp - 1) {
    Node("NllLossBackward0", {{"aten::nll_loss_backward", "reduce", spec_.layer_ms * 0.02, 2}});
    Node("MmBackward0",
         {{"aten::mm", "gemm", spec_.layer_ms * 0.12, 0}, {"aten::mm", "gemm", spec_.layer_ms * 0.12, 1}});
  }
  ExtraStageWork(micro_batch, false);
  if (spec_.dp_kind == DpKind::kFsdp) Gather(Layers() - 1, false, micro_batch);
  for (int layer = Layers() - 1; layer >= 0; --layer) {
    if (spec_.dp_kind == DpKind::kFsdp && layer > 0) Gather(layer - 1, false, micro_batch);
    if (spec_.dp_kind == DpKind::kFsdp) NeedParameters(layer, false);
    LayerBackward(micro_batch, layer);
    LayerGradients(micro_batch, layer);
  }
  emit_.SetThread(kMainThread);
  emit_.ClosePython();
}

void StepBuilder::Optimizer() {
  emit_.Place(0, 0, kPhaseOptimizer);
  emit_.Open("Optimizer.step#AdamW.step", kAnnotation, 60);
  // Four passes over the parameters, bound by memory: 1.5 TB/s over weights, gradients and two moments.
  const double ms = spec_.layer_mb * Layers() / 1.5e3 / (spec_.dp_kind == DpKind::kFsdp ? spec_.dp : 1);
  const char* const names[] = {"aten::_foreach_lerp_", "aten::_foreach_mul_", "aten::_foreach_addcmul_",
                               "aten::_foreach_addcdiv_"};
  for (int i = 0; i < 4; ++i) emit_.Compute({names[i], "optimizer", ms, i});
  emit_.Close(25);
}

void StepBuilder::Finish() {
  emit_.Place(0, 0, kPhaseEnd);
  if (spec_.loss_all_reduce && job_.mesh.world() > 1) {
    emit_.Open("loss over all ranks", kAnnotation, 10);
    Wait(emit_.Collective(Coll::kAllReduce, Dim::kWorld, 4e-6, 9000), "");
    emit_.Close(4);
  }
  emit_.Place(0, 1, kPhaseEnd);
  spec_.sync ? emit_.Item(true) : emit_.ItemOfStepBefore();
  CallFunction(1);
  if (const Time stall = job_.faults.Checkpoint(rank_, step_); stall > 0) {
    emit_.OpenPython("train.py(188): save_checkpoint");
    emit_.OpenPython("torch/serialization.py(946): save");
    emit_.Hole(stall);
    emit_.ClosePython();
    emit_.ClosePython();
  }
}

void StepBuilder::Wait(int32_t handle, const char* gloo_span) {
  if (handle < 0) return;
  if (job_.gloo()) {
    emit_.HostWait(handle, gloo_span, kCpuOp);
    return;
  }
  const bool event = spec_.args != ArgsEra::kNoArgs;
  if (event) emit_.Open("record_param_comms", kParamComms, 4, job_.Detail({Coll::kBarrier, -1, 0, 0, -1, false}));
  emit_.StreamWaitHandle(kCompute, handle);
  if (event) emit_.Close(3);
}

}  // namespace headway::synth
