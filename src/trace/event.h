// SPDX-License-Identifier: Apache-2.0
// The common row every trace reader produces: one interval (or instant) on one lane of one rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/string_pool.h"
#include "base/units.h"

namespace headway::trace {

using NameId = StringPool::Id;
using LaneId = uint16_t;  // index into RankMeta::lanes

// What a row is. Decided by the reader from the category and the name rules (trace/name_rules.h).
enum class EventKind : uint8_t {
  // On a device stream.
  kKernel,      // compute kernel
  kCommKernel,  // communication kernel (NCCL, RCCL, HCCL, oneCCL, symmetric memory, …)
  kMemcpy,
  kMemset,
  kDeviceAnnotation,  // gpu_user_annotation: never counted as work
  kDeviceSync,        // cuda_sync rows: a stream, event or context wait as the driver saw it
  // On a host thread.
  kRuntime,      // launch, allocation, query … of CUDA, HIP, XPU, MTIA
  kRuntimeSync,  // a runtime call that waits for the device (…Synchronize, blocking copies)
  kCpuOp,        // framework operator
  kPython,       // Python frame
  kAnnotation,   // user_annotation that is not one of the kinds below
  kStep,         // ProfilerStep#N
  kCommIssue,    // host call that enqueues a collective or p2p (c10d::allreduce_, record_param_comms, nccl:* ranges)
  kCommHost,     // host-side execution of a collective or p2p (gloo:*): the work itself
  kCommWait,     // host call that only waits for communication (wait_tensor, Work.wait)
  kDataLoader,   // fetching the next batch (enumerate(DataLoader)#…)
  kOptimizer,    // Optimizer.step#…
  kOverhead,     // the profiler's own cost
  kInstant,      // no duration; [memory], Iteration Start, …
  kOther,        // kept for coverage counts only
};

// Bits of Event::flags.
inline constexpr uint8_t kFlagGraphNode = 1;      // kernel launched by a graph: shares its launch's correlation
inline constexpr uint8_t kFlagPageable = 2;       // copy from or to pageable host memory
inline constexpr uint8_t kFlagClamped = 4;        // time repaired (negative, overflowed or unparsable duration)
inline constexpr uint8_t kFlagUnfinished = 8;     // no duration in the file
inline constexpr uint8_t kFlagContainer = 16;     // a span whose own self time is not work (name rules: containers)
inline constexpr uint8_t kFlagGraphLaunch = 32;   // runtime call that launches a graph (many kernels, one correlation)
inline constexpr uint8_t kFlagUnknownName = 128;  // on a device, and no rule of the name file recognised it

// 40 bytes; a file of any size passes through the sorter in this form.
struct Event {
  Nanos start = 0;        // ns since RankMeta::time_base: add it (known only once the file was read) for Unix ns
  Nanos duration = 0;     // >= 0
  uint32_t sequence = 0;  // position in the file: the last tie-breaker, so that order never depends on buffering
  NameId name = 0;
  uint32_t correlation = 0;  // launch <-> device row; 0 = none
  uint32_t detail = 0;       // 1 + index into the side table that `kind` implies (EventSink::On…Detail); 0 = none
  LaneId lane = 0;
  EventKind kind = EventKind::kOther;
  uint8_t flags = 0;

  [[nodiscard]] Nanos end() const { return start + duration; }
};

// Order of the fold: by start; at equal start the longer (outer) first; then file order.
[[nodiscard]] inline bool Before(const Event& a, const Event& b) {
  if (a.start != b.start) return a.start < b.start;
  if (a.duration != b.duration) return a.duration > b.duration;
  return a.sequence < b.sequence;
}

[[nodiscard]] const char* ToString(EventKind kind);  // "kernel", "comm-kernel", …

[[nodiscard]] constexpr bool IsDeviceWork(EventKind k) {
  return k == EventKind::kKernel || k == EventKind::kCommKernel || k == EventKind::kMemcpy || k == EventKind::kMemset;
}

enum class CommOp : uint8_t {
  kUnknown,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kSend,
  kRecv,
  kSendRecv,
  kCoalesced,
};
[[nodiscard]] const char* ToString(CommOp op);  // "all-reduce", …

// What a file says about one collective or p2p row (kCommKernel, kCommHost, kCommIssue). Unknown = -1 / 0 / empty.
struct CommDetail {
  CommOp op = CommOp::kUnknown;
  NameId pg_name = 0;    // process group name as written ("0", "11"); local meaning only
  NameId pg_desc = 0;    // "default_pg", "mesh_tp", …
  NameId pg_ranks = 0;   // the rank list as text, possibly cut ("[0, 1, ...]")
  NameId algorithm = 0;  // "RING_LL", from the kernel's name
  int32_t group_size = -1;
  int32_t peer = -1;  // p2p: the other rank, within the group as written
  int64_t seq = -1;   // per-group sequence number, where written
  Bytes bytes = -1;   // payload: max(in, out) elements x element size
};

struct CopyDetail {
  Bytes bytes = -1;
  NameId memory_kind = 0;  // "HtoD Pageable", …
};

struct KernelDetail {
  float occupancy = -1;  // achieved, estimated by the profiler, 0..1
  NameId geometry = 0;   // "gx_gy_gz|bx_by_bz"
  int32_t graph_node = -1;
};

struct Lane {
  bool is_device = false;
  int32_t device = -1;  // device index for device lanes
  int64_t pid = -1;
  int64_t tid = -1;  // thread id, or stream number for device lanes
  std::string name;  // most specific thread name seen ("pt_gloo_runloop"), "stream 7"
};

struct ProcessGroup {
  std::string name;  // "0", "11": local meaning only
  std::string desc;  // "default_pg", "mesh_dp"
  std::string backend;
  std::vector<RankId> ranks;  // empty = unknown
};

// Facts about one rank's file, outside its rows.
struct RankMeta {
  RankId rank = -1;
  std::string rank_source;  // "content", "file name", "--rank-map", "environment", "assumed": said under data quality
  int32_t world_size = -1;
  std::string host;      // empty = unknown
  std::string backend;   // of distributedInfo
  std::string source;    // the file as the user named it; inside an archive "a.zip:rank0.json"
  std::string trace_id;  // equal over ranks of one capture where the profiler writes it
  std::vector<ProcessGroup> groups;
  std::vector<Lane> lanes;
  std::vector<std::string> devices;                           // model names
  std::vector<std::pair<std::string, std::string>> versions;  // {"cuda_runtime_version","12010"}, sorted by key
  std::vector<std::string> profiler_messages;                 // INFO / WARNING / ERROR lines (bounded)
  bool with_stack = false;
  bool record_shapes = false;
  Nanos time_resolution = 1;  // 1 = ns, 1000 = whole microseconds
  Nanos time_base = 0;        // Unix ns of Event::start 0 (baseTimeNanoseconds); rows may come before it in the file
  std::vector<std::pair<std::string, int64_t>> categories;  // rows by category as written, sorted by name
};

}  // namespace headway::trace
