// SPDX-License-Identifier: Apache-2.0
// Rows written as two events. All starts and durations are in the text: a begin at ts and an end at ts + n microseconds
// make a row of n x 1,000 ns.
#include "trace/importers/kineto/open_spans.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/importers/kineto/recorded_rows.h"
#include "trace/importers/kineto/trace_text.h"

namespace headway::trace::kineto {
namespace {

using Names = std::vector<std::string>;

std::string Begin(const std::string& name, const std::string& start, const std::string& lane = R"("pid": 1, "tid": 1)",
                  const std::string& more = "") {
  return R"({"ph": "B", "cat": "cpu_op", "name": ")" + name + "\", " + lane + R"(, "ts": )" + start + more + "}";
}
std::string End(const std::string& name, const std::string& start, const std::string& lane = R"("pid": 1, "tid": 1)") {
  return R"({"ph": "E", )" + (name.empty() ? "" : R"("name": ")" + name + "\", ") + lane + R"(, "ts": )" + start + "}";
}

TEST(OpenSpans, PairsNestAndComeWhenTheyEnd) {
  const Recorded read =
      ReadTrace(Trace(Begin("outer", "10") + "," + Begin("inner", "12.5") + "," + End("", "20") + "," +
                      Begin("second", "21") + "," + End("second", "22") + "," + End("outer", "30")));
  EXPECT_EQ(read.Names(), (Names{"inner", "second", "outer"}));
  const Event& inner = read.rows.events[0];
  const Event& outer = read.rows.events[2];
  EXPECT_EQ(inner.start, 12'500);
  EXPECT_EQ(inner.duration, 7'500);
  EXPECT_EQ(inner.kind, EventKind::kCpuOp);
  EXPECT_EQ(inner.sequence, 0U);
  EXPECT_EQ(outer.start, 10'000);
  EXPECT_EQ(outer.duration, 20'000);
  EXPECT_EQ(outer.lane, inner.lane);
  EXPECT_EQ(outer.flags, 0);
  EXPECT_EQ(read.log.Total(ProblemKind::kRepaired) + read.log.Total(ProblemKind::kDropped), 0);
  const std::vector<std::pair<std::string, int64_t>> rows = {{"cpu_op", 3}};
  EXPECT_EQ(read.meta.categories, rows);
}

TEST(OpenSpans, EachThreadForItself) {
  const std::string other = R"("pid": 1, "tid": 2)";
  const std::string process = R"("pid": 2, "tid": 1)";
  const std::string text = R"("pid": "1", "tid": "worker")";  // "1" is the number 1
  const Recorded read = ReadTrace(Trace(
      Begin("a", "1") + "," + Begin("b", "2", other) + "," + Begin("c", "3", process) + "," + Begin("d", "4", text) +
      "," + End("", "11") + "," + End("", "12", other) + "," + End("", "13", process) + "," + End("", "14", text)));
  EXPECT_EQ(read.Names(), (Names{"a", "b", "c", "d"}));
  for (const Event& event : read.rows.events) EXPECT_EQ(event.duration, 10'000);
  EXPECT_EQ(read.meta.lanes.size(), 4U);
}

// The arguments of the begin count: a launch written this way links to its kernel.
TEST(OpenSpans, ArgumentsOfTheBegin) {
  const Recorded read = ReadTrace(Trace(
      R"({"ph": "B", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5, "args": {"correlation": 9, "grid": [1, 2, 3]}},)"
      R"({"ph": "E", "pid": 0, "tid": 7, "ts": 6})"));
  EXPECT_EQ(read.rows.events.at(0).kind, EventKind::kKernel);
  EXPECT_EQ(read.rows.events[0].correlation, 9U);
  EXPECT_EQ(read.Name(read.Kernel(0).geometry), "1_2_3|");
  EXPECT_TRUE(read.meta.lanes.at(0).is_device);
}

TEST(OpenSpans, WhatHasNoPairIsCounted) {
  // b never ends; the end of a closes it with a. x was never begun. c is open at the end of the file.
  const Recorded read = ReadTrace(Trace(End("", "1") + "," + Begin("a", "10") + "," + Begin("b", "11") + "," +
                                        End("x", "12") + "," + End("a", "15") + "," + Begin("c", "20")));
  EXPECT_EQ(read.Names(), (Names{"b", "a", "c"}));
  EXPECT_EQ(read.rows.events[0].flags, kFlagUnfinished);
  EXPECT_EQ(read.rows.events[0].duration, 0);
  EXPECT_EQ(read.rows.events[1].flags, 0);
  EXPECT_EQ(read.rows.events[1].duration, 5'000);
  EXPECT_EQ(read.rows.events[2].flags, kFlagUnfinished);
  EXPECT_EQ(read.log.Count("unmatched-begin"), 2);
  EXPECT_EQ(read.log.Count("unmatched-end"), 2);
  EXPECT_EQ(read.log.problems().at("unmatched-begin").example, "b");
}

TEST(OpenSpans, OddTimes) {
  const Recorded read = ReadTrace(Trace(Begin("back", "10") + "," + End("", "7") + "," + Begin("long", "10") + "," +
                                        End("", "86400000011") + "," +  // a day and a microsecond
                                        Begin("a", "10") + "," + End("", "null") + "," + End("", "12")));
  EXPECT_EQ(read.Names(), (Names{"back", "long", "a"}));
  EXPECT_EQ(read.rows.events[0].flags, kFlagClamped);
  EXPECT_EQ(read.rows.events[1].flags, kFlagClamped);
  EXPECT_EQ(read.rows.events[2].duration, 2'000);
  EXPECT_EQ(read.log.Count("negative-duration"), 1);
  EXPECT_EQ(read.log.Count("overflow-duration"), 1);
  EXPECT_EQ(read.log.Count("bad-timestamp"), 1);
}

// Two rows of one name in one thread end innermost first; equal pairs are no duplicates of each other.
TEST(OpenSpans, OneNameTwice) {
  const Recorded read =
      ReadTrace(Trace(Begin("f", "1") + "," + Begin("f", "2") + "," + End("f", "3") + "," + End("f", "9")));
  EXPECT_EQ(read.rows.events.at(0).duration, 1'000);
  EXPECT_EQ(read.rows.events.at(1).duration, 8'000);
}

TEST(OpenSpans, WhateverTheChunks) {
  const std::string text = Trace(Begin("a", "1") + "," + Begin("b", "2") + "," + End("", "3") + "," + Begin("c", "0") +
                                 "," + Begin("d", "5", R"("pid": 3, "tid": 4)"));
  const std::string expected = ReadTrace(text).Digest();
  for (const size_t chunk : {1, 7, 64}) EXPECT_EQ(ReadTrace(text, chunk).Digest(), expected) << chunk;
}

// A file of begins alone does not fill the memory.
TEST(OpenSpans, AreBounded) {
  OpenSpans open;
  IdField id;
  id.form = FieldForm::kGood;
  for (size_t i = 0; i < OpenSpans::kMost; ++i) {
    id.number = static_cast<int64_t>(i % 10);
    ASSERT_TRUE(open.Begin(id, id, {.event = {}, .offset = static_cast<int64_t>(i)}));
  }
  EXPECT_FALSE(open.Begin(id, id, {}));
  std::vector<OpenSpans::Span> unmatched;
  EXPECT_TRUE(open.End(id, id, 0, &unmatched));
  EXPECT_TRUE(open.Begin(id, id, {}));
  EXPECT_EQ(open.TakeAll().size(), OpenSpans::kMost);
  EXPECT_FALSE(open.End(id, id, 0, &unmatched));
}

}  // namespace
}  // namespace headway::trace::kineto
