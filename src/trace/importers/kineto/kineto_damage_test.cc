// SPDX-License-Identifier: Apache-2.0
// Files that are not as they should be: what is read all the same, and under which name it is counted.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

using Names = std::vector<std::string>;

std::string Row(const std::string& name, int start, const std::string& more = "") {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" +
         std::to_string(start) + R"(, "dur": 1)" + more + "}";
}

// The same as the profiler prints it: each row over several lines.
std::string Printed(const std::string& name, int start, const std::string& args = R"("External id": 1)") {
  return "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" + name +
         "\", \"pid\": 1, \"tid\": 1,\n    \"ts\": " + std::to_string(start) +
         ", \"dur\": 1,\n    \"args\": {\n      " + args + "\n    }\n  }";
}

std::string Wrap(const std::string& events) { return "{\"schemaVersion\": 1, \"traceEvents\": [\n" + events + "\n]}"; }

struct DamageCase {
  const char* what;
  std::string text;
  Names rows;
  const char* problem;
  int64_t count;
};

std::vector<DamageCase> Cases() {
  const std::string a = Row("a", 10);
  const std::string b = Row("b", 20);
  const std::string c = Row("c", 30);
  const std::string pa = Printed("a", 10);
  const std::string pc = Printed("c", 30);
  return {
      {"control character in a name", Wrap(Row("x\ty\n\x01z", 10) + "," + b), {"x y  z", "b"}, "control-character", 1},
      {"control character in an argument",
       Wrap(Row("a", 10, ", \"args\": {\"Call stack\": \"l1\nl2\"}") + "," + b),
       {"a", "b"},
       "control-character",
       1},
      {"byte that is not UTF-8", Wrap(Row("x\xFFy", 10) + "," + b), {"x\xEF\xBF\xBDy", "b"}, "invalid-utf8", 1},
      {"cut UTF-8 sequence", Wrap(Row("x\xE2\x82", 10) + "," + b), {"x\xEF\xBF\xBD", "b"}, "invalid-utf8", 1},
      {"unescaped quotes in a name",
       Wrap(a + "," + Row("f \"x\" g", 20) + "," + c),
       {"a", "f \"x\" g", "c"},
       "unescaped-quote",
       1},
      {"one unescaped quote: all later text would be inside out",
       Wrap(a + "," + Row("5\" disk", 20) + "," + c),
       {"a", "5\" disk", "c"},
       "unescaped-quote",
       1},
      {"the same, printed",
       Wrap(pa + ",\n" + Printed("5\" disk", 20) + ",\n" + pc),
       {"a", "5\" disk", "c"},
       "unescaped-quote",
       1},
      {"two such rows one behind the other",
       Wrap(a + "," + Row("1\" x", 20) + "," + Row("2\" y", 25) + "," + c),
       {"a", "1\" x", "2\" y", "c"},
       "unescaped-quote",
       2},
      {"unescaped quote in an argument that is skipped",
       Wrap(a + "," + Row("b", 20, R"(, "args": {"Module Hierarchy": "top"level", "Ev Idx": 3})") + "," + c),
       {"a", "b", "c"},
       "unescaped-quote",
       1},
      {"quote and brace inside a name: the row seems to end there",
       Wrap(a + "," + Row("f\"}, x", 20) + "," + c),
       {"a", "c"},
       "garbage-between-events",
       1},
      {"closing quote lost",
       Wrap(pa +
            ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"pid\": 1, \"tid\": 1, \"ts\": 20,"
            " \"dur\": 1, \"name\": \"b\n  },\n" +
            pc),
       {"a", "b", "c"},
       "missing-quote",
       1},
      {"closing quote lost before another member",
       Wrap(a + R"(,{"ph": "X", "name": "b, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 20, "dur": 1},)" + c),
       {"a", "b", "c"},
       "missing-quote",
       1},
      {"Windows path", Wrap(a + "," + Row(R"(C:\Users\x)", 20) + "," + c), {"a", "C:\\Users\\x", "c"}, "bad-escape", 1},
      {"backslash before the closing quote",
       Wrap(a + "," + Row(R"(C:\dir\)", 20) + "," + c),
       {"a", "C:\\dir\\", "c"},
       "bad-escape",
       1},
      {"half a surrogate pair", Wrap(Row(R"(x\ud83dy)", 10)), {"x\xEF\xBF\xBDy"}, "bad-escape", 1},
      {"NaN",
       Wrap(a + R"(,{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 20, "dur": NaN},)" + c),
       {"a", "b", "c"},
       "nan-literal",
       1},
      {"minus infinity", Wrap(Row("a", 10, ", \"x\": -Infinity") + "," + b), {"a", "b"}, nullptr, 0},
      {"comma at the end of a row", Wrap(Row("a", 10, ",") + "," + b), {"a", "b"}, "trailing-comma", 1},
      {"comma at the end of the list", Wrap(a + "," + b + ","), {"a", "b"}, "trailing-comma", 1},
      {"comma missing between rows", Wrap(a + b), {"a", "b"}, "missing-comma", 1},
      {"comma missing inside a row",
       Wrap(a + R"(,{"ph": "X" "cat": "cpu_op", "name": "b", "ts": 20, "dur": 1},)" + c),
       {"a", "b", "c"},
       "missing-comma",
       1},
      {"two commas", Wrap(a + ",," + b), {"a", "b"}, "trailing-comma", 1},
      {"text between rows", Wrap(a + ", oops " + b), {"a", "b"}, "garbage-between-events", 1},
      {"something else among the rows",
       Wrap(a + ", [1, {\"x\": 2}], \"text\", " + b),
       {"a", "b"},
       "non-object-event",
       2},
      {"a brace too many", Wrap(a + "}," + b), {"a", "b"}, "stray-brace", 1},
      {"a bracket for a comma", Wrap(a + "]\n" + b + "," + c), {"a", "b", "c"}, "stray-bracket", 1},
      {"a bracket too many", Wrap(a + "]," + b + "," + c), {"a", "b", "c"}, "stray-bracket", 1},
      {"the end of the outer object", Wrap(a + "]}\n" + b + "," + c), {"a", "b", "c"}, "stray-bracket", 1},
      {"an opening bracket for a comma", Wrap(a + "[\n" + b + "," + c), {"a", "b", "c"}, "stray-bracket", 1},
      {"a bracket for a comma in a bare list", "[" + a + "]" + b + "," + c + "]", {"a", "b", "c"}, "stray-bracket", 1},
      {"row that nothing can be made of", Wrap(a + R"(,{"ph" "X" : : },)" + b), {"a", "b"}, "event-without-phase", 1},
      {"row without a phase",
       Wrap(a + R"(,{"name": "b", "ts": 20, "dur": 1},)" + c),
       {"a", "c"},
       "event-without-phase",
       1},
      {"unknown literal",
       Wrap(a + R"(,{"ph": "X", "cat": "cpu_op", "name": "b", "ts": 20, "dur": 1, "args": {"x": <y>}},)" + c),
       {"a", "b", "c"},
       nullptr,
       0},
      {"cut inside a row", Wrap(a + "," + b).substr(0, Wrap(a + "," + b).size() - 20), {"a"}, "truncated-tail", 1},
      {"cut inside a name",
       Wrap(a + "," + Row("bbbbbbbb", 20)).substr(0, Wrap(a).size() + 40),
       {"a"},
       "truncated-tail",
       1},
      {"cut behind a row", "{\"traceEvents\": [" + a + "," + b, {"a", "b"}, "missing-end", 1},
      {"cut behind a comma", "{\"traceEvents\": [" + a + ",", {"a"}, "missing-end", 1},
      {"a bare list cut behind a row", "[" + a + "," + b, {"a", "b"}, "missing-end", 1},
      {"a bare list cut behind a comma", "[" + a + ",\n", {"a"}, "missing-end", 1},
      {"a bare list cut inside a row", ("[" + a + "," + b).substr(0, a.size() + 20), {"a"}, "truncated-tail", 1},
      {"outer object not closed", "{\"traceEvents\": [" + a + "]", {"a"}, "missing-end", 1},
      {"cut inside metadata",
       "{\"traceEvents\": [" + a + "], \"distributedInfo\": {\"rank\"",
       {"a"},
       "truncated-tail",
       1},
      {"text behind the end", Wrap(a) + "}]", {"a"}, "trailing-garbage", 2},
      {"a second document", Wrap(a) + "\n" + Wrap(b), {"a", "b"}, "second-document", 1},
      {"damaged metadata",
       "{\"x\": {\"a\": \"5\" disk\"}, \"traceEvents\": [" + a + "]}",
       {"a"},
       "metadata-unparsable",
       1},
      {"quotes in a number's place",
       Wrap(R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": "1", "tid": "1", "ts": "10", "dur": "1"})"),
       {"a"},
       "number-as-string",
       1},
      {"the same row twice", Wrap(a + "," + a + "," + b), {"a", "b"}, "duplicate-event", 1},
  };
}

TEST(KinetoDamage, EachIsSurvivedAndCounted) {
  for (const DamageCase& c : Cases()) {
    const Recorded read = ReadTrace(c.text);
    ASSERT_FALSE(read.error.has_value()) << c.what << ": " << read.error->ToString();
    EXPECT_EQ(read.Names(), c.rows) << c.what;
    std::string seen;
    for (const auto& [name, problem] : read.log.problems()) seen += name + " x" + std::to_string(problem.count) + " ";
    if (c.problem != nullptr) {
      EXPECT_EQ(read.log.Count(c.problem), c.count) << c.what << ": " << seen;
    }
  }
}

TEST(KinetoDamage, EveryCountIsExplainedInTheDocumentation) {
  std::ifstream file("docs/data-quality.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const DamageCase& c : Cases()) {
    const Recorded read = ReadTrace(c.text);
    for (const auto& [name, problem] : read.log.problems()) {
      EXPECT_NE(text.str().find("`" + name + "`"), std::string::npos) << name;
    }
  }
}

TEST(KinetoDamage, SoWhateverTheChunks) {
  for (const DamageCase& c : Cases()) {
    const std::string expected = ReadTrace(c.text).Digest();
    for (const size_t chunk : {1, 2, 3, 7, 13, 64, 65}) {
      ASSERT_EQ(ReadTrace(c.text, chunk).Digest(), expected) << c.what << ", chunks of " << chunk;
    }
    KinetoOptions small;
    small.walker.slice = 128;
    ASSERT_EQ(ReadTrace(c.text, 1 << 20, small).Digest(), expected) << c.what;
    KinetoOptions portable;
    portable.scan = ScanPortable;
    ASSERT_EQ(ReadTrace(c.text, 100, portable).Digest(), expected) << c.what;
  }
}

// Cut anywhere, the file gives its whole rows and no error but "no trace".
TEST(KinetoDamage, CutAnywhere) {
  const std::string text = "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [" +
                           Row("a", 10) + ",\n" +
                           Row("b \\\"q\\\" \\\\", 20, R"(, "args": {"External id": 5, "Input Dims": [[1, 2], []]})") +
                           ",\n" + Row("c", 30) + "], \"baseTimeNanoseconds\": 17}";
  const size_t first = text.find("\"traceEvents\"") + 15;
  for (size_t size = 1; size < text.size(); ++size) {
    const Recorded read = ReadTrace(text.substr(0, size), 5);
    if (size <= first) {
      EXPECT_TRUE(read.error.has_value()) << size;
      continue;
    }
    ASSERT_FALSE(read.error.has_value()) << size << ' ' << read.error->ToString();
    size_t whole = 0;
    for (const char* end : {"\"dur\": 1}", "[]]}}", "\"ts\": 30, \"dur\": 1}"}) {
      const size_t at = text.find(end);
      whole += at + std::string_view(end).size() <= size ? 1 : 0;
    }
    EXPECT_EQ(read.rows.events.size(), whole) << text.substr(0, size);
    EXPECT_EQ(read.log.Total(ProblemKind::kRepaired), 0) << size;
  }
}

TEST(KinetoDamage, PlacesAreByteOffsets) {
  const std::string text = Wrap(Row("a", 10) + "," + Row("x\xFFy", 20));
  const Recorded read = ReadTrace(text, 3);
  const Problem& problem = read.log.problems().at("invalid-utf8");
  EXPECT_EQ(problem.first_offset, static_cast<int64_t>(text.rfind("{\"ph\"")));
  EXPECT_TRUE(problem.example.starts_with("{\"ph\": \"X\""));
}

// Memory depends on the longest element allowed, and an element beyond it costs only itself.
TEST(KinetoDamage, LongElements) {
  KinetoOptions options;
  options.walker.longest_element = 4096;
  const std::string big(10'000, 'x');
  const std::string text = "{\"blob\": [\"" + big + "\", {\"a\": [" + std::string(5000, ' ') +
                           "]}], \"host_name\": \"h\", \"traceEvents\": [" + Row("a", 10) + "," + Row(big, 20) + "," +
                           Row("b", 30, ", \"args\": {\"Call stack\": \"" + big + "\"}") + "," + Row("c", 40) + "]}";
  const Recorded read = ReadTrace(text, 1 << 20, options);
  EXPECT_EQ(read.Names(), (Names{"a", "c"}));
  EXPECT_EQ(read.log.Count("event-too-long"), 2);
  EXPECT_EQ(read.log.Count("metadata-too-long"), 1);
  EXPECT_EQ(read.meta.host, "h");
  for (const size_t chunk : {1, 100, 1000, 5000}) {
    EXPECT_EQ(ReadTrace(text, chunk, options).Digest(), read.Digest()) << chunk;
  }
}

// Lengths around the limit and around a slice give the same whatever the chunks.
TEST(KinetoDamage, LengthsAroundTheLimits) {
  KinetoOptions options;
  options.walker.longest_element = 1024;
  options.walker.slice = 256;
  for (size_t length = 900; length < 1100; length += 7) {
    const std::string text = Wrap(Row("a", 10) + "," + Row(std::string(length, 'n'), 20) + "," + Row("c", 30));
    const std::string expected = ReadTrace(text, 1 << 20, options).Digest();
    for (const size_t chunk : {1, 63, 200, 1000})
      EXPECT_EQ(ReadTrace(text, chunk, options).Digest(), expected) << length;
  }
}

// Damage in a long row, too long to be looked at in one slice.
TEST(KinetoDamage, DamageInALongRow) {
  const std::string stack(200'000, 's');
  const std::string text =
      Wrap(Row("a", 10) + "," + Row("b", 20, R"(, "args": {"Module": "x"y", "Call stack": ")" + stack + "\"}") + "," +
           Row("c", 30));
  const Recorded read = ReadTrace(text, 1 << 20);
  EXPECT_EQ(read.Names(), (Names{"a", "b", "c"}));
  EXPECT_EQ(read.log.Count("unescaped-quote"), 1);
  EXPECT_EQ(ReadTrace(text, 1000).Digest(), read.Digest());
}

TEST(KinetoDamage, AnOuterListAsTheOldProfilerWrites) {
  const std::string text = "[" + Row("a", 10) + ", " + R"({"name": "b", "ph": "X", "ts": 20, "dur": 3, "tid": 1,
      "pid": "CPU functions", "args": {}})" +
                           "]";
  const Recorded read = ReadTrace(text, 10);
  EXPECT_FALSE(read.error.has_value());
  EXPECT_EQ(read.Names(), (Names{"a", "b"}));
  EXPECT_EQ(read.meta.lanes.at(read.rows.events[1].lane).name, "CPU functions");
}

struct NoTrace {
  const char* what;
  std::string text;
  const char* says;
};

TEST(KinetoDamage, WhatIsNoTraceIsRefusedInOneSentence) {
  std::string others = "[";
  for (int i = 0; i < 100; ++i) others += (i > 0 ? "," : "") + std::string(R"({"name": "x", "value": 1})");
  const NoTrace cases[] = {
      {"nothing", "", "The file is empty."},
      {"white space", " \n\t ", "The file is empty."},
      {"an image", "\x89PNG\r\n\x1a\n", "PNG"},
      {"compressed", "\x1f\x8b\x08", "compressed"},
      {"words", "hello", "not a trace"},
      {"other JSON", R"({"schema": "1.1", "nodes": [{"id": 1}]})", "no list of traceEvents"},
      {"a list of lists", "[[1, 2], [3]]", "not of trace events"},
      {"a list of numbers", "[1, 2, 3]", "not of trace events"},
      {"a list of strings", "[\"a\"]", "not of trace events"},
      {"a list of other objects", others + "]", "no trace events"},
      {"a short one", R"([{"name": "x"}])", "no trace events"},
      {"a short one, cut off", R"([{"name": "x"})", "no trace events"},
      {"a list cut off in its first element", R"([{"ph": "X", "na)", "no list of traceEvents"},
      {"no value", R"({"traceEvents": 5})", "no list of traceEvents"},
  };
  for (const NoTrace& c : cases) {
    for (const size_t chunk : {size_t{1}, size_t{1} << 20}) {
      KinetoOptions options;
      options.source = "x.json";
      const Recorded read = ReadTrace(c.text, chunk, options);
      ASSERT_TRUE(read.error.has_value()) << c.what;
      EXPECT_NE(read.error->message.find(c.says), std::string::npos) << c.what << ": " << read.error->ToString();
      EXPECT_TRUE(read.error->where.starts_with("x.json")) << read.error->ToString();
      EXPECT_EQ(read.error->message.back(), '.');
    }
  }
}

TEST(KinetoDamage, AnEmptyListIsATraceWithoutRows) {
  EXPECT_FALSE(ReadTrace(R"({"traceEvents": []})").error.has_value());
  EXPECT_FALSE(ReadTrace(R"({"traceEvents": [], "distributedInfo": {"rank": 3}})", 1).error.has_value());
  EXPECT_FALSE(ReadTrace("\xEF\xBB\xBF {\"traceEvents\": [" + Row("a", 1) + "]}", 1).error.has_value());
}

}  // namespace
}  // namespace headway::trace::kineto
