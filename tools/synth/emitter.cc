// SPDX-License-Identifier: Apache-2.0
#include "synth/emitter.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "synth/draws.h"

namespace headway::synth {
namespace {

// The spread seen on the two-core machine of the CPU traces is that of a crowded machine; a quarter of it is left.
constexpr double kCpuSpread = 0.25;
constexpr double kBetweenUs = 4;  // the interpreter, between two operations
constexpr double kPinnedGbs =
    24;  // PCIe 4.0 x16, as nccl-tests and bandwidthTest show; the traces hold no large copies

// Which recorded host operation gives the cost of one that is not in the table.
std::string_view Recorded(std::string_view name) {
  constexpr std::string_view kKnown[] = {"aten::linear",
                                         "aten::addmm",
                                         "aten::layer_norm",
                                         "aten::add",
                                         "aten::gelu",
                                         "aten::mm",
                                         "aten::scaled_dot_product_attention",
                                         "aten::embedding",
                                         "AddmmBackward0",
                                         "autograd::engine::evaluate_function: AddmmBackward0",
                                         "torch::autograd::AccumulateGrad",
                                         "aten::copy_",
                                         "aten::to"};
  return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown) ? name : "aten::add";
}

std::string_view RecordedCpu(std::string_view kernel_kind) {
  if (kernel_kind == "gemm" || kernel_kind == "moe_gemm" || kernel_kind == "attention") return "aten::mm";
  if (kernel_kind == "layernorm") return "aten::native_layer_norm";
  if (kernel_kind == "activation") return "aten::gelu";
  return "aten::add";
}

}  // namespace

Emitter::Emitter(Job& job, int rank, int step, Program& program)
    : job_(job), rank_(rank), step_(step), program_(program), gloo_turn_(job.mesh.groups().size(), 0) {
  const JobSpec& spec = job.spec;
  const double common = LogNormal(Key(spec.noise_seed(), 0xc0, step), spec.common_noise);
  device_scale_ = common * job.DeviceSpeed(rank) *
                  LogNormal(Key(spec.noise_seed(), 0xd0, rank, step), spec.step_noise) * job.faults.Kernel(rank, step);
  // On the CPU the computation is the host's own: a slow host slows it as well.
  host_scale_ = job.HostSpeed(rank) * LogNormal(Key(spec.noise_seed(), 0xe0, rank, step), 2 * spec.step_noise) *
                job.faults.Host(rank, step);
  if (job.gloo()) device_scale_ *= job.faults.Host(rank, step);
  per_operation_us_ = static_cast<double>(job.faults.PerOperation(rank, step)) / 1e3;
  Place(0, 0, 0);
}

uint64_t Emitter::Mix64(uint64_t x) { return Mix(x); }

void Emitter::Place(int micro_batch, int layer, int phase) {
  place_ = Key(job_.spec.noise_seed(), 0x9ace, rank_, step_, micro_batch, layer, phase);
  draws_ = 0;
}

Instr& Emitter::Push(OpCode op) {
  Instr& instr = program_.instrs.emplace_back();
  instr.op = op;
  instr.thread = thread_;
  return instr;
}

Time Emitter::HostTime(double us) const { return std::llround(us * host_scale_ * 1e3); }

double Emitter::Spread(std::string_view section, std::string_view kind) {
  return Durations::Measured().Of(section, kind).Ratio(Uniform(Draw()), job_.spec.noise);
}

Time Emitter::CallTime(std::string_view name) {
  const synth::Spread& spread = Durations::Measured().Of("call", name);
  return std::max<Time>(200, HostTime(spread.median_us * spread.Ratio(Uniform(Draw()), job_.spec.noise)));
}

void Emitter::Open(std::string_view name, Category category, double cost_us, int32_t detail) {
  Instr& instr = Push(OpCode::kOpen);
  instr.name = job_.names.Intern(name);
  instr.category = category;
  instr.duration = HostTime(cost_us);
  instr.detail = detail;
}

void Emitter::Close(double cost_us) { Push(OpCode::kClose).duration = HostTime(cost_us); }

void Emitter::OpenPython(std::string_view name, Category category) {
  if (job_.spec.stacks) {
    Open(name, category, 1.5);
  } else {
    Push(OpCode::kOpen).duration = HostTime(1.5);
  }
}

void Emitter::ClosePython() { Close(1.0); }

void Emitter::Busy(double us) { Push(OpCode::kBusy).duration = HostTime(us); }

void Emitter::Hole(Time ns) {
  if (ns > 0) Push(OpCode::kBusy).duration = ns;
}

void Emitter::Compute(const Op& op, Category category, int32_t detail) {
  Busy(kBetweenUs * (0.5 + Uniform(Draw())));
  const synth::Spread& cost = Durations::Measured().Of("host", Recorded(op.name));
  const double us = std::min(cost.median_us, 30.0) * cost.Ratio(Uniform(Draw()), job_.spec.noise) + per_operation_us_;
  Open(op.name, category, job_.gloo() ? us * 0.2 : us * 0.6, detail);
  if (job_.gloo()) {
    const double ratio = Durations::Measured()
                             .Of("cpu", RecordedCpu(op.kernel_kind))
                             .Ratio(Uniform(Draw()), job_.spec.noise * kCpuSpread);
    Hole(std::llround(op.ms * 1e6 * device_scale_ * ratio));
  } else {
    Launch(op.kernel_kind, op.shape, op.ms);
  }
  Close(job_.gloo() ? us * 0.1 : us * 0.4);
}

void Emitter::Launch(std::string_view kind, int shape, double ms) {
  const auto [first, count] = job_.ShapesOf(kind);
  const int32_t detail = first + shape % count;
  const std::string_view call = kind == "gemm" ? "cudaLaunchKernelExC" : "cudaLaunchKernel";
  const Time call_time = CallTime(call);
  Instr& instr = Push(OpCode::kIssue);
  instr.name = job_.names.Intern(call);
  instr.category = kRuntime;
  instr.stream = kCompute;
  instr.duration = call_time;
  instr.latency = call_time + 1'200;
  instr.work = static_cast<uint32_t>(program_.works.size());
  Work& work = program_.works.emplace_back();
  work.duration = std::max<Time>(900, std::llround(ms * 1e6 * device_scale_ * Spread("kernel", kind)));
  work.name = job_.names.Intern(job_.shapes[static_cast<size_t>(detail)].name);
  work.kind = kKernelWork;
  work.detail = detail;
  work.step = static_cast<uint16_t>(step_);
}

void Emitter::RuntimeCall(std::string_view name) {
  const Time call_time = CallTime(name);
  Instr& instr = Push(OpCode::kCall);
  instr.name = job_.names.Intern(name);
  instr.category = kRuntime;
  instr.duration = call_time;
}

void Emitter::CopyToDevice(double megabytes) {
  if (job_.gloo() || megabytes <= 0) return;
  const bool pageable = !job_.spec.pinned || job_.faults.Unpinned(rank_, step_);
  const double pinned_ms = megabytes / kPinnedGbs * (job_.spec.pinned ? 1 : 3);
  const double ms = pinned_ms * job_.faults.Copy(rank_, step_) * LogNormal(Draw(), 0.01 * job_.spec.noise);
  Open("aten::to", kCpuOp, 1);
  Open("aten::_to_copy", kCpuOp, 3);
  Open("aten::copy_", kCpuOp, 8);
  const Time call_time = CallTime("cudaMemcpyAsync");
  Instr& instr = Push(OpCode::kIssue);
  instr.name = job_.names.Intern("cudaMemcpyAsync");
  instr.category = kRuntime;
  instr.stream = kCompute;
  // From pageable memory the driver copies through its own buffer: the call lasts as long as the copy.
  instr.duration = pageable ? call_time + std::llround(ms * 1e6 * 0.97) : call_time;
  instr.latency = call_time;
  instr.work = static_cast<uint32_t>(program_.works.size());
  Work& work = program_.works.emplace_back();
  work.duration = std::llround(ms * 1e6);
  work.name = job_.names.Intern(pageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)");
  work.kind = kMemcpyWork;
  work.bytes = std::llround(megabytes * 1e6);
  work.step = static_cast<uint16_t>(step_);
  if (pageable) HostWaitStream(kCompute, "cudaStreamSynchronize");
  Close(1);
  Close();
  Close();
}

Instr& Emitter::CopyNumber(Time call_time, const char* name) {
  Instr& instr = Push(OpCode::kIssue);
  instr.name = job_.names.Intern("cudaMemcpyAsync");
  instr.category = kRuntime;
  instr.stream = kCompute;
  instr.duration = call_time;
  instr.latency = call_time;
  instr.work = static_cast<uint32_t>(program_.works.size());
  Work& work = program_.works.emplace_back();
  work.duration = 1'600;
  work.name = job_.names.Intern(name);
  work.kind = kMemcpyWork;
  work.bytes = 4;
  work.step = static_cast<uint16_t>(step_);
  return instr;
}

void Emitter::Item(bool noisy) {
  const auto us = [&](double median) { return noisy ? median * LogNormal(Draw(), 0.1 * job_.spec.noise) : median; };
  Open("aten::item", kCpuOp, us(1.5));
  Open("aten::_local_scalar_dense", kCpuOp, us(4));
  if (!job_.gloo()) {
    CopyNumber(HostTime(us(9)), "Memcpy DtoH (Device -> Pageable)");
    HostWaitStream(kCompute, "cudaStreamSynchronize");
  }
  Close(us(1));
  Close(us(0.5));
}

void Emitter::ItemOfStepBefore() {
  if (job_.gloo()) return;
  Open("aten::copy_", kCpuOp, 6);
  CopyNumber(CallTime("cudaMemcpyAsync"), "Memcpy DtoH (Device -> Pinned)").handle = kMaxHandles - 1 - step_ % 2;
  Close(3);
  if (step_ > 0) HostWait(kMaxHandles - 1 - (step_ + 1) % 2, "cudaEventSynchronize", kRuntime);
}

void Emitter::StreamWait(uint8_t stream, uint8_t other) {
  const Time call_time = CallTime("cudaStreamWaitEvent");
  Instr& instr = Push(OpCode::kDepend);
  instr.name = job_.names.Intern("cudaStreamWaitEvent");
  instr.category = kRuntime;
  instr.duration = call_time;
  instr.stream = stream;
  instr.other = other;
}

void Emitter::StreamWaitHandle(uint8_t stream, int32_t handle) {
  if (handle < 0) return;
  StreamWait(stream, stream);
  program_.instrs.back().handle = handle;
}

void Emitter::HostWait(int32_t handle, std::string_view name, Category category) {
  if (handle < 0) return;
  Instr& instr = Push(OpCode::kHostWait);
  instr.handle = handle;
  instr.name = name.empty() ? kNoName : job_.names.Intern(name);
  instr.category = category;
  instr.duration = HostTime(4);
  instr.latency = 15'000;  // the waiting thread wakes up
}

void Emitter::HostWaitStream(uint8_t stream, std::string_view name) {
  Instr& instr = Push(OpCode::kHostWait);
  instr.stream = stream;
  instr.name = job_.names.Intern(name);
  instr.category = kRuntime;
  instr.duration = HostTime(5);
  instr.latency = 4'000;
}

void Emitter::Mark() { Push(OpCode::kMark).handle = step_; }

}  // namespace headway::synth
