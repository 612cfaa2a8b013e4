// SPDX-License-Identifier: Apache-2.0
// One field, one unit, one trap at a time: what a sound trace means.
#include <gtest/gtest.h>

#include <string>

#include "trace/importers/kineto/recorded_rows.h"
#include "trace/importers/kineto/trace_text.h"

namespace headway::trace::kineto {
namespace {

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
      {R"("ts": 12, "dur": 86400000000)", 12'000, 86'400 * kSecond, 0, nullptr},           // a day exactly
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

// The profiler clamps negative times to zero: among rows of 2026 zero is no time. In a trace that starts at 0 it is
// one.
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
  const Recorded both =
      ReadTrace(Trace(Row("cpu_op", "a", "", R"("ts": 1, "dur": 1)", R"("pid": 0, "tid": 7)") + "," +
                      KernelRow("k", "") + "," + ThreadName(R"("pid": 0, "tid": 7)", "stream 7 (sync)")));
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
  const Recorded read = ReadTrace(
      Trace(R"({"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},)"
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
  EXPECT_EQ(read.log.Count("unknown-category"), 1);
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
  const Recorded read = ReadTrace(Trace(
      Row("python_function", "<built-in method to of Tensor object at 0x7f12ab>", "", R"("ts": 1, "dur": 1)") + "," +
      Row("python_function", "<built-in method to of Tensor object at 0x7f12CD>", "", R"("ts": 3, "dur": 1)")));
  EXPECT_EQ(read.Name(read.rows.events[0].name), "<built-in method to of Tensor object>");
  EXPECT_EQ(read.rows.events[0].name, read.rows.events[1].name);
}

TEST(KinetoFields, LongNamesKeepTheirBeginningAndAHash) {
  KinetoOptions options;
  options.names.longest = 64;
  const std::string a = std::string(100, 'x') + "a";
  const std::string b = std::string(100, 'x') + "b";
  const Recorded read =
      ReadTrace(Trace(Row("cpu_op", a) + "," + Row("cpu_op", b) + "," + Row("cpu_op", a, "", R"("ts": 7, "dur": 1)")),
                1 << 20, options);
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
