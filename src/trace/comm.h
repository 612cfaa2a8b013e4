// SPDX-License-Identifier: Apache-2.0
// Communication of a job across its ranks: what each rank saw (RankComms), and what they did together (JobComms).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "trace/event.h"

namespace headway::trace {

// One execution of a collective or p2p operation as one rank saw it: a communication kernel on a device, or the work of
// a host backend. Times are Unix ns on this rank's own (unaligned) clock, whole multiples of kCommTick from the start
// of the rank's first step on.
inline constexpr Nanos kCommTick = 250;

struct CommInstance {
  Nanos start = 0;  // arrival: the device kernel's or host work's start
  Nanos end = 0;
  // Exposed time attributed to this instance: nothing of a higher class ran on the rank. It lies between
  // exposed_begin and exposed_end (both within [some time <= start, end]); exposed <= exposed_end - exposed_begin.
  Nanos exposed = 0;
  Nanos exposed_begin = 0;
  Nanos exposed_end = 0;
  Bytes bytes = -1;         // payload, -1 = not written
  int64_t seq = -1;         // per-group sequence number, -1 = not written
  int32_t local_group = 0;  // index into RankComms::groups
  int32_t step = -1;        // index into RankComms::step_numbers of the step it started in, -1 = outside
  int32_t peer = -1;        // p2p: the other side as written (rank within the group, or global); -1 = not written
  CommOp op = CommOp::kUnknown;
  bool chained = false;  // started only because the one before it on the same stream or thread ended
};

// What one rank knows about "a group": a named process group, or merely a lane (a runloop thread, a stream, the main
// thread of blocking sends) whose group has to be inferred from all ranks.
struct LocalGroup {
  std::string name;  // pg_name, empty = only a lane is known
  std::string desc;
  std::vector<RankId> ranks;  // empty = unknown
  int32_t size = -1;          // as written; above ranks.size() where the list was cut ("[0, 1, ...]")
  LaneId lane = 0;            // lane of an inferred group
  int64_t lane_tid = -1;      // its thread id or stream number (threads of a group are created one after the other)
  bool is_device = false;
  bool is_p2p = false;  // blocking send/recv on a host thread
};

struct RankComms {
  RankId rank = -1;
  std::string host;  // empty where the file names none: each such rank counts as a host of its own
  bool host_known = false;
  std::vector<ProcessGroup> declared;  // from the file's metadata (distributedInfo.pg_config, groups metadata)
  std::vector<LocalGroup> groups;
  std::vector<int64_t> runloop_tids;    // all communication threads seen, with or without events, ascending
  std::vector<int64_t> step_numbers;    // ProfilerStep#N, or 0,1,2,… where inferred
  std::vector<Nanos> step_starts;       // parallel; own clock
  std::vector<CommInstance> instances;  // by start
};

// A process group of the job.
struct JobGroup {
  std::vector<RankId> ranks;  // sorted global ranks; those of missing files included when known
  std::string desc;           // "mesh_dp", "default_pg", "" ; of the members' files, the most specific
  std::string name;           // "0", only when all members agree
  bool inferred = false;      // no event or metadata named it: found from threads, kinds, sizes and counts
  bool is_p2p = false;        // point-to-point traffic between exactly these ranks
};

struct CollectiveMember {
  int32_t rank_index = -1;  // index into the span of RankComms
  int32_t instance = -1;    // index into its instances
};

// One operation the members did together; CollectiveKey = (group, ordinal) [+ op as the consistency check].
struct Collective {
  int32_t group = -1;            // index into JobComms::groups
  int64_t ordinal = -1;          // 0-based in its group, over the window
  CommOp op = CommOp::kUnknown;  // p2p pairs: kSendRecv
  Bytes bytes = -1;
  int64_t step = -1;                      // step number of the majority of its members; -1 = outside
  std::vector<CollectiveMember> members;  // by rank; at least two; only ranks with a file
};

// One clock per host: aligned = own + offset + drift * (own - reference).
struct HostClock {
  std::string host;
  Nanos offset = 0;
  double drift = 0;     // ns per ns (100 ppm = 1e-4); 0 where the window is too short to tell
  Nanos reference = 0;  // own-clock time the drift counts from
  Nanos residual = 0;   // half width of what remains: orders of ends below it are no evidence
  int64_t pairs = 0;    // collectives it rests on
  // Index of the clock its offset counts from: clocks with equal ones are aligned to one another. Its own where it met
  // no other clock.
  int32_t root = 0;
};

struct JobComms {
  std::vector<JobGroup> groups;         // sorted by (ranks, desc, p2p)
  std::vector<Collective> collectives;  // sorted by (step, latest aligned arrival, group, ordinal)
  std::vector<HostClock> clocks;        // sorted by host; the host of the lowest rank is the reference (offset 0)
  std::vector<int32_t> clock_of_rank;   // rank index -> clock index
  int64_t unmatched_instances = 0;      // rows that could not be paired
  int64_t inconsistent = 0;             // paired by order but op or size disagrees: left out
  std::vector<int32_t> strangers;       // rank indices: three in four of their operations, or more, met nobody
  std::vector<std::string> notes;       // sentences for data quality ("groups inferred from threads: …")
};

[[nodiscard]] inline Nanos Align(const HostClock& clock, Nanos own) {
  return own + clock.offset + static_cast<Nanos>(clock.drift * static_cast<double>(own - clock.reference));
}

// Resolves groups, pairs operations and aligns clocks. `ranks` sorted by rank, one entry a rank with a file. A rank
// without communication is fine. O(n log n) in the number of instances; the answer does not depend on `threads` (0 = as
// many as the process may use) nor on the order of `ranks` (indices apart).
[[nodiscard]] JobComms JoinComms(const std::vector<RankComms>& ranks, int world_size, int threads = 0);

}  // namespace headway::trace
