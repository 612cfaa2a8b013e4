// SPDX-License-Identifier: Apache-2.0
#include "trace/event.h"

namespace headway::trace {

const char* ToString(EventKind kind) {
  switch (kind) {
    case EventKind::kKernel: return "kernel";
    case EventKind::kCommKernel: return "comm-kernel";
    case EventKind::kMemcpy: return "memcpy";
    case EventKind::kMemset: return "memset";
    case EventKind::kDeviceAnnotation: return "device-annotation";
    case EventKind::kDeviceSync: return "device-sync";
    case EventKind::kRuntime: return "runtime";
    case EventKind::kRuntimeSync: return "runtime-sync";
    case EventKind::kCpuOp: return "cpu-op";
    case EventKind::kPython: return "python";
    case EventKind::kAnnotation: return "annotation";
    case EventKind::kStep: return "step";
    case EventKind::kCommIssue: return "comm-issue";
    case EventKind::kCommHost: return "comm-host";
    case EventKind::kCommWait: return "comm-wait";
    case EventKind::kDataLoader: return "data-loader";
    case EventKind::kOptimizer: return "optimizer";
    case EventKind::kOverhead: return "overhead";
    case EventKind::kInstant: return "instant";
    case EventKind::kOther: return "other";
  }
  return "other";
}

const char* ToString(CommOp op) {
  switch (op) {
    case CommOp::kUnknown: return "unknown";
    case CommOp::kAllReduce: return "all-reduce";
    case CommOp::kAllGather: return "all-gather";
    case CommOp::kReduceScatter: return "reduce-scatter";
    case CommOp::kBroadcast: return "broadcast";
    case CommOp::kReduce: return "reduce";
    case CommOp::kAllToAll: return "all-to-all";
    case CommOp::kGather: return "gather";
    case CommOp::kScatter: return "scatter";
    case CommOp::kBarrier: return "barrier";
    case CommOp::kSend: return "send";
    case CommOp::kRecv: return "recv";
    case CommOp::kSendRecv: return "send-recv";
    case CommOp::kCoalesced: return "coalesced";
  }
  return "unknown";
}

}  // namespace headway::trace
