// SPDX-License-Identifier: Apache-2.0
// Rules of Perfetto's JSON importer, on the inputs of its own tests: what they say is read, in whatever form it is
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/outside/read_job.h"
#include "trace/importers/kineto/recorded_rows.h"

namespace headway::trace::kineto {
namespace {

// Name, start and duration in us, process, thread.
using Row = std::tuple<std::string, int64_t, int64_t, int64_t, int64_t>;

std::vector<Row> RowsOf(const Recorded& read) {
  std::vector<Event> events = read.rows.events;
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.start, a.duration, a.name) < std::tie(b.start, b.duration, b.name);
  });
  std::vector<Row> rows;
  for (const Event& e : events) {
    const Lane& lane = read.meta.lanes.at(e.lane);
    rows.emplace_back(read.Name(e.name), e.start / kMicrosecond, e.duration / kMicrosecond, lane.pid, lane.tid);
  }
  return rows;
}

class PerfettoFile : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT(Folder()); }
  static std::string Folder() { return SharedData() + "/perfetto"; }
  static std::string Text(const std::string& name) {
    std::ifstream in(Folder() + "/" + name);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // The objects of traceEvents as written; none of these files has a brace inside a string.
  static std::vector<std::string> Events(const std::string& text) {
    std::vector<std::string> events;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = text.find('[') + 1; i < text.size() && (depth > 0 || text[i] != ']'); ++i) {
      if (text[i] == '{' && depth++ == 0) begin = i;
      if (text[i] == '}' && --depth == 0) events.push_back(text.substr(begin, i + 1 - begin));
    }
    return events;
  }
  static std::string Join(const std::vector<std::string>& events) {
    std::string out;
    for (const std::string& event : events) out += (out.empty() ? "" : ",\n") + event;
    return out;
  }
  static constexpr const char* kFiles[] = {"connected_flow_data.json", "flow_events_json_v1.json",
                                           "flow_events_json_v2.json"};
};

// Read off the files by hand: flows of either version are arrows and no rows; a begin and its end are one row.
TEST_F(PerfettoFile, RowsAndFlows) {
  const Recorded v1 = ReadTrace(Text("flow_events_json_v1.json"));
  EXPECT_EQ(RowsOf(v1), (std::vector<Row>{{"SenderB", 0, 10, 15903, 15904},
                                          {"Blergh", 1002, 100, 15875, 15895},
                                          {"SenderA", 3002, 10, 15902, 15903},
                                          {"OtherSlice", 3200, 500, 15774, 15794},
                                          {"SomeSlice", 3331, 400, 15874, 15894}}));
  EXPECT_EQ(v1.log.problems().at("flow-row").count, 5);  // two starts, a step, two ends
  const Recorded v2 = ReadTrace(Text("flow_events_json_v2.json"));
  EXPECT_EQ(RowsOf(v2), (std::vector<Row>{{"SenderB", 0, 10, 15903, 15904},
                                          {"Blergh", 1001, 100, 15875, 15895},
                                          {"SenderA", 3002, 10, 15902, 15903},
                                          {"OtherSlice", 3200, 500, 15774, 15794},
                                          {"SomeSlice", 3331, 400, 15874, 15894},
                                          {"SomeOtherSlice", 3333, 997, 15875, 15895},  // begun 3333, ended 4330
                                          {"SomeOtherSliceInstant", 3366, 0, 15875, 15895}}));
  EXPECT_EQ(RowsOf(ReadTrace(Text("connected_flow_data.json"))).size(), 11U);
  for (const char* file : kFiles) EXPECT_EQ(ReadTrace(Text(file)).log.Total(ProblemKind::kDropped), 0) << file;
}

TEST_F(PerfettoFile, AListWithoutItsClosingBracket) {
  for (const char* file : kFiles) {
    const std::string text = Text(file);
    const std::vector<Row> rows = RowsOf(ReadTrace(text));
    const Recorded open = ReadTrace("{\"traceEvents\": [" + Join(Events(text)));
    EXPECT_EQ(RowsOf(open), rows) << file;
    EXPECT_EQ(open.log.Total(ProblemKind::kDropped), 0) << file;
    const Recorded bare = ReadTrace("[" + Join(Events(text)));  // the list alone
    EXPECT_EQ(RowsOf(bare), rows) << file;
  }
}

TEST_F(PerfettoFile, RowsInAnyOrder) {
  for (const char* file :
       {"connected_flow_data.json", "flow_events_json_v1.json"}) {  // the other has a begin and an end
    const std::string text = Text(file);
    std::vector<std::string> events = Events(text);
    std::reverse(events.begin(), events.end());
    EXPECT_EQ(RowsOf(ReadTrace("{\"traceEvents\": [" + Join(events) + "]}")), RowsOf(ReadTrace(text))) << file;
  }
}

TEST_F(PerfettoFile, ProcessAndThreadAsStrings) {
  for (const char* file : kFiles) {
    const std::string text = Text(file);
    const std::string quoted = std::regex_replace(text, std::regex("(\"[pt]id\": *)([0-9]+)"), "$1\"$2\"");
    ASSERT_NE(quoted, text);
    EXPECT_EQ(RowsOf(ReadTrace(quoted)), RowsOf(ReadTrace(text))) << file;
  }
}

TEST_F(PerfettoFile, DisplayTimeUnitChangesNoUnitAndTimesMayHaveFractions) {
  for (const char* file : kFiles) {
    const std::string text = Text(file);
    for (const char* unit : {"ms", "ns"}) {
      const std::string with =
          "{\"displayTimeUnit\": \"" + std::string(unit) + "\", \"traceEvents\": [" + Join(Events(text)) + "]}";
      EXPECT_EQ(RowsOf(ReadTrace(with)), RowsOf(ReadTrace(text))) << file << " " << unit;
    }
    const Recorded fractions = ReadTrace(std::regex_replace(text, std::regex("(\"ts\": *[0-9]+)"), "$1.125"));
    for (const Event& event : fractions.rows.events) EXPECT_EQ(event.start % kMicrosecond, 125) << file;
  }
}

TEST_F(PerfettoFile, ARowWithoutItsDurationIsKeptAsUnfinished) {
  const std::string text =
      std::regex_replace(Text("flow_events_json_v1.json"),
                         std::regex("(\"name\": \"OtherSlice\",\\s*\"args\":\\s*\\{\\}),\\s*\"dur\": 500"), "$1");
  const Recorded read = ReadTrace(text);
  int unfinished = 0;
  for (const Event& event : read.rows.events) {
    if ((event.flags & kFlagUnfinished) == 0) continue;
    ++unfinished;
    EXPECT_EQ(read.Name(event.name), "OtherSlice");
  }
  EXPECT_EQ(unfinished, 1);
  EXPECT_EQ(read.rows.events.size(), 5U);
  EXPECT_EQ(read.log.problems().at("unfinished-event").count, 1);
}

}  // namespace
}  // namespace headway::trace::kineto
