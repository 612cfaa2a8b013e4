// SPDX-License-Identifier: Apache-2.0
#include "synth/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headway::synth {
namespace {

// Every collective takes `took` after its last member started.
Transfer Fixed(Time took) {
  return [took](const Instance& instance, std::span<Time> ends) {
    const Time last = *std::max_element(instance.starts.begin(), instance.starts.end());
    std::fill(ends.begin(), ends.end(), last + took);
  };
}

Instr Issue(Program& p, uint8_t stream, Time call, Work work, int32_t handle = kNone) {
  Instr i;
  i.op = OpCode::kIssue;
  i.stream = stream;
  i.duration = i.latency = call;
  i.handle = handle;
  i.work = static_cast<uint32_t>(p.works.size());
  p.works.push_back(work);
  return i;
}
Instr Plain(OpCode op, Time duration) {
  Instr i;
  i.op = op;
  i.duration = duration;
  return i;
}
Instr Depend(uint8_t stream, uint8_t other) {
  Instr i;
  i.op = OpCode::kDepend;
  i.stream = stream;
  i.other = other;
  return i;
}
Instr Wait(uint8_t stream) {
  Instr i;
  i.op = OpCode::kHostWait;
  i.stream = stream;
  return i;
}
Instr Mark(int step) {
  Instr i;
  i.op = OpCode::kMark;
  i.handle = step;
  return i;
}
Work Kernel(Time duration) { return Work{.duration = duration}; }
Work Member(int32_t channel) { return Work{.channel = channel, .bytes = 1000}; }

std::vector<RankRecord> RunOnce(Engine& engine, std::vector<Program> programs) {
  std::vector<bool> given(programs.size(), false);
  return engine.Run([&](int rank, Program& program) {
    if (given[static_cast<size_t>(rank)]) return false;
    given[static_cast<size_t>(rank)] = true;
    program = programs[static_cast<size_t>(rank)];
    return true;
  });
}

// Rank 0 computes 100, rank 1 250, then both reduce (transfer 40) and compute 10 more.
// Calls cost 5. Rank 0: kernel 5..105; reduce starts there and waits until rank 1's kernel ends at 255, both end at
// 295, the last kernel at 305.
TEST(Engine, AllReduceEndsAfterTheLastMember) {
  std::vector<Program> programs(2);
  for (int r = 0; r < 2; ++r) {
    Program& p = programs[static_cast<size_t>(r)];
    p.instrs.push_back(Issue(p, 0, 5, Kernel(r == 0 ? 100 : 250)));
    p.instrs.push_back(Depend(1, 0));
    p.instrs.push_back(Issue(p, 1, 5, Member(0)));
    p.instrs.push_back(Depend(0, 1));
    p.instrs.push_back(Issue(p, 0, 5, Kernel(10)));
    p.instrs.push_back(Wait(0));
    p.instrs.push_back(Mark(0));
  }
  Engine engine(2, {{0, 1}}, Fixed(40));
  const std::vector<RankRecord> records = RunOnce(engine, programs);
  EXPECT_EQ(records[0].items[1].start, 105);
  EXPECT_EQ(records[1].items[1].start, 255);
  for (const RankRecord& record : records) {
    EXPECT_EQ(record.items[1].end, 295);
    EXPECT_EQ(record.items[1].last_start, 255);
    EXPECT_EQ(record.items[1].last_rank, 1);
    EXPECT_EQ(record.items[2].start, 295);
    EXPECT_EQ(record.items[2].end, 305);
    EXPECT_EQ(record.marks[0].host_end, 305);  // the host waited
    EXPECT_EQ(record.marks[0].host_work, 15);  // three calls; waiting is not work
  }
  EXPECT_EQ(records[0].marks[0].device_work, 110);
  EXPECT_EQ(records[1].marks[0].device_work, 260);
}

// The host runs ahead: three kernels of 100 are issued at 0, 5 and 10 and run one after the other.
TEST(Engine, HostRunsAheadOfItsStream) {
  Program p;
  for (int i = 0; i < 3; ++i) p.instrs.push_back(Issue(p, 0, 5, Kernel(100)));
  p.instrs.push_back(Mark(0));
  Engine engine(1, {}, Fixed(0));
  const std::vector<RankRecord> records = RunOnce(engine, {p});
  EXPECT_EQ(records[0].marks[0].host_end, 15);
  EXPECT_EQ(records[0].items[0].start, 5);
  EXPECT_EQ(records[0].items[1].start, 105);
  EXPECT_EQ(records[0].items[2].end, 305);
}

// With room for two launches the third waits until the first has ended at 105: call 105..110, the fourth 205..210.
TEST(Engine, AFullQueueBlocksTheHost) {
  Program p;
  for (int i = 0; i < 4; ++i) p.instrs.push_back(Issue(p, 0, 5, Kernel(100)));
  p.instrs.push_back(Mark(0));
  Engine engine(1, {}, Fixed(0), 2);
  const std::vector<RankRecord> records = RunOnce(engine, {p});
  EXPECT_EQ(records[0].marks[0].host_end, 210);
  EXPECT_EQ(records[0].items[3].end, 405);  // the device never idles
}

// A collective on a stream of its own does not hold up the compute stream that does not need it.
TEST(Engine, CommunicationOverlapsComputation) {
  std::vector<Program> programs(2);
  for (int r = 0; r < 2; ++r) {
    Program& p = programs[static_cast<size_t>(r)];
    p.instrs.push_back(Issue(p, 1, 5, Member(0)));
    p.instrs.push_back(Issue(p, 0, 5, Kernel(1000)));
    p.instrs.push_back(Wait(0));
    p.instrs.push_back(Mark(0));
  }
  Engine engine(2, {{0, 1}}, Fixed(400));
  const std::vector<RankRecord> records = RunOnce(engine, programs);
  EXPECT_EQ(records[0].items[0].end, 405);
  EXPECT_EQ(records[0].items[1].start, 10);
  EXPECT_EQ(records[0].marks[0].host_end, 1010);
}

// Spans nest, and a span inside one without a name belongs to the nearest with one.
TEST(Engine, SpansNest) {
  Program p;
  Instr outer = Plain(OpCode::kOpen, 3);
  outer.name = 7;
  Instr inner = Plain(OpCode::kCall, 4);
  inner.name = 8;
  p.instrs = {outer, Plain(OpCode::kOpen, 1), inner, Plain(OpCode::kClose, 2), Plain(OpCode::kClose, 5), Mark(0)};
  Engine engine(1, {}, Fixed(0));
  const std::vector<RankRecord> records = RunOnce(engine, {p});
  ASSERT_EQ(records[0].spans.size(), 2u);
  EXPECT_EQ(records[0].spans[0].end, 15);
  EXPECT_EQ(records[0].spans[1].begin, 4);
  EXPECT_EQ(records[0].spans[1].end, 8);
  EXPECT_EQ(records[0].spans[1].parent, 0);
}

TEST(EngineDeathTest, RanksThatWaitForOneAnotherAreABug) {
  // Rank 0 issues channel 0 then 1 on one stream, rank 1 the other way round: neither instance ever completes.
  std::vector<Program> programs(2);
  for (int r = 0; r < 2; ++r) {
    Program& p = programs[static_cast<size_t>(r)];
    p.instrs.push_back(Issue(p, 0, 5, Member(r)));
    p.instrs.push_back(Issue(p, 0, 5, Member(1 - r)));
  }
  Engine engine(2, {{0, 1}, {0, 1}}, Fixed(1));
  EXPECT_DEATH(RunOnce(engine, programs), "internal error");
}

}  // namespace
}  // namespace headway::synth
