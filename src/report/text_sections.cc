// SPDX-License-Identifier: Apache-2.0
#include "report/text_sections.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/definitions.h"
#include "report/format.h"
#include "report/text_layout.h"
#include "report/text_pictures.h"

namespace headway::report {
namespace {

std::string FactLines(const std::vector<Fact>& facts, int width) {
  int label_width = 0;
  for (const Fact& fact : facts) label_width = std::max(label_width, DisplayWidth(Printable(fact.label)));
  label_width = std::min({label_width, 40, width / 2});
  std::string out;
  for (const Fact& fact : facts) {
    std::string text = FormatValue(fact.value, fact.unit);
    if (!fact.note.empty()) text += " (" + fact.note + ")";
    out += Hanging(PadRight(Truncate(Printable(fact.label), label_width), label_width) + "  ", text, width);
  }
  return out;
}

// Rows [0, end) of which `shown` units (a pair is one) are kept.
size_t RowsOfUnits(const std::vector<Table::Row>& rows, size_t units) {
  size_t seen = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool same = i > 0 && rows[i].pair >= 0 && rows[i].pair == rows[i - 1].pair;
    if (!same && ++seen > units) return i;
  }
  return rows.size();
}

size_t CountUnits(const std::vector<Table::Row>& rows, size_t from) {
  size_t units = 0;
  for (size_t i = from; i < rows.size(); ++i) {
    if (i == from || rows[i].pair < 0 || rows[i].pair != rows[i - 1].pair) ++units;
  }
  return units;
}

std::string RoleWord(Table::RowRole role) {
  switch (role) {
    case Table::RowRole::kAbnormal: return "abnormal";
    case Table::RowRole::kNormal: return "  normal";
    case Table::RowRole::kPlain: break;
  }
  return "";
}

std::string TableText(const Table& table, const TextOptions& options) {
  const int32_t top = options.rows >= 0 ? options.rows : table.top;
  const size_t end = top == 0 ? table.rows.size() : RowsOfUnits(table.rows, static_cast<size_t>(top));
  const bool roles =
      std::ranges::any_of(table.rows, [](const auto& row) { return row.role != Table::RowRole::kPlain; });
  TextTable text;
  text.rows.resize(end);
  if (roles) {
    text.columns.push_back({"", false});
    for (size_t i = 0; i < end; ++i) text.rows[i].push_back(RoleWord(table.rows[i].role));
  }
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Table::Column& column = table.columns[c];
    std::vector<Value> values;
    for (size_t i = 0; i < end; ++i) values.push_back(table.rows[i].cells[c]);
    const ColumnFormat format = FormatForColumn(values, column.unit);
    text.columns.push_back(
        {Printable(column.title) + (format.suffix.empty() ? "" : " " + format.suffix), IsNumeric(column.unit)});
    for (size_t i = 0; i < end; ++i) text.rows[i].push_back(Printable(format.Cell(values[i])));
  }
  std::string out = text.Render(options.width, "");
  if (end < table.rows.size()) {
    out += MoreLine(CountUnits(table.rows, end), "row", options);
  }
  for (const std::string& note : table.notes) out += Hanging("", note, options.width);
  return out;
}

std::string ChartText(const Chart& chart, const TextOptions& options) {
  Table table;
  table.top = 24;
  table.columns.push_back({chart.x_name, chart.x_unit, ""});
  if (!chart.labels.empty()) table.columns.push_back({"", Unit::kText, ""});
  for (const Chart::Series& series : chart.series) table.columns.push_back({series.name, chart.y_unit, ""});
  const auto number = [](double value, Unit unit) -> Value {
    if (!std::isfinite(value)) return {};
    const bool integer = unit == Unit::kRank || unit == Unit::kStep || unit == Unit::kCount ||
                         unit == Unit::kDuration || unit == Unit::kBytes;
    if (integer) return static_cast<int64_t>(std::llround(value));
    return value;
  };
  for (size_t i = 0; i < chart.x.size(); ++i) {
    Table::Row row;
    row.cells.push_back(number(chart.x[i], chart.x_unit));
    if (!chart.labels.empty()) row.cells.emplace_back(chart.labels[i]);
    for (const Chart::Series& series : chart.series) row.cells.push_back(number(series.values[i], chart.y_unit));
    table.rows.push_back(std::move(row));
  }
  return TableText(table, options);
}

struct BodyText {
  const ReportDoc& doc;
  const TextOptions& options;

  std::string operator()(const Text& body) const {
    std::string out;
    for (const std::string& paragraph : body.paragraphs) out += Hanging("", paragraph, options.width);
    return out;
  }
  std::string operator()(const Facts& body) const { return FactLines(body.facts, options.width); }
  std::string operator()(const Waterfall& body) const { return WaterfallText(body, options); }
  std::string operator()(const StackedBars& body) const { return StackedBarsText(doc, body, options); }
  std::string operator()(const HeatStrip& body) const { return HeatStripText(doc, body, options); }
  std::string operator()(const Timeline& body) const { return TimelineText(body, options); }
  std::string operator()(const Table& body) const { return TableText(body, options); }
  std::string operator()(const Chart& body) const { return ChartText(body, options); }
};

}  // namespace

std::string RankName(const ReportDoc& doc, RankId rank) {
  std::string name = "rank " + std::to_string(rank);
  const auto place = std::ranges::lower_bound(doc.places, rank, {}, &RankPlace::rank);
  if (place == doc.places.end() || place->rank != rank) return name;
  if (place->host.empty() && place->device.empty()) return name;
  const std::string between = place->host.empty() || place->device.empty() ? "" : ", ";
  return name + " (" + Printable(place->host) + between + Printable(place->device) + ")";
}

std::string MoreLine(size_t left, const std::string& noun, const TextOptions& options) {
  const std::string how = options.rows_option.empty() ? "" : " (" + options.rows_option + " 0 shows all)";
  return Counted(static_cast<int64_t>(left), "more " + noun) + ", not shown" + how + "\n";
}

std::string SectionText(const ReportDoc& doc, const Section& section, const TextOptions& options) {
  std::string out = Hanging("", section.title, options.width);
  if (!section.intro.empty()) out += Hanging("", section.intro, options.width);
  return out + std::visit(BodyText{doc, options}, section.body);
}

std::string NotCheckedText(const ReportDoc& doc, const TextOptions& options) {
  std::string out = "What was not looked at\n";
  if (doc.not_checked.empty()) out += "nothing: every analysis could look\n";
  for (const NotChecked& entry : doc.not_checked) {
    out += Hanging("", entry.what + (entry.why.empty() ? "" : ": " + entry.why), options.width);
  }
  return out;
}

std::string DataQualityText(const ReportDoc& doc, const TextOptions& options) {
  std::string out = "Data quality\n";
  if (!doc.data_quality.summary.empty()) out += Hanging("", doc.data_quality.summary, options.width);
  out += FactLines(doc.data_quality.facts, options.width);
  if (doc.data_quality.problems.empty()) return out;
  std::vector<Fact> problems;
  for (const DataQuality::Problem& problem : doc.data_quality.problems) {
    const std::string what = FormatCount(problem.count) + (problem.what.empty() ? "" : " " + problem.what);
    problems.push_back(
        {problem.problem, what, Unit::kText, problem.where.empty() ? "" : "first: " + problem.where, ""});
  }
  return out + FactLines(problems, options.width);
}

std::string DefinitionsText(const ReportDoc& doc, const TextOptions& options) {
  std::string out = "How the numbers are defined\n";
  for (const Definition& definition : DefinitionsFor(doc)) {
    out += Hanging("", std::string(definition.title) + ": " + std::string(definition.text), options.width);
  }
  return out;
}

}  // namespace headway::report
