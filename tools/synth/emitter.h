// SPDX-License-Identifier: Apache-2.0
// Writes the instructions of one rank's step, with the names and durations real traces have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "synth/durations.h"
#include "synth/engine.h"
#include "synth/fault_plan.h"
#include "synth/mesh.h"
#include "synth/network.h"
#include "synth/spec.h"

namespace headway::synth {

// Categories of spans. The first three are all written as "cpu_op".
enum Category : uint8_t {
  kCpuOp,
  kForwardOp,  // detail = sequence number that its backward operation repeats
  kBackwardOp,
  kParamComms,  // record_param_comms
  kAnnotation,
  kPython,
  kPythonModule,
  kRuntime,
  kDriver,
};
// Kinds of items.
enum WorkKind : uint16_t { kKernelWork, kMemcpyWork, kMemsetWork, kCollectiveWork };
// Host threads.
enum HostThread : uint8_t { kMainThread, kAutogradThread };
// Streams with NCCL; a gloo work thread is a stream too (two per group).
enum StreamIndex : uint8_t {
  kCompute,
  kFirstCommStream,
  kSendForward = 16,
  kRecvForward,
  kSendBackward,
  kRecvBackward
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class NamePool {
 public:
  uint32_t Intern(std::string_view name);
  const std::string& At(uint32_t id) const { return names_[id]; }
  size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> ids_;
};

// What a collective's events say about it.
struct CollectiveDetail {
  Coll op = Coll::kAllReduce;
  int group = 0;
  int64_t in_elements = 0, out_elements = 0;
  int peer = -1;     // of a send or receive: the other global rank
  bool half = true;  // bf16 elements, else float
  bool operator==(const CollectiveDetail&) const = default;
};

struct CopyDetail {
  int64_t bytes = 0;
};

// All that the ranks of a job share.
struct Job {
  explicit Job(JobSpec job_spec);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  JobSpec spec;
  Mesh mesh;
  FaultPlan faults;
  NamePool names;
  std::vector<CollectiveDetail> details;
  std::vector<KernelShape> shapes;  // by Work::detail of a kernel
  std::vector<std::vector<int>> channels;
  std::vector<int> channel_group;    // process group of each channel
  std::vector<int> forward_channel;  // by sending rank; -1: none
  std::vector<int> backward_channel;

  bool gloo() const { return spec.backend == Backend::kGloo; }
  int32_t Detail(const CollectiveDetail& detail);
  // First shape of a kind of kernel and how many there are.
  std::pair<int, int> ShapesOf(std::string_view kind);
  // Constant factors of devices and host processors.
  double DeviceSpeed(int rank) const;
  double HostSpeed(int rank) const;

 private:
  std::unordered_map<std::string, std::pair<int, int>, TextHash, std::equal_to<>> shape_ranges_;
};

class Emitter {
 public:
  Emitter(Job& job, int rank, int step, Program& program);

  Job& job() { return job_; }
  int rank() const { return rank_; }
  int step() const { return step_; }

  // Names the place in the step for the noise: draws made at the same place are the same with and without a fault.
  void Place(int micro_batch, int layer, int phase);

  void SetThread(HostThread thread) { thread_ = thread; }
  void Open(std::string_view name, Category category, double cost_us = 0, int32_t detail = kNone);
  void Close(double cost_us = 0);
  // Opens a python_function; nothing without stacks.
  void OpenPython(std::string_view name, Category category = kPython);
  void ClosePython();
  // Host time in us of the healthy job: scaled by the host's speed and faults.
  void Busy(double us);
  // Host time in ns, as it is.
  void Hole(Time ns);

  // An operation of the framework: a span with its own cost; on the device side its kernel.
  struct Op {
    const char* name;         // "aten::addmm"
    const char* kernel_kind;  // "gemm"
    double ms;                // of the kernel (gloo: of the operation)
    int shape = 0;            // which of the kind's recorded launches
  };
  // Emits the operation inside a span of its own; detail: see Category.
  void Compute(const Op& op, Category category = kCpuOp, int32_t detail = kNone);
  // A kernel alone, from the span now open.
  void Launch(std::string_view kind, int shape, double ms);
  // Copies the batch to the device.
  void CopyToDevice(double megabytes);
  // The host reads a number from the device (.item()); gloo: nothing to wait for.
  void Item(bool noisy);
  // The host reads the number that the step before left: it runs at most one step ahead of the device.
  void ItemOfStepBefore();
  void RuntimeCall(std::string_view name);
  // `stream` waits for the last item of `other`, or for an item by handle.
  void StreamWait(uint8_t stream, uint8_t other);
  void StreamWaitHandle(uint8_t stream, int32_t handle);
  // The host waits for a handle; `name` empty: no event.
  void HostWait(int32_t handle, std::string_view name, Category category);
  void HostWaitStream(uint8_t stream, std::string_view name);
  void Mark();

  // Starts a collective on the group of `dim`; returns the handle to wait for, kNone where the group has one rank.
  // megabytes: the whole buffer (all-gather: the gathered one).
  int32_t Collective(Coll op, Dim dim, double megabytes, int place);
  // Starts a send or receive along the pipeline.
  int32_t PeerToPeer(bool send, bool forward, double megabytes);

  uint8_t StreamOfGroup(int group) const;
  double DeviceScale() const { return device_scale_; }

 private:
  Instr& Push(OpCode op);
  // A copy of a number to the host, issued from the span now open.
  Instr& CopyNumber(Time call_time, const char* name);
  uint64_t Draw() { return Mix64(place_ + draws_++); }
  static uint64_t Mix64(uint64_t x);
  Time HostTime(double us) const;
  double Spread(std::string_view section, std::string_view kind);
  Time CallTime(std::string_view name);
  int32_t NextHandle() { return handle_++; }
  int32_t IssueNccl(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint8_t stream, uint64_t key);
  int32_t IssueGloo(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint8_t stream, uint64_t key);
  Work CollectiveWork(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint64_t key);

  Job& job_;
  int rank_, step_;
  Program& program_;
  HostThread thread_ = kMainThread;
  uint64_t place_ = 0, draws_ = 0;
  double device_scale_, host_scale_;
  double per_operation_us_;
  int32_t handle_ = 0;
  std::vector<int> gloo_turn_;  // per group: which of its two threads is next
};

}  // namespace headway::synth
