// SPDX-License-Identifier: Apache-2.0
#include "report/page_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json_cursor.h"

namespace headway::report {
namespace {

JsonDocument Parsed(const ReportDoc& doc) {
  Result<JsonDocument> document = JsonDocument::Parse(PageJson(doc), "page");
  if (!document) ADD_FAILURE() << document.error().ToString();
  return std::move(*document);
}

JsonCursor FirstSection(const JsonDocument& document) { return document.root().Get("sections")->Children()[0]; }

TEST(PageJson, AnEmptyReportIsWhole) {
  const JsonDocument document = Parsed({});
  for (const char* key :
       {"header", "findings", "sections", "not_checked", "commands", "definitions", "steps", "key_facts"}) {
    EXPECT_EQ(document.root().Get(key)->size(), 0U) << key;
  }
  EXPECT_TRUE(document.root().Get("headline")->Get("now")->is_null());
}

TEST(PageJson, MissingCellsAreNullAndNumbersStayExact) {
  HeatStrip strip;
  strip.rows = {{0, ""}, {1, ""}};
  strip.columns = {7};
  strip.metrics = {{"a", Unit::kDuration, "own-time", {5, HeatStrip::kMissing}, {}, true},
                   {"b", Unit::kShare, "", {}, {0.25F, std::numeric_limits<float>::quiet_NaN()}, false}};
  ReportDoc doc;
  doc.sections = {{"heat", "Heat", "", strip, false}};
  const JsonDocument document = Parsed(doc);
  const auto metrics = FirstSection(document).Get("metrics")->Children();
  EXPECT_EQ(*metrics[0].Get("values")->Children()[0].AsInt(), 5);
  EXPECT_TRUE(metrics[0].Get("values")->Children()[1].is_null());
  EXPECT_DOUBLE_EQ(*metrics[1].Get("values")->Children()[0].AsDouble(), 0.25);
  EXPECT_TRUE(metrics[1].Get("values")->Children()[1].is_null());
  // The metric's term brings its definition along.
  EXPECT_EQ(*document.root().Get("definitions")->Children()[0].GetString("term"), "own-time");
}

TEST(PageJson, IntegersAPageCannotHoldAreStrings) {
  Table table;
  table.columns = {{"n", Unit::kCount, ""}};
  table.rows = {{.cells = {int64_t{1} << 53}}, {.cells = {(int64_t{1} << 53) + 1}}, {.cells = {Value{}}}};
  ReportDoc doc;
  doc.sections = {{"t", "T", "", table, false}};
  const JsonDocument document = Parsed(doc);
  const auto rows = FirstSection(document).Get("rows")->Children();
  const auto cell = [&](size_t row) { return rows[row].Get("cells")->Children()[0]; };
  EXPECT_EQ(*cell(0).AsInt(), 9'007'199'254'740'992);
  EXPECT_EQ(*cell(1).AsString(), "9007199254740993");
  EXPECT_TRUE(cell(2).is_null());
}

TEST(PageJson, RectanglesAreColumns) {
  Timeline timeline;
  timeline.origin = 1'762'165'843'120'004'511;
  timeline.names = {"gemm"};
  timeline.lanes = {{"rank 0", "compute", 0, Mark::kVictim}};
  timeline.rects = {{0, 10, 20, TimeClass::kTransfer, 0, Mark::kCulprit}};
  ReportDoc doc;
  doc.sections = {{"timeline", "T", "", timeline, false}};
  const JsonDocument document = Parsed(doc);
  const JsonCursor section = FirstSection(document);
  EXPECT_EQ(*section.GetString("origin"), "1762165843120004511");
  const JsonCursor rects = *section.Get("rects");
  EXPECT_EQ(*rects.Get("start")->Children()[0].AsInt(), 10);
  // Positions in kTimeClasses and kMarks of web/src/doc.ts: transfer is the third class, culprit the second mark.
  EXPECT_EQ(*rects.Get("time_class")->Children()[0].AsInt(), 2);
  EXPECT_EQ(*rects.Get("mark")->Children()[0].AsInt(), 1);
}

}  // namespace
}  // namespace headway::report
