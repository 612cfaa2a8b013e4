// SPDX-License-Identifier: Apache-2.0
// One field, one unit, one trap at a time: what a sound trace means.
#include <gtest/gtest.h>

#include <string>

#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

std::string Trace(const std::string& events, const std::string& before = "", const std::string& after = "") {
  return "{\"schemaVersion\": 1" + (before.empty() ? "" : ", " + before) + ", \"traceEvents\": [" + events + "]" +
         (after.empty() ? "" : ", " + after) + "}";
}

std::string Row(const std::string& category, const std::string& name, const std::string& args = "",
                const std::string& times = R"("ts": 100, "dur": 5)",
                const std::string& lane = R"("pid": 10, "tid": 11)") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + "\", " + lane + ", " + times +
         (args.empty() ? "" : ", \"args\": {" + args + "}") + "}";
}

std::string KernelRow(const std::string& name, const std::string& args) {
  return Row("kernel", name, args, R"("ts": 100, "dur": 5)", R"("pid": 0, "tid": 7)");
}

struct TimeCase {
  const char* times;
  Nanos start;
  Nanos duration;
  int flags;
  const char* problem;  // nullptr = none
};

TEST(KinetoFields, Times) {
  const TimeCase cases[] = {
      {R"("ts": 12, "dur": 3)", 12'000, 3'000, 0, nullptr},
      {R"("ts": 12.345, "dur": 0.001)", 12'345, 1, 0, nullptr},
      {R"("ts":12.3456,"dur":2)", 12'346, 2'000, 0, nullptr},
      {R"("ts": 1712195495519806.264, "dur": 22.338)", 1'712'195'495'519'806'264, 22'338, 0, nullptr},
      {R"("ts": 1.712195495519806e15, "dur": 1e3)", 1'712'195'495'519'806'000, 1'000'000, 0, nullptr},
      {R"("ts": "1712195495519806.264", "dur": "22.338")", 1'712'195'495'519'806'264, 22'338, 0, "number-as-string"},
      {R"("ts": -5, "dur": 1)", -5'000, 1'000, 0, nullptr},
      {R"("ts": 12, "dur": 0)", 12'000, 0, 0, nullptr},
      {R"("ts": 12, "dur": -3)", 12'000, 0, kFlagClamped, "negative-duration"},
      {R"("ts": 12, "dur": 18446744073709551.615)", 12'000, 0, kFlagUnfinished, "bad-duration"},
      {R"("ts": 12, "dur": 400000000000)", 12'000, 0, kFlagClamped, "overflow-duration"},  // 4.6 days
      {R"("ts": 12, "dur": 86400000000)", 12'000, 86'400 * kSecond, 0, nullptr},            // a day exactly
      {R"("ts": 12, "dur": NaN)", 12'000, 0, kFlagUnfinished, "nan-literal"},
      {R"("ts": 12, "dur": null)", 12'000, 0, kFlagUnfinished, "unfinished-event"},
      {R"("ts": 12)", 12'000, 0, kFlagUnfinished, "unfinished-event"},
  };
  for (const TimeCase& c : cases) {
    const Recorded read = ReadTrace(Trace(Row("cpu_op", "aten::mm", "", c.times)));
    ASSERT_EQ(read.rows.events.size(), 1U) << c.times;
    const Event& event = read.rows.events[0];
    EXPECT_EQ(event.start, c.start) << c.times;
    EXPECT_EQ(event.duration, c.duration) << c.times;
    EXPECT_EQ(event.flags, c.flags) << c.times;
    if (c.problem != nullptr) {
      EXPECT_EQ(read.log.Count(c.problem), 1) << c.times;
    } else {
      EXPECT_EQ(read.log.Total(ProblemKind::kRepaired) + read.log.Total(ProblemKind::kDropped), 0) << c.times;
    }
  }
}

TEST(KinetoFields, RowsWithoutAUsableStartAreDropped) {
  for (const char* times : {R"("dur": 5)", R"("ts": NaN, "dur": 5)", R"("ts": 1e30, "dur": 5)", R"("ts": {}, "dur": 5)",
                            R"("ts": 9223372036854775807, "dur": 5)"}) {
    const Recorded read = ReadTrace(Trace(Row("cpu_op", "a", "", times) + "," + Row("cpu_op", "b")));
    EXPECT_EQ(read.Names(), std::vector<std::string>{"b"}) << times;
    EXPECT_EQ(read.log.Count("bad-timestamp"), 1) << times;
  }
}

// The profiler clamps negative times to zero: among rows of 2026 zero is no time. In a trace that starts at 0 it is one.
TEST(KinetoFields, ZeroTimestamps) {
  const std::string far = R"("ts": 5104716628960.926, "dur": 1)";
  const std::string zero = R"("ts": 0, "dur": 1)";
  const Recorded before = ReadTrace(Trace(Row("cpu_op", "a", "", zero) + "," + Row("cpu_op", "b", "", far)));
  ASSERT_EQ(before.Names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(before.rows.events[0].flags, kFlagClamped);
  EXPECT_EQ(before.rows.events[1].flags, 0);
  EXPECT_EQ(before.log.Count("zero-timestamp"), 1);
  const Recorded behind = ReadTrace(Trace(Row("cpu_op", "b", "", far) + "," + Row("cpu_op", "a", "", zero)));
  EXPECT_EQ(behind.rows.events[1].flags, kFlagClamped);
  const Recorded near = ReadTrace(Trace(Row("cpu_op", "a", "", zero) + "," + Row("cpu_op", "b")));
  EXPECT_EQ(near.rows.events[0].flags, 0);
  EXPECT_EQ(near.log.Count("zero-timestamp"), 0);
  const Recorded only = ReadTrace(Trace(Row("cpu_op", "a", "", zero)));
  EXPECT_EQ(only.rows.events.size(), 1U);
}

TEST(KinetoFields, TimeBaseMayComeAfterTheRows) {
  const std::string base = R"("baseTimeNanoseconds": 1790857026000000000)";
  EXPECT_EQ(ReadTrace(Trace(Row("cpu_op", "a"), base)).meta.time_base, 1'790'857'026'000'000'000);
  const Recorded after = ReadTrace(Trace(Row("cpu_op", "a"), "", base));
  EXPECT_EQ(after.meta.time_base, 1'790'857'026'000'000'000);
  EXPECT_EQ(after.rows.events[0].start, 100'000);  // not shifted by the base
  EXPECT_EQ(ReadTrace(Trace(Row("cpu_op", "a"))).meta.time_base, 0);
}

TEST(KinetoFields, Resolution) {
  EXPECT_EQ(ReadTrace(Trace(Row("cpu_op", "a"))).meta.time_resolution, 1000);
  EXPECT_EQ(ReadTrace(Trace(Row("cpu_op", "a", "", R"("ts": 1.5, "dur": 1)"))).meta.time_resolution, 1);
}

struct LaneCase {
  const char* category;
  const char* lane;
  bool is_device;
  int64_t pid;
  int64_t tid;
  const char* name;
};

TEST(KinetoFields, Lanes) {
  const LaneCase cases[] = {
      {"kernel", R"("pid": 0, "tid": 7)", true, 0, 7, "stream 7"},
      {"Kernel", R"("pid": 1, "tid": "stream 22")", true, 1, 22, "stream 22"},
      {"kernel", R"("pid": "0", "tid": "7")", true, 0, 7, "stream 7"},
      {"kernel", R"("pid": "GPU 3", "tid": "stream 7 ")", true, 3, 7, "stream 7"},
      {"cuda_sync", R"("pid": 0, "tid": -1)", true, 0, -1, "stream -1"},
      {"cpu_op", R"("pid": 0, "tid": 7)", false, 0, 7, ""},  // a container's process 0 is no device
      {"cpu_op", R"("pid": 23803, "tid": "23805")", false, 23803, 23805, ""},
      {"cpu_op", R"("pid": "CPU functions", "tid": 1)", false, -1, 1, "CPU functions"},
      {"Trace", R"("pid": "Spans", "tid": "PyTorch Profiler")", false, -1, -1, "PyTorch Profiler"},
      {"overhead", R"("pid": -1, "tid": 0)", false, -1, 0, ""},
      {"kernel", R"("pid": 0, "tid": 94825348563984)", true, 0, 94825348563984, "stream 94825348563984"},
  };
  for (const LaneCase& c : cases) {
    const Recorded read = ReadTrace(Trace(Row(c.category, "x", "", R"("ts": 1, "dur": 1)", c.lane)));
    ASSERT_EQ(read.meta.lanes.size(), 1U);
    const Lane& lane = read.meta.lanes[read.rows.events[0].lane];
    EXPECT_EQ(lane.is_device, c.is_device) << c.lane;
    EXPECT_EQ(lane.pid, c.pid) << c.lane;
    EXPECT_EQ(lane.tid, c.tid) << c.lane;
    EXPECT_EQ(lane.name, c.name) << c.lane;
    EXPECT_EQ(lane.device, c.is_device ? c.pid : -1) << c.lane;
  }
}

std::string ThreadName(const std::string& lane, const std::string& name) {
  return R"({"ph": "M", "name": "thread_name", "ts": 1, )" + lane + R"(, "args": {"name": ")" + name + "\"}}";
}

TEST(KinetoFields, TheMoreSpecificThreadNameIsKept) {
  const std::string lane = R"("pid": 10, "tid": 11)";
  const std::string plain = ThreadName(lane, "thread 11 (python3)");
  const std::string special = ThreadName(lane, "thread 11 (pt_gloo_runloop)");
  const std::string row = Row("cpu_op", "a");
  EXPECT_EQ(ReadTrace(Trace(plain + "," + special + "," + row)).meta.lanes[0].name, "pt_gloo_runloop");
  EXPECT_EQ(ReadTrace(Trace(row + "," + special + "," + plain)).meta.lanes[0].name, "pt_gloo_runloop");
  EXPECT_EQ(ReadTrace(Trace(row + "," + plain)).meta.lanes[0].name, "python3");
  // A device's stream and a host thread with equal numbers do not exchange names.
  const Recorded both = ReadTrace(Trace(Row("cpu_op", "a", "", R"("ts": 1, "dur": 1)", R"("pid": 0, "tid": 7)") + "," +
                                        KernelRow("k", "") + "," +
                                        ThreadName(R"("pid": 0, "tid": 7)", "stream 7 (sync)")));
  EXPECT_EQ(both.meta.lanes[0].name, "");
  EXPECT_EQ(both.meta.lanes[1].name, "stream 7 (sync)");
}

TEST(KinetoFields, KindsOfEveryEra) {
  const std::pair<std::string, EventKind> cases[] = {
      {Row("Operator", "aten::mm"), EventKind::kCpuOp},
      {Row("Operator", "ProfilerStep#1"), EventKind::kStep},
      {Row("Runtime", "cudaLaunchKernel"), EventKind::kRuntime},
      {Row("Kernel", "volta_sgemm"), EventKind::kKernel},
      {Row("Memcpy", "Memcpy HtoD (Pageable -> Device)"), EventKind::kMemcpy},
      {Row("gpu_memset", "Memset (Device)"), EventKind::kMemset},
      {Row("xpu_runtime", "urEnqueueKernelLaunch"), EventKind::kRuntime},
      {Row("mtia_ccp_events", "hccl::all_reduce"), EventKind::kCommKernel},
      {Row("cuda_sync", "Stream Sync"), EventKind::kDeviceSync},
      {Row("gpu_user_annotation", "ProfilerStep#1"), EventKind::kDeviceAnnotation},
      {Row("python_function", "a.py(1): f"), EventKind::kPython},
      {Row("overhead", "Lazy Function Loading"), EventKind::kOverhead},
      {Row("Trace", "PyTorch Profiler (0)"), EventKind::kOther},
      {Row("brand_new", "x"), EventKind::kOther},
      {R"({"ph": "X", "name": "no category", "pid": 1, "tid": 1, "ts": 1, "dur": 1})", EventKind::kOther},
      {R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {"Bytes": 4}})",
       EventKind::kInstant},
  };
  for (const auto& [row, kind] : cases) {
    const Recorded read = ReadTrace(Trace(row));
    ASSERT_EQ(read.rows.events.size(), 1U) << row;
    EXPECT_EQ(read.rows.events[0].kind, kind) << row << " is " << ToString(read.rows.events[0].kind);
  }
}

TEST(KinetoFields, RowsThatAreNoIntervalsAreCounted) {
  const Recorded read = ReadTrace(Trace(
      R"({"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},)"
      R"({"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 2, "cat": "ac2g", "name": "ac2g", "bp": "e"},)"
      R"({"name": "ac2g", "args": {"weight": [1, {"a": "}"}]}, "ph": "f", "id": 1, "ts": 2},)"
      R"({"ph": "C", "name": "GPU Utilization", "pid": 0, "ts": 1, "args": {"GPU Utilization": 0.5}},)"
      R"({"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 1, "args": {"labels": "GPU 0"}},)"
      R"({"ph": "Q", "name": "?", "ts": 1})"));
  EXPECT_TRUE(read.rows.events.empty());
  EXPECT_EQ(read.log.Count("flow-row"), 3);
  EXPECT_EQ(read.log.Count("counter-row"), 1);
  EXPECT_EQ(read.log.Count("metadata-row"), 1);
  EXPECT_EQ(read.log.Count("unknown-phase"), 1);
}

TEST(KinetoFields, CategoriesAreCounted) {
  const Recorded read =
      ReadTrace(Trace(Row("kernel", "a") + "," + Row("cpu_op", "b") + "," + Row("kernel", "c") + "," + Row("", "d")));
  const std::vector<std::pair<std::string, int64_t>> expected = {{"", 1}, {"cpu_op", 1}, {"kernel", 2}};
  EXPECT_EQ(read.meta.categories, expected);
}

// ---- Arguments

TEST(KinetoFields, KernelArguments) {
  const Recorded read = ReadTrace(Trace(KernelRow(
      "volta_sgemm_64x64_nt",
      R"("External id": 218, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 4711,
         "registers per thread": 122, "warps per SM": inf, "grid": [8, 16, 5], "block": [128, 1, 1],
         "est. achieved occupancy %": 37.5, "occupancy": {"limitingFactors": "BLOCKS", "x": [1, {}]},
         "graph id": 3, "graph node id": 25)")));
  ASSERT_EQ(read.rows.events.size(), 1U);
  EXPECT_EQ(read.rows.events[0].correlation, 4711U);
  EXPECT_FLOAT_EQ(read.Kernel(0).occupancy, 0.375F);
  EXPECT_EQ(read.Name(read.Kernel(0).geometry), "8_16_5|128_1_1");
  EXPECT_EQ(read.Kernel(0).graph_node, 25);
  EXPECT_EQ(read.rows.events[0].flags, kFlagGraphNode);
}

TEST(KinetoFields, ArgumentsBeforeTheCategory) {
  const Recorded read = ReadTrace(Trace(
      R"({"args": {"correlation": 5, "grid": [1, 2, 3]}, "ts": 1, "dur": 1, "pid": 0, "tid": 7,
          "name": "gemm", "cat": "kernel", "ph": "X"})"));
  ASSERT_EQ(read.rows.events.size(), 1U);
  EXPECT_EQ(read.rows.events[0].correlation, 5U);
  EXPECT_EQ(read.Name(read.Kernel(0).geometry), "1_2_3|");
}

struct CorrelationCase {
  const char* args;
  uint32_t correlation;
};

TEST(KinetoFields, Correlations) {
  const CorrelationCase cases[] = {
      {R"("correlation": 12)", 12},
      {R"("correlation": "12")", 12},
      {R"("correlation": 12.0)", 12},
      {R"("correlation": -1)", 0},
      {R"("correlation": 0)", 0},
      {R"("correlation": null)", 0},
      {R"("correlation": 4294967297)", 0},  // 2^32 + 1 folds to 1 xor 1
      {R"("correlation": 4294967298)", 3},  // 2 xor 1
      {R"("correlation": 99999999999999999999999)", 0},
      {R"("cid": 3)", 0},
  };
  for (const CorrelationCase& c : cases) {
    const Recorded read = ReadTrace(Trace(Row("cuda_runtime", "cudaLaunchKernel", c.args)));
    EXPECT_EQ(read.rows.events.at(0).correlation, c.correlation) << c.args;
  }
}

// ROCm writes no graph ids: one launch, many kernels of one correlation.
TEST(KinetoFields, GraphsWithoutNodeIds) {
  const Recorded read = ReadTrace(
      Trace(Row("cuda_runtime", "hipGraphLaunch", R"("correlation": 9)") + "," + KernelRow("gemm", R"("correlation": 9)") +
            "," + KernelRow("softmax", R"("correlation": 9)") + "," + KernelRow("norm", R"("correlation": 10)")));
  EXPECT_EQ(read.rows.events[0].flags, kFlagGraphLaunch);
  EXPECT_EQ(read.rows.events[1].flags, kFlagGraphNode);
  EXPECT_EQ(read.rows.events[2].flags, kFlagGraphNode);
  EXPECT_EQ(read.rows.events[3].flags, 0);
}

TEST(KinetoFields, Copies) {
  const Recorded read = ReadTrace(
      Trace(Row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", R"("bytes": 92928, "correlation": 14)") + "," +
            Row("gpu_memcpy", "CopyHostToDevice", R"("bytes": "256", "kind": "HtoD")") + "," +
            Row("gpu_memset", "Memset (Device)", R"("bytes": 512)")));
  EXPECT_EQ(read.Copy(0).bytes, 92'928);
  EXPECT_EQ(read.Name(read.Copy(0).memory_kind), "HtoD Pageable");
  EXPECT_EQ(read.rows.events[0].flags, kFlagPageable);
  EXPECT_EQ(read.Copy(1).bytes, 256);
  EXPECT_EQ(read.Name(read.Copy(1).memory_kind), "HtoD");
  EXPECT_EQ(read.Copy(2).bytes, 512);
}

TEST(KinetoFields, CollectiveArguments) {
  const std::string args =
      R"("Collective name": "_allgather_base", "In msg nelems": 25136, "Out msg nelems": 201088, "Group size": 8,
         "dtype": "BFloat16", "In split size": "[]", "Process Group Name": "3", "Process Group Description": "mesh_tp",
         "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "Seq": 17, "Rank": 5, "Global rank start": 0)";
  const Recorded read = ReadTrace(Trace(KernelRow("ncclDevKernel_Generic(x)", args) + "," +
                                        Row("cpu_op", "record_param_comms", args)));
  for (size_t row = 0; row < 2; ++row) {
    const CommDetail& comm = read.Comm(row);
    EXPECT_EQ(comm.op, CommOp::kAllGather);
    EXPECT_EQ(read.Name(comm.pg_name), "3");
    EXPECT_EQ(read.Name(comm.pg_desc), "mesh_tp");
    EXPECT_EQ(read.Name(comm.pg_ranks), "[0, 1, 2, 3, 4, 5, 6, 7]");
    EXPECT_EQ(comm.group_size, 8);
    EXPECT_EQ(comm.seq, 17);
    EXPECT_EQ(comm.bytes, 402'176);  // max(25,136, 201,088) x 2
  }
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommKernel);
  EXPECT_EQ(read.rows.events[1].kind, EventKind::kCommIssue);
  EXPECT_EQ(read.meta.rank, 5);  // of the arguments, as nothing else tells
  EXPECT_EQ(read.meta.rank_source, "content");
  ASSERT_EQ(read.meta.groups.size(), 1U);
  EXPECT_EQ(read.meta.groups[0].desc, "mesh_tp");
  EXPECT_EQ(read.meta.groups[0].ranks.size(), 8U);
  EXPECT_EQ(read.log.Count("group-from-rows"), 1);
}

// The profiler cuts rank lists at 30 entries: a part of a group is no group.
TEST(KinetoFields, CutRankLists) {
  const std::string cut = R"("Process Group Name": "1", "Group size": 64, "Process Group Ranks": "[0, 2, 4, ...]")";
  const Recorded read = ReadTrace(Trace(KernelRow("ncclDevKernel_AllReduce(x)", cut)));
  EXPECT_TRUE(read.meta.groups.at(0).ranks.empty());
  EXPECT_EQ(read.Name(read.Comm(0).pg_ranks), "[0, 2, 4, ...]");
  const Recorded strided = ReadTrace(Trace(
      KernelRow("ncclDevKernel_AllReduce(x)", cut + R"(, "Global rank start": 0, "Global rank stride": 2)")));
  ASSERT_EQ(strided.meta.groups.at(0).ranks.size(), 64U);
  EXPECT_EQ(strided.meta.groups[0].ranks.back(), 126);
}

TEST(KinetoFields, AWaitIsNoIssue) {
  const Recorded read = ReadTrace(Trace(Row("cpu_op", "record_param_comms", R"("Collective name": "wait")")));
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommWait);
  EXPECT_EQ(read.rows.events[0].detail, 0U);
}

// A kernel that no rule knows but whose arguments name a collective communicates.
TEST(KinetoFields, ArgumentsTellCommunication) {
  const Recorded read = ReadTrace(Trace(KernelRow("zorp", R"("Collective name": "allreduce")")));
  EXPECT_EQ(read.rows.events[0].kind, EventKind::kCommKernel);
  EXPECT_EQ(read.rows.events[0].flags, 0);
  EXPECT_EQ(read.log.Count("unknown-kernel"), 0);
  EXPECT_EQ(ReadTrace(Trace(KernelRow("zorp", ""))).log.Count("unknown-kernel"), 1);
}

TEST(KinetoFields, GlooRows) {
  const Recorded read = ReadTrace(
      Trace(Row("user_annotation", "gloo:all_reduce", R"("Input Dims": [[397322]], "Input type": ["float"])") + "," +
            Row("user_annotation", "gloo:send", R"("Input Dims": [[8, 4], [2]], "Input type": ["double", "long"])") +
            "," + Row("cpu_op", "c10d::send", R"("Concrete Inputs": ["", "", "3", "0"])") + "," +
            Row("user_annotation", "nccl:recv 3<-0")));
  EXPECT_EQ(read.Comm(0).op, CommOp::kAllReduce);
  EXPECT_EQ(read.Comm(0).bytes, 1'589'288);  // 397,322 x 4
  EXPECT_EQ(read.Comm(1).bytes, 272);        // 8 x 4 x 8 + 2 x 8
  EXPECT_EQ(read.rows.events[1].kind, EventKind::kCommHost);
  EXPECT_EQ(read.Comm(2).peer, 3);
  EXPECT_EQ(read.rows.events[3].kind, EventKind::kCommIssue);
}

// ---- Names

TEST(KinetoFields, Names) {
  const std::pair<const char*, const char*> cases[] = {
      {R"(plain)", "plain"},
      {R"(say \"hi\")", "say \"hi\""},
      {R"(C:\\Users\\x)", "C:\\Users\\x"},
      {R"(a\/b\tc)", "a/b c"},
      {R"(\u00e4\u20ac)", "\xC3\xA4\xE2\x82\xAC"},
      {R"(\ud83d\ude00)", "\xF0\x9F\x98\x80"},
      {"\xC3\xA4", "\xC3\xA4"},
      {R"({lambda()#2}::operator()[x], "y")", nullptr},
      {R"(void f<4, g<h>>(char*, {lambda(int)#1}))", "void f<4, g<h>>(char*, {lambda(int)#1})"},
      {"", ""},
  };
  for (const auto& [raw, clean] : cases) {
    if (clean == nullptr) continue;
    const Recorded read = ReadTrace(Trace(Row("cpu_op", raw)));
    EXPECT_EQ(read.Names(), std::vector<std::string>{clean}) << raw;
    EXPECT_EQ(read.log.Total(ProblemKind::kRepaired), 0) << raw;
  }
}

TEST(KinetoFields, AddressesAreCutFromPythonNames) {
  const Recorded read = ReadTrace(
      Trace(Row("python_function", "<built-in method to of Tensor object at 0x7f12ab>", "", R"("ts": 1, "dur": 1)") + "," +
            Row("python_function", "<built-in method to of Tensor object at 0x7f12CD>", "", R"("ts": 3, "dur": 1)")));
  EXPECT_EQ(read.Name(read.rows.events[0].name), "<built-in method to of Tensor object>");
  EXPECT_EQ(read.rows.events[0].name, read.rows.events[1].name);
}

TEST(KinetoFields, LongNamesKeepTheirBeginningAndAHash) {
  KinetoOptions options;
  options.names.longest = 64;
  const std::string a = std::string(100, 'x') + "a";
  const std::string b = std::string(100, 'x') + "b";
  const Recorded read = ReadTrace(Trace(Row("cpu_op", a) + "," + Row("cpu_op", b) + "," +
                                        Row("cpu_op", a, "", R"("ts": 7, "dur": 1)")), 1 << 20, options);
  EXPECT_EQ(read.Names()[0].size(), 64U);
  EXPECT_TRUE(read.Names()[0].starts_with(std::string(44, 'x') + "...#"));
  EXPECT_NE(read.Names()[0], read.Names()[1]);
  EXPECT_EQ(read.Names()[0], read.Names()[2]);
  EXPECT_EQ(read.log.Count("name-shortened"), 3);
}

TEST(KinetoFields, NamesAreCappedByBytes) {
  KinetoOptions options;
  options.names.total_bytes = 100;
  std::string events;
  for (int i = 0; i < 20; ++i) events += (i > 0 ? "," : "") + Row("cpu_op", "a name of operator " + std::to_string(i));
  const Recorded read = ReadTrace(Trace(events), 1 << 20, options);
  EXPECT_EQ(read.rows.events.size(), 20U);
  EXPECT_EQ(read.Names().front(), "a name of operator 0");
  EXPECT_EQ(read.Names().back(), std::string(kOtherNames));
  EXPECT_EQ(read.rows.events.back().kind, EventKind::kCpuOp);
  EXPECT_GT(read.log.Count("names-capped"), 0);
}

TEST(KinetoFields, TheSameRowTwice) {
  const std::string row = Row("cpu_op", "aten::mm", R"("External id": 5)");
  const std::string other = Row("cpu_op", "aten::mm", R"("External id": 6)");
  const Recorded read = ReadTrace(Trace(row + "," + other + "," + row + "," + Row("cpu_op", "x")));
  EXPECT_EQ(read.Names(), (std::vector<std::string>{"aten::mm", "aten::mm", "x"}));
  EXPECT_EQ(read.log.Count("duplicate-event"), 1);
}

}  // namespace
}  // namespace headway::trace::kineto
