// SPDX-License-Identifier: Apache-2.0
#include "report/page_sections.h"

#include <algorithm>

namespace headway::report {
namespace {

constexpr int64_t kLargestExact = int64_t{1} << 53;

// Behind the point, enough for what the page shows of that unit.
int DigitsOf(Unit unit) {
  switch (unit) {
    case Unit::kShare: return 5;
    case Unit::kRatio: return 4;
    case Unit::kBytesPerSecond:
    case Unit::kDuration: return 0;
    default: return 6;
  }
}

void WriteValue(const Value& value, Unit unit, JsonWriter* json) {
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    WriteInteger(*integer, json);
  } else if (const auto* real = std::get_if<double>(&value)) {
    json->Double(*real, DigitsOf(unit));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    json->String(*text);
  } else {
    json->Null();
  }
}

const char* NameOf(Waterfall::Role role) {
  switch (role) {
    case Waterfall::Role::kPart: return "part";
    case Waterfall::Role::kWithin: return "within";
    case Waterfall::Role::kTotal: break;
  }
  return "total";
}

const char* NameOf(Table::RowRole role) {
  switch (role) {
    case Table::RowRole::kPlain: return "plain";
    case Table::RowRole::kAbnormal: return "abnormal";
    case Table::RowRole::kNormal: break;
  }
  return "normal";
}

void WriteMetric(const HeatStrip::Metric& metric, JsonWriter* json) {
  json->BeginObject().Field("name", metric.name).Field("unit", ToString(metric.unit)).Field("term", metric.term);
  json->Field("higher_is_worse", metric.higher_is_worse).Key("values").BeginArray();
  for (const int64_t value : metric.integers) {
    if (value == HeatStrip::kMissing) {
      json->Null();
    } else {
      WriteInteger(value, json);
    }
  }
  for (const float value : metric.floats) json->Double(static_cast<double>(value), DigitsOf(metric.unit));
  json->EndArray().EndObject();
}

template <typename Member>
void WriteColumn(std::string_view key, const std::vector<Timeline::Rect>& rects, Member member, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const Timeline::Rect& rect : rects) json->Int(static_cast<int64_t>(rect.*member));
  json->EndArray();
}

void WriteRects(const std::vector<Timeline::Rect>& rects, JsonWriter* json) {
  json->Key("rects").BeginObject();
  WriteColumn("lane", rects, &Timeline::Rect::lane, json);
  WriteColumn("start", rects, &Timeline::Rect::start, json);
  WriteColumn("duration", rects, &Timeline::Rect::duration, json);
  WriteColumn("time_class", rects, &Timeline::Rect::time_class, json);
  WriteColumn("name", rects, &Timeline::Rect::name, json);
  if (std::ranges::any_of(rects, [](const Timeline::Rect& rect) { return rect.mark != Mark::kNone; })) {
    WriteColumn("mark", rects, &Timeline::Rect::mark, json);
  } else {
    json->Key("mark").Null();
  }
  json->EndObject();
}

// Writes the fields of a body into the section's open object.
struct BodyWriter {
  JsonWriter* json;

  void operator()(const Text& body) const {
    json->Key("paragraphs");
    WriteStrings(body.paragraphs, json);
  }
  void operator()(const Facts& body) const { WriteFacts("facts", body.facts, json); }
  void operator()(const Waterfall& body) const {
    json->Key("items").BeginArray();
    for (const Waterfall::Item& item : body.items) {
      json->BeginObject().Field("name", item.name).Field("time_class", ToString(item.time_class));
      json->Field("role", NameOf(item.role)).Field("value", item.value).Field("note", item.note);
      json->Field("term", item.term).EndObject();
    }
    json->EndArray();
  }
  void operator()(const StackedBars& body) const {
    json->Key("bars").BeginArray();
    for (const StackedBars::Bar& bar : body.bars) {
      json->BeginObject()
          .Field("rank", bar.rank)
          .Field("label", bar.label)
          .Field("mark", ToString(bar.mark))
          .EndObject();
    }
    json->EndArray().Key("series").BeginArray();
    for (const StackedBars::Series& series : body.series) {
      json->BeginObject().Field("name", series.name).Field("time_class", ToString(series.time_class));
      json->Field("own", series.own).Field("term", series.term).Key("values");
      WriteIntegers(series.values, json);
      json->EndObject();
    }
    json->EndArray().Field("reference", body.reference);
  }
  void operator()(const HeatStrip& body) const {
    json->Field("row_name", body.row_name).Field("column_name", body.column_name).Key("rows").BeginArray();
    for (const HeatStrip::Row& row : body.rows) {
      json->BeginObject().Field("rank", row.rank).Field("label", row.label).EndObject();
    }
    json->EndArray().Key("columns");
    WriteIntegers(body.columns, json);
    json->Key("metrics").BeginArray();
    for (const HeatStrip::Metric& metric : body.metrics) WriteMetric(metric, json);
    json->EndArray();
  }
  void operator()(const Timeline& body) const {
    json->Field("finding", body.finding).Field("origin", std::to_string(body.origin)).Field("length", body.length);
    json->Field("clock_residual", body.clock_residual).Field("legend", body.legend).Key("names");
    WriteStrings(body.names, json);
    json->Key("lanes").BeginArray();
    for (const Timeline::Lane& lane : body.lanes) {
      json->BeginObject().Field("owner", lane.owner).Field("label", lane.label).Field("rank", lane.rank);
      json->Field("mark", ToString(lane.mark)).EndObject();
    }
    json->EndArray();
    WriteRects(body.rects, json);
    json->Key("arrows").BeginArray();
    for (const Timeline::Arrow& arrow : body.arrows) {
      json->BeginObject().Field("from_lane", arrow.from_lane).Field("to_lane", arrow.to_lane);
      json->Field("from", arrow.from).Field("to", arrow.to).Field("name", arrow.name).EndObject();
    }
    json->EndArray().Key("ticks").BeginArray();
    for (const Timeline::Tick& tick : body.ticks) {
      json->BeginObject().Field("at", tick.at).Field("label", tick.label).EndObject();
    }
    json->EndArray();
  }
  void operator()(const Table& body) const {
    json->Key("columns").BeginArray();
    for (const Table::Column& column : body.columns) {
      json->BeginObject()
          .Field("title", column.title)
          .Field("unit", ToString(column.unit))
          .Field("term", column.term)
          .EndObject();
    }
    json->EndArray().Key("rows").BeginArray();
    for (const Table::Row& row : body.rows) {
      json->BeginObject().Key("cells").BeginArray();
      for (size_t c = 0; c < row.cells.size(); ++c) WriteValue(row.cells[c], body.columns[c].unit, json);
      json->EndArray().Field("role", NameOf(row.role)).Field("pair", row.pair).Field("rank", row.rank).EndObject();
    }
    json->EndArray().Field("sort_column", body.sort_column).Field("descending", body.descending).Key("notes");
    WriteStrings(body.notes, json);
  }
  void operator()(const Chart& body) const {
    json->Field("x_name", body.x_name).Field("x_unit", ToString(body.x_unit));
    json->Field("y_name", body.y_name).Field("y_unit", ToString(body.y_unit)).Key("x").BeginArray();
    for (const double x : body.x) json->Double(x, DigitsOf(body.x_unit));
    json->EndArray().Key("labels");
    WriteStrings(body.labels, json);
    json->Key("series").BeginArray();
    for (const Chart::Series& series : body.series) {
      json->BeginObject().Field("name", series.name).Field("time_class", ToString(series.time_class));
      json->Field("points", series.points).Key("values").BeginArray();
      for (const double value : series.values) json->Double(value, DigitsOf(body.y_unit));
      json->EndArray().EndObject();
    }
    json->EndArray();
  }
};

}  // namespace

void WriteInteger(int64_t value, JsonWriter* json) {
  if (value > kLargestExact || value < -kLargestExact) {
    json->String(std::to_string(value));
  } else {
    json->Int(value);
  }
}

void WriteStrings(const std::vector<std::string>& values, JsonWriter* json) {
  json->BeginArray();
  for (const std::string& value : values) json->String(value);
  json->EndArray();
}

void WriteFacts(std::string_view key, const std::vector<Fact>& facts, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const Fact& fact : facts) {
    json->BeginObject().Field("label", fact.label).Key("value");
    WriteValue(fact.value, fact.unit, json);
    json->Field("unit", ToString(fact.unit)).Field("note", fact.note).Field("term", fact.term).EndObject();
  }
  json->EndArray();
}

void WriteSection(const Section& section, JsonWriter* json) {
  json->BeginObject().Field("name", section.name).Field("title", section.title).Field("intro", section.intro);
  json->Field("kind", KindOf(section.body));
  std::visit(BodyWriter{json}, section.body);
  json->EndObject();
}

}  // namespace headway::report
