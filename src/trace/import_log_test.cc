// SPDX-License-Identifier: Apache-2.0
#include "trace/import_log.h"

#include <gtest/gtest.h>

#include "trace/reader_registry.h"

namespace headway::trace {
namespace {

TEST(ImportLog, KeepsTheFirstPlaceAndCounts) {
  ImportLog log;
  log.Add(ProblemKind::kRepaired, "b", 10, "first\n\x01\xff");
  log.Add(ProblemKind::kRepaired, "b", 20, "second");
  log.AddCount(ProblemKind::kNote, "a", 5);
  log.AddCount(ProblemKind::kNote, "none", 0);
  ASSERT_EQ(log.problems().size(), 2U);
  EXPECT_EQ(log.problems().begin()->first, "a");
  const Problem& problem = log.problems().at("b");
  EXPECT_EQ(problem.count, 2);
  EXPECT_EQ(problem.first_offset, 10);
  EXPECT_EQ(problem.example, "first \\x01\\xff");
  EXPECT_EQ(log.Total(ProblemKind::kRepaired), 2);
  EXPECT_EQ(log.Count("missing"), 0);
  log.Add(ProblemKind::kNote, "long", 0, std::string(1000, 'x'));
  EXPECT_LE(log.problems().at("long").example.size(), 130U);
}

TEST(ImportLog, MergeAddsCountsAndKeepsTheFirstExample) {
  ImportLog a;
  ImportLog b;
  a.Add(ProblemKind::kDropped, "x", 1, "a");
  b.Add(ProblemKind::kDropped, "x", 2, "b");
  b.Add(ProblemKind::kDropped, "y", 3, "c");
  a.Merge(b);
  EXPECT_EQ(a.Count("x"), 2);
  EXPECT_EQ(a.problems().at("x").example, "a");
  EXPECT_EQ(a.Count("y"), 1);
}

TEST(ReaderRegistry, FindsByTheFirstBytes) {
  const TraceFormat* format = FindTraceFormat("\xEF\xBB\xBF \n{\"schemaVersion\": 1", "a.json");
  ASSERT_NE(format, nullptr);
  EXPECT_STREQ(format->name, "kineto");
  EXPECT_NE(FindTraceFormat("[{\"ph\":", "old"), nullptr);
  EXPECT_EQ(FindTraceFormat("\x89PNG\r\n", "a.json"), nullptr);
  EXPECT_EQ(FindTraceFormat("", "a.json"), nullptr);
  EXPECT_EQ(FindTraceFormat(R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1})", "et.json"), nullptr);
  EXPECT_EQ(FindTraceFormat(R"({"version": "2.10", "pg_config": {}})", "fr_rank0.json"), nullptr);
  EXPECT_NE(FindTraceFormat(R"({"version": "2.10", "traceEvents": [)", "a.json"), nullptr);
  EXPECT_NE(FindTraceFormat(R"({"displayTimeUnit": "ms",)", "a.json"), nullptr);
  for (const char* shortest : {"{", "[", "{}", "[]", " [ {", "\xEF\xBB\xBF{ \"x"}) {
    EXPECT_NE(FindTraceFormat(shortest, "a.json"), nullptr) << shortest;
  }
  EXPECT_EQ(FindTraceFormat("[[1, 2]]", "a.json"), nullptr);
  EXPECT_EQ(FindTraceFormat("{words", "a.json"), nullptr);
  for (const TraceFormat& known : TraceFormats()) EXPECT_NE(std::string(known.description), "");
}

}  // namespace
}  // namespace headway::trace
