// SPDX-License-Identifier: Apache-2.0
// The simulated machine: per rank one flow of host control and any number of streams that work off items in order.
//
// A program is a list of instructions per rank. The host runs ahead of the streams: issuing costs it only the call.
// An item of a stream starts when the item before it on the stream has ended, its issue has reached the stream and all
// items it depends on have ended. An item with a channel is one rank's part of a collective (or of a send and its
// receive): the n-th item of every member of the channel form one instance, which ends as Transfer says once the last
// member has started. Times follow from one another by sums and maxima only, so no event queue is needed and the
// result does not depend on the order in which ranks are worked off.
//
// Cost: O(instructions + members of all instances + dependencies). Times are ns since the start of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headway::synth {

using Time = int64_t;

enum class OpCode : uint8_t {
  kOpen,      // opens a span of the host thread, then spends `duration`
  kClose,     // spends `duration`, then closes the innermost open span
  kBusy,      // spends `duration`
  kCall,      // a span without children that lasts `duration`
  kIssue,     // kCall that puts an item on `stream`; it can start `latency` after the call began
  kDepend,    // kCall; the next item on `stream` also waits for `handle`, or for the last item of `other`
  kHostWait,  // a span that ends when `handle`, or the last item of `stream`, has ended, and lasts >= `duration`
  kMark,      // notes that step `handle` ends here
};

inline constexpr uint32_t kNoName = UINT32_MAX;  // no span is recorded
inline constexpr int32_t kNone = -1;

// What an item does once it is on its stream.
struct Work {
  Time duration = 0;  // of an item without a channel
  int32_t channel = kNone;
  int64_t bytes = 0;  // of a collective: this rank's buffer
  uint64_t key = 0;   // names the draw of its noise
  uint32_t name = kNoName;
  uint16_t kind = 0;  // for the writer: which arguments the event carries
  uint16_t step = 0;
  int32_t detail = 0;             // for the writer: a shape, a size
  bool shown_until_wait = false;  // its event ends when the host has waited for it (gloo:send)
};

struct Instr {
  OpCode op = OpCode::kBusy;
  uint8_t category = 0;  // of the span, for the writer
  uint8_t thread = 0;
  uint8_t stream = 0;
  uint8_t other = 0;
  uint32_t name = kNoName;
  int32_t handle = kNone;  // < kMaxHandles; an issue stores its item there
  Time duration = 0;
  Time latency = 0;
  uint32_t work = 0;       // index into Program::works
  int32_t detail = kNone;  // for the writer: which arguments the span carries
};

inline constexpr int kMaxHandles = 1 << 14;

struct Program {
  std::vector<Instr> instrs;
  std::vector<Work> works;
  void Clear() {
    instrs.clear();
    works.clear();
  }
};

struct Span {
  Time begin = 0, end = 0;
  uint32_t name = kNoName;
  uint8_t category = 0;
  uint8_t thread = 0;
  int32_t detail = kNone;  // as in the instruction
  int32_t item = kNone;    // the item this call issued
  int32_t parent = kNone;  // index of the enclosing span
};

struct Item {
  Time ready = 0, start = kUnknown, end = kUnknown, shown_end = 0;
  Work work;
  uint8_t stream = 0;
  int32_t span = kNone;       // the call that issued it
  int32_t instance = kNone;   // of its channel, counted per channel
  Time last_start = 0;        // of an item with a channel: when the last member started,
  int32_t last_rank = kNone;  // and which rank that was (the lowest one if several)
  uint32_t dep_begin = 0, dep_count = 0;
  static constexpr Time kUnknown = INT64_MIN;
  bool done() const { return end != kUnknown; }
};

struct StepMark {
  int step = 0;
  Time host_end = 0;
  size_t items = 0;      // issued so far
  size_t spans = 0;      // begun so far
  Time host_work = 0;    // what the host spent on its own since the mark before: no waits
  Time device_work = 0;  // durations of the items without a channel issued since then
};

// What happened on one rank. Spans are in order of their begin.
struct RankRecord {
  std::vector<Span> spans;
  std::vector<Item> items;
  std::vector<StepMark> marks;
};

// One collective whose members have all started.
struct Instance {
  int32_t channel = 0;
  int32_t number = 0;  // 0-based, per channel
  int64_t bytes = 0;   // the largest of the members' buffers
  uint64_t key = 0;    // of its first member
  uint16_t step = 0;
  int32_t detail = 0;            // of its first member
  std::span<const Time> starts;  // per member, in the channel's order
};

// Fills `ends` (one per member) with the times at which the members' parts end; each >= its member's start.
using Transfer = std::function<void(const Instance&, std::span<Time> ends)>;

// Fills the program of the rank's next step; false when the rank is done.
using NextStep = std::function<bool(int rank, Program&)>;

class Engine {
 public:
  // channels: the member ranks of each. max_pending: how many items a stream holds before issuing blocks the host
  // (CUDA holds 1024 launches).
  Engine(int ranks, std::vector<std::vector<int>> channels, Transfer transfer, int max_pending = 1024);

  // Runs all programs to their end. A program in which ranks wait for one another in a circle is a bug (CHECK).
  std::vector<RankRecord> Run(const NextStep& next_step);

 private:
  struct Stream {
    std::vector<int32_t> items;
    size_t done = 0;
    Time free_at = 0;
    bool head_started = false;
    std::vector<int32_t> pending_deps;
  };
  struct Rank {
    Program program;
    size_t pc = 0;
    bool finished = false;
    Time now = 0;
    Time host_work = 0, device_work = 0;  // since the last mark
    // Span stack: the span's index, or -2 - p for an open without a name whose nearest named ancestor is p.
    std::vector<int32_t> open;
    std::vector<Stream> streams;
    std::vector<int32_t> handles;
    std::vector<int32_t> deps;
    std::vector<int32_t> issued_on_channel;
    RankRecord record;
  };
  struct Open {  // an instance some members have not reached
    int arrived = 0;
    std::vector<int32_t> items;  // per member
  };
  struct Channel {
    std::vector<int> members;
    std::vector<Open> instances;
  };

  void RunHost(int r, const NextStep& next_step);
  bool Execute(int r, const Instr& instr);  // false: blocked, try again later
  bool Issue(Rank& rank, const Instr& instr);
  void Depend(Rank& rank, const Instr& instr);
  bool HostWait(Rank& rank, const Instr& instr);
  void OpenSpan(Rank& rank, const Instr& instr);
  static int32_t Innermost(const Rank& rank);  // open span with a name; kNone without
  int32_t Leaf(Rank& rank, const Instr& instr, Time end);
  void Advance(int r);
  bool StartHead(int r, Stream& stream);  // true: the head of the stream has ended
  void Arrive(int r, int32_t item_index);
  void Resolve(int32_t channel, int32_t number);
  Stream& StreamOf(Rank& rank, uint8_t index);

  std::vector<Rank> ranks_;
  std::vector<Channel> channels_;
  Transfer transfer_;
  size_t max_pending_;
  std::vector<int> wake_;  // ranks that may go on
  std::vector<Time> starts_, ends_;
};

}  // namespace headway::synth
