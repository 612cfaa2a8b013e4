// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "synth/draws.h"
#include "synth/emitter.h"

namespace headway::synth {
namespace {

constexpr double kCpuSpreadOfCalls = 0.05;  // most of the recorded spread of these calls is a crowded machine
constexpr double kGlooWakeMicros = 40;      // from the issue to the start on the work thread, as in cpu_mesh

struct OpNames {
  const char* c10d;  // the framework's operation
  const char* nccl;  // annotation
  const char* gloo;  // annotation on the work thread
};

// gloo has no reduce-scatter: it is an all-reduce and a copy.
OpNames NamesOf(Coll op) {
  switch (op) {
    case Coll::kAllReduce: return {"c10d::allreduce_", "nccl:all_reduce", "gloo:all_reduce"};
    case Coll::kAllGather: return {"c10d::_allgather_base_", "nccl:_all_gather_base", "gloo:all_gather"};
    case Coll::kReduceScatter: return {"c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base", "gloo:all_reduce"};
    case Coll::kAllToAll: return {"c10d::alltoall_base_", "nccl:all_to_all", "gloo:all_to_all"};
    case Coll::kBroadcast: return {"c10d::broadcast_", "nccl:broadcast", "gloo:broadcast"};
    case Coll::kBarrier: return {"c10d::barrier", "nccl:all_reduce_barrier", "gloo:barrier"};
    case Coll::kSend: return {"c10d::send", "nccl:send", "gloo:send"};
    case Coll::kRecv: return {"c10d::recv_", "nccl:recv", "gloo:recv"};
  }
  return {};
}

std::string KernelName(Coll op, bool half, bool old) {
  const std::string type = old ? (half ? "bf16" : "float") : (half ? "bf16" : "f32");
  const char* args = old ? "(ncclDevComm*, unsigned long, ncclWork*)" : "(ncclDevKernelArgsStorage<4096ul>)";
  const auto name = [&](const char* coll, bool reduces) {
    if (old) return std::string("ncclKernel_") + coll + "_RING_LL_Sum_" + (reduces ? type : "int8_t") + args;
    return std::string("ncclDevKernel_") + coll + (reduces ? "_Sum_" + type : "") + "_RING_LL" + args;
  };
  switch (op) {
    case Coll::kAllReduce:
    case Coll::kBarrier: return name("AllReduce", true);
    case Coll::kAllGather: return name("AllGather", false);
    case Coll::kReduceScatter: return name("ReduceScatter", true);
    case Coll::kBroadcast: return name("Broadcast", false);
    default:
      return old ? std::string("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t") + args
                 : std::string("ncclDevKernel_SendRecv") + args;
  }
}

}  // namespace

uint8_t Emitter::StreamOfGroup(int group) const {
  const int dim = static_cast<int>(job_.mesh.groups()[static_cast<size_t>(group)].dim);
  return static_cast<uint8_t>(kFirstCommStream + (job_.gloo() ? 2 * dim : dim));
}

int32_t Emitter::Collective(Coll op, Dim dim, double megabytes, int place) {
  const int group = job_.mesh.GroupOf(rank_, dim);
  if (group < 0) return kNone;
  const std::vector<int>& ranks = job_.mesh.groups()[static_cast<size_t>(group)].ranks;
  if (ranks.size() < 2) return kNone;
  const bool half = !job_.gloo() && op != Coll::kBarrier && megabytes > 0.001;
  const int64_t width = half ? 2 : 4;
  const auto n = static_cast<int64_t>(ranks.size());
  const int64_t elements = std::max<int64_t>(1, std::llround(megabytes * 1e6 / static_cast<double>(width * n))) *
                           (megabytes * 1e6 > static_cast<double>(width) ? n : 1);
  CollectiveDetail detail{op, group, elements, elements, -1, half};
  if (op == Coll::kAllGather) detail.in_elements = elements / n;
  if (op == Coll::kReduceScatter) detail.out_elements = elements / n;
  // The noise of a transfer belongs to the instance: all members name it alike.
  const uint64_t key = Key(job_.spec.noise_seed(), 0xc011, group, step_, place);
  const uint8_t stream = StreamOfGroup(group);
  if (!job_.gloo()) return IssueNccl(op, group, detail, elements * width, stream, key);
  const int turn = gloo_turn_[static_cast<size_t>(group)]++ % 2;
  return IssueGloo(op, group, detail, elements * width, static_cast<uint8_t>(stream + turn), key);
}

int32_t Emitter::PeerToPeer(bool send, bool forward, double megabytes) {
  const Coordinate at = job_.mesh.At(rank_);
  const int peer_stage = at.pp + (send == forward ? 1 : -1);
  HEADWAY_CHECK(peer_stage >= 0 && peer_stage < job_.spec.pp);
  const int peer = job_.mesh.RankAt(peer_stage, at.dp, at.tp);
  const int sender = send ? rank_ : peer;
  const int channel = (forward ? job_.forward_channel : job_.backward_channel)[static_cast<size_t>(sender)];
  const Coll op = send ? Coll::kSend : Coll::kRecv;
  const bool half = !job_.gloo();
  const int64_t bytes = std::llround(megabytes * 1e6);
  const int64_t elements = bytes / (half ? 2 : 4);
  const CollectiveDetail detail{op, job_.mesh.GroupOf(rank_, Dim::kPp), elements, elements, peer, half};
  const auto stream =
      static_cast<uint8_t>(forward ? (send ? kSendForward : kRecvForward) : (send ? kSendBackward : kRecvBackward));
  const uint64_t key = Key(job_.spec.noise_seed(), 0x929, channel, step_);
  return job_.gloo() ? IssueGloo(op, channel, detail, bytes, stream, key)
                     : IssueNccl(op, channel, detail, bytes, stream, key);
}

Work Emitter::CollectiveWork(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint64_t key) {
  Work work;
  work.channel = channel;
  work.bytes = bytes;
  work.key = key;
  work.kind = kCollectiveWork;
  work.step = static_cast<uint16_t>(step_);
  work.detail = job_.Detail(detail);
  work.name = job_.names.Intern(job_.gloo() ? NamesOf(op).gloo
                                            : KernelName(op, detail.half, job_.spec.args == ArgsEra::kNoArgs));
  return work;
}

int32_t Emitter::IssueNccl(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint8_t stream,
                           uint64_t key) {
  const OpNames names = NamesOf(op);
  const Durations& measured = Durations::Measured();
  const auto cost = [&](const char* name) { return measured.Of("host", name).median_us * Spread("host", name); };
  Open(names.c10d, kCpuOp, cost("c10d::allreduce_"));
  const double comms = cost("record_param_comms");
  Open("record_param_comms", kParamComms, comms * 0.3, job_.Detail(detail));
  RuntimeCall("cudaStreamIsCapturing");
  RuntimeCall("cudaEventRecord");
  StreamWait(stream, kCompute);  // the communication starts when what the rank computed so far is there
  const double body = cost("nccl:all_reduce");
  Open(names.nccl, kAnnotation, body * 0.4);
  const Time call_time = CallTime("cudaLaunchKernelExC");
  Instr& instr = Push(OpCode::kIssue);
  instr.name = job_.names.Intern("cudaLaunchKernelExC");
  instr.category = kRuntime;
  instr.stream = stream;
  instr.duration = call_time;
  instr.latency = call_time + 1'500;
  const int32_t handle = NextHandle();
  instr.handle = handle;
  instr.work = static_cast<uint32_t>(program_.works.size());
  program_.works.push_back(CollectiveWork(op, channel, detail, bytes, key));
  Close(body * 0.3);
  RuntimeCall("cudaEventRecord");
  Close(comms * 0.5);
  Close(2);
  return handle;
}

int32_t Emitter::IssueGloo(Coll op, int channel, const CollectiveDetail& detail, int64_t bytes, uint8_t stream,
                           uint64_t key) {
  const char* name = NamesOf(op).c10d;
  const bool peer = op == Coll::kSend || op == Coll::kRecv;
  const std::string_view recorded = peer ? "c10d::send" : "c10d::allreduce_";
  const double us =
      Durations::Measured().Of("cpu", recorded).median_us *
      Durations::Measured().Of("cpu", recorded).Ratio(Uniform(Draw()), job_.spec.noise * kCpuSpreadOfCalls);
  Open(name, kCpuOp, us * 0.7, job_.Detail(detail));
  Instr& instr = Push(OpCode::kIssue);
  instr.stream = stream;
  instr.latency = peer ? 0 : std::llround(kGlooWakeMicros * 1e3 * LogNormal(Draw(), 0.2 * job_.spec.noise));
  const int32_t handle = NextHandle();
  instr.handle = handle;
  instr.work = static_cast<uint32_t>(program_.works.size());
  Work work = CollectiveWork(op, channel, detail, bytes, key);
  work.shown_until_wait = peer;
  program_.works.push_back(work);
  Close(us * 0.3);
  return handle;
}

}  // namespace headway::synth
