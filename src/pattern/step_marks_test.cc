// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_marks.h"

#include <gtest/gtest.h>

#include <string>

#include "pattern/pattern_builder.h"
#include "trace/importers/kineto/kineto_reader.h"

namespace headway::pattern {
namespace {

RankPattern FoldTrace(const std::string& events) {
  PatternBuilder builder({});
  const auto reader = trace::MakeKinetoReader(&builder, {});
  EXPECT_TRUE(reader->Feed("{\"traceEvents\": [" + events + "]}"));
  EXPECT_TRUE(reader->Finish());
  return builder.Finish(reader->TakeMeta(), reader->names(), reader->log()).value();
}

// What the profiler writes about itself, as PyTorch does: its span, the marks where recording began and ended, its
// cost. They lie around the work, or far from it where the profiler was started long before.
constexpr const char* kProfiler = R"json(
  {"ph": "X", "cat": "Trace", "ts": 1000, "dur": 90000, "pid": "Spans", "tid": "PyTorch Profiler",
   "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
  {"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace", "ts": 1000},
  {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 95000},
  {"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 1500, "dur": 100}
)json";

// Without step marks the window is that of the work: from the first operator (2,000 us) to the end of the last
// (6,000 + 500 us).
TEST(StepMarks, TheProfilersOwnRowsAreNoPartOfTheWindow) {
  const RankPattern p = FoldTrace(kProfiler + std::string(R"json(,
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 2000, "dur": 3000},
    {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 6000, "dur": 500})json"));
  EXPECT_FALSE(p.steps_marked);
  ASSERT_EQ(p.steps.size(), 1U);
  EXPECT_EQ(p.window_start, 2000 * kMicrosecond);
  EXPECT_EQ(p.window_end, 6500 * kMicrosecond);
}

// With marks it is that of the steps, and the last one goes on to the end of device work (5,200 + 100 us), not further.
TEST(StepMarks, NorOfMarkedSteps) {
  const RankPattern p = FoldTrace(kProfiler + std::string(R"json(,
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 2000, "dur": 1000},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 3000, "dur": 2000},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5200, "dur": 100})json"));
  EXPECT_TRUE(p.steps_marked);
  EXPECT_EQ(p.steps.size(), 2U);
  EXPECT_EQ(p.window_start, 2000 * kMicrosecond);
  EXPECT_EQ(p.window_end, 5300 * kMicrosecond);
}

// A clock that stood still tells no step; the rest of the file does not make up for it.
TEST(StepMarks, StepsThatAllBeginAtOnceAreNone) {
  const RankPattern p = FoldTrace(R"json(
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 0, "dur": 2000},
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 900})json");
  EXPECT_TRUE(p.steps.empty());
  EXPECT_EQ(p.log.Count("step-marks-at-once"), 2);
}

// A file with nothing but the profiler's own rows has no window at all.
TEST(StepMarks, NothingButTheProfiler) {
  const RankPattern p = FoldTrace(kProfiler);
  EXPECT_TRUE(p.steps.empty());
  EXPECT_EQ(p.window_end - p.window_start, 0);
}

std::string Mark(const std::string& name, const std::string& start, const std::string& length, int thread = 1) {
  return R"({"ph": "X", "cat": "user_annotation", "name": ")" + name + R"(", "pid": 1, "tid": )" +
         std::to_string(thread) + R"(, "ts": )" + start + R"(, "dur": )" + length + "}";
}

struct Begun {
  int64_t number = 0;
  Nanos start = 0;
  bool operator==(const Begun&) const = default;
};

std::vector<Begun> StepsBegun(const RankPattern& p) {
  std::vector<Begun> out;
  for (const Step& step : p.steps) out.push_back({step.number, step.start});
  return out;
}

// Each mark lasts 1 ns into the next one: rounding, which is not worth a word.
TEST(StepMarks, AMarkThatEndsANanosecondLateHidesNoStep) {
  const RankPattern p =
      FoldTrace(Mark("ProfilerStep#1", "1000", "100.001") + "," + Mark("ProfilerStep#2", "1100", "100.001") + "," +
                Mark("ProfilerStep#3", "1200", "100"));
  EXPECT_EQ(StepsBegun(p),
            (std::vector<Begun>{{1, 1000 * kMicrosecond}, {2, 1100 * kMicrosecond}, {3, 1200 * kMicrosecond}}));
  EXPECT_EQ(p.steps[0].marked_end, 1100 * kMicrosecond);
  EXPECT_EQ(p.log.Count("step-marks-overlap"), 0);
}

// The first mark reaches over both others: its step ends at 1,100 us, and only that is a repair.
TEST(StepMarks, NorDoesOneThatReachesOverOthers) {
  const RankPattern p = FoldTrace(Mark("ProfilerStep#1", "1000", "900") + "," + Mark("ProfilerStep#2", "1100", "100") +
                                  "," + Mark("ProfilerStep#3", "1200", "100"));
  EXPECT_EQ(StepsBegun(p),
            (std::vector<Begun>{{1, 1000 * kMicrosecond}, {2, 1100 * kMicrosecond}, {3, 1200 * kMicrosecond}}));
  EXPECT_EQ(p.log.Count("step-marks-overlap"), 1);
  EXPECT_EQ(p.log.problems().at("step-marks-overlap").kind, trace::ProblemKind::kRepaired);
}

// All times lost: one step that holds everything, not three of 1 ns.
TEST(StepMarks, MarksOfOneInstantAreOneStep) {
  const RankPattern p = FoldTrace(Mark("ProfilerStep#1", "1000", "100") + "," + Mark("ProfilerStep#2", "1000", "100") +
                                  "," + Mark("ProfilerStep#3", "1200", "100"));
  EXPECT_EQ(StepsBegun(p), (std::vector<Begun>{{1, 1000 * kMicrosecond}, {3, 1200 * kMicrosecond}}));
  EXPECT_EQ(p.steps.at(0).end, 1200 * kMicrosecond);
  EXPECT_EQ(p.log.Count("step-mark-left-out"), 1);
}

// A second thread marks each step 30 us later: no step begins again, and none ends before the slower thread does.
TEST(StepMarks, TwoThreadsInOneStep) {
  const RankPattern p =
      FoldTrace(Mark("ProfilerStep#1", "1000", "100") + "," + Mark("ProfilerStep#1", "1030", "60", 2) + "," +
                Mark("ProfilerStep#2", "1100", "100") + "," + Mark("ProfilerStep#1", "1110", "20", 2) + "," +
                Mark("ProfilerStep#2", "1130", "90", 2));
  EXPECT_EQ(StepsBegun(p), (std::vector<Begun>{{1, 1000 * kMicrosecond}, {2, 1100 * kMicrosecond}}));
  EXPECT_EQ(p.steps[1].marked_end, 1220 * kMicrosecond);
  EXPECT_EQ(p.log.Count("step-marks-overlap"), 0);
}

// A mark that carries no number and lies in a step is a part of it.
TEST(StepMarks, APartOfAStepIsNoStep) {
  const RankPattern p = FoldTrace(Mark("ProfilerStep#1", "1000", "100") + "," + Mark("ProfilerStep#2", "1100", "100") +
                                  "," + Mark("ProfilerStep#x", "1120", "50"));
  EXPECT_EQ(StepsBegun(p), (std::vector<Begun>{{1, 1000 * kMicrosecond}, {2, 1100 * kMicrosecond}}));
}

}  // namespace
}  // namespace headway::pattern
