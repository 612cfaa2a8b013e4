// SPDX-License-Identifier: Apache-2.0
#include "report/text_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "report/format.h"
#include "report/text_layout.h"
#include "report/text_sections.h"

namespace headway::report {
namespace {

constexpr size_t kRowsShown = 20;

double ShareOf(Nanos part, Nanos whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Nanos TotalOf(const Waterfall& waterfall) {
  Nanos sum = 0;
  for (const Waterfall::Item& item : waterfall.items) {
    if (item.role == Waterfall::Role::kTotal) return item.value;
    if (item.role == Waterfall::Role::kPart) sum += item.value;
  }
  return sum;
}

struct Stretch {
  Nanos from = 0;
  Nanos to = 0;
};

// Where each item's bar lies; the same rule as placeItems in web/src/waterfall.tsx.
std::vector<Stretch> PlaceItems(const Waterfall& waterfall) {
  std::vector<Stretch> places;
  Nanos sum = 0;
  Nanos within = 0;
  for (const Waterfall::Item& item : waterfall.items) {
    if (item.role == Waterfall::Role::kTotal) {
      sum = item.value;
      places.push_back({0, item.value});
    } else if (item.role == Waterfall::Role::kWithin) {
      places.push_back({within, within + item.value});
      within += item.value;
    } else {
      within = std::min(sum, sum + item.value);
      places.push_back({within, std::max(sum, sum + item.value)});
      sum += item.value;
    }
  }
  return places;
}

std::string Offset(Nanos from, Nanos top, int cells) {
  return std::string(static_cast<size_t>(std::floor(ShareOf(from, top) * cells)), ' ');
}

std::vector<Nanos> OwnTimes(const StackedBars& bars) {
  std::vector<Nanos> own(bars.bars.size(), 0);
  for (const StackedBars::Series& series : bars.series) {
    if (!series.own) continue;
    for (size_t i = 0; i < own.size(); ++i) own[i] += series.values[i];
  }
  return own;
}

size_t LimitOf(const TextOptions& options, size_t rows) {
  if (options.rows == 0) return rows;
  return std::min(rows, options.rows > 0 ? static_cast<size_t>(options.rows) : kRowsShown);
}

std::string Remainder(size_t shown, size_t all, const std::string& noun, const TextOptions& options) {
  return shown >= all ? "" : MoreLine(all - shown, noun, options);
}

// NaN = no value there.
double CellAt(const HeatStrip::Metric& metric, size_t index) {
  if (!metric.integers.empty()) {
    const int64_t value = metric.integers[index];
    return value == HeatStrip::kMissing ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
  }
  return static_cast<double>(metric.floats[index]);
}

Value ValueOf(double value, Unit unit) {
  if (!std::isfinite(value)) return {};
  if (unit == Unit::kDuration || unit == Unit::kBytes || unit == Unit::kCount)
    return static_cast<int64_t>(std::llround(value));
  return value;
}

struct Range {
  double low = 0;
  double high = 0;
};

Range RangeOf(const HeatStrip::Metric& metric, size_t cells) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < cells; ++i) {
    const double value = CellAt(metric, i);
    if (std::isnan(value)) continue;
    range = {std::min(range.low, value), std::max(range.high, value)};
  }
  return range;
}

// The worst value of a row, as badness: larger is worse.
double Badness(const HeatStrip::Metric& metric, size_t row, size_t columns) {
  double worst = -std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < columns; ++c) {
    const double value = CellAt(metric, row * columns + c);
    if (!std::isnan(value)) worst = std::max(worst, metric.higher_is_worse ? value : -value);
  }
  return worst;
}

std::string_view ShadeOf(double value, const Range& range, bool higher_is_worse) {
  static constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
  if (std::isnan(value)) return "×";
  if (range.high <= range.low) return kShades[0];
  const double share = (value - range.low) / (range.high - range.low);
  return kShades[static_cast<size_t>(std::clamp(std::floor((higher_is_worse ? share : 1 - share) * 5), 0.0, 4.0))];
}

// The worst of the steps that share a character.
double WorstOf(const HeatStrip::Metric& metric, size_t row, size_t columns, size_t from, size_t to) {
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (size_t c = from; c < to; ++c) {
    const double value = CellAt(metric, row * columns + c);
    if (std::isnan(value)) continue;
    if (std::isnan(worst) || (metric.higher_is_worse ? value > worst : value < worst)) worst = value;
  }
  return worst;
}

constexpr char kNothing = ' ';

char LetterOf(TimeClass time_class) {
  switch (time_class) {
    case TimeClass::kCompute: return 'C';
    case TimeClass::kMemory: return 'm';
    case TimeClass::kTransfer: return 't';
    case TimeClass::kWait: return 'w';
    case TimeClass::kHost: return 'h';
    case TimeClass::kInput: return 'i';
    case TimeClass::kIdle: return '.';
    case TimeClass::kBubble: return '.';
    case TimeClass::kOwn: return 'o';
    case TimeClass::kOther: return '-';
  }
  return kNothing;
}

// For each character of a lane, the class with most time in it; a character more than half empty stays blank.
std::string LaneLine(const Timeline& timeline, uint32_t lane, int cells) {
  using Times = std::array<Nanos, static_cast<size_t>(TimeClass::kOther) + 1>;
  std::vector<Times> times(static_cast<size_t>(cells), Times{});
  const auto edge = [&](size_t cell) {
    return static_cast<Nanos>(static_cast<double>(timeline.length) * static_cast<double>(cell) / cells);
  };
  for (const Timeline::Rect& rect : timeline.rects) {
    if (rect.lane != lane) continue;
    const Nanos end = rect.start + rect.duration;
    const double scale = cells / static_cast<double>(std::max<Nanos>(timeline.length, 1));
    auto cell = static_cast<size_t>(std::clamp(static_cast<double>(rect.start) * scale - 1, 0.0, cells - 1.0));
    for (; cell < times.size() && edge(cell) < end; ++cell) {
      const Nanos covered = std::min(end, edge(cell + 1)) - std::max(rect.start, edge(cell));
      if (covered > 0) times[cell][static_cast<size_t>(rect.time_class)] += covered;
    }
  }
  std::string line;
  for (const Times& cell : times) {
    const auto most = std::ranges::max_element(cell);
    const Nanos sum = std::accumulate(cell.begin(), cell.end(), Nanos{0});
    const bool filled = 2 * sum > timeline.length / cells;
    line.push_back(filled ? LetterOf(static_cast<TimeClass>(most - cell.begin())) : kNothing);
  }
  return line;
}

}  // namespace

std::string WaterfallText(const Waterfall& waterfall, const TextOptions& options) {
  const std::vector<Stretch> places = PlaceItems(waterfall);
  const Nanos total = TotalOf(waterfall);
  Nanos top = 1;
  std::vector<Value> values;
  for (size_t i = 0; i < places.size(); ++i) {
    top = std::max(top, places[i].to);
    values.emplace_back(waterfall.items[i].value);
  }
  const ColumnFormat format = FormatForColumn(values, Unit::kDuration);
  // The bars take what names (with "of it" before them) and numbers leave; with too little they say nothing.
  constexpr int kMostCells = 32, kLeastCells = 8, kNamesAndNumbers = 44;
  const int room = std::min(kMostCells, options.width - kNamesAndNumbers);
  const int cells = room < kLeastCells ? 0 : room;
  TextTable table;
  table.columns = {{"part", false}, {format.suffix, true}, {"share", true}, {"", false}};
  for (size_t i = 0; i < places.size(); ++i) {
    const Waterfall::Item& item = waterfall.items[i];
    const std::string name = (item.role == Waterfall::Role::kWithin ? "  of it " : "") + Printable(item.name);
    table.rows.push_back({name, format.Cell(item.value), FormatShare(ShareOf(item.value, total)),
                          cells == 0 ? ""
                                     : Offset(places[i].from, top, cells) +
                                           BlockBar(ShareOf(places[i].to - places[i].from, top), cells)});
  }
  return table.Render(options.width, "");
}

std::string BreakdownLine(const Waterfall& waterfall, int width) {
  const Nanos total = TotalOf(waterfall);
  Nanos largest = 0;
  for (const Waterfall::Item& item : waterfall.items) {
    if (item.role == Waterfall::Role::kPart) largest = std::max(largest, item.value);
  }
  std::vector<std::string> pieces;
  bool bar_drawn = false;
  bool open = false;  // the part before was shown, and may be followed by what is within it
  for (const Waterfall::Item& item : waterfall.items) {
    const double share = ShareOf(item.value, total);
    if (item.role == Waterfall::Role::kTotal || share < 0.005) {
      if (item.role == Waterfall::Role::kPart) open = false;
      continue;
    }
    const std::string text = Printable(item.name) + " " + FormatPercent(share);
    if (item.role == Waterfall::Role::kWithin) {
      if (!open) continue;
      const bool more = pieces.back().ends_with(')');
      if (more) pieces.back().pop_back();
      pieces.back() += (more ? ", " : " (of it ") + text + ")";
      continue;
    }
    open = true;
    pieces.push_back(text);
    if (item.value == largest && !bar_drawn) {
      pieces.back() += "  " + BlockBar(share, 20);
      bar_drawn = true;
    }
  }
  return pieces.empty() ? "" : FlowPieces(PadRight("step time", 12), pieces, "   ", width);
}

// Leaves series out, those that are smallest everywhere first, until the others fit the width; the names of these.
// Series are the last columns of the table.
std::string LeaveSeriesOut(const StackedBars& bars, int width, TextTable* table) {
  std::vector<size_t> order(bars.series.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto most = [&](size_t i) {
    const std::vector<Nanos>& values = bars.series[i].values;
    return values.empty() ? Nanos{0} : *std::max_element(values.begin(), values.end());
  };
  std::ranges::sort(order, [&](size_t a, size_t b) { return most(a) != most(b) ? most(a) < most(b) : a > b; });
  const size_t first = table->columns.size() - bars.series.size();
  std::vector<bool> gone(bars.series.size(), false);
  std::string names;
  for (const size_t i : order) {
    if (table->NaturalWidth() <= width) break;
    const auto at = static_cast<std::ptrdiff_t>(first + i) -
                    std::count(gone.begin(), gone.begin() + static_cast<std::ptrdiff_t>(i), true);
    table->columns.erase(table->columns.begin() + at);
    for (std::vector<std::string>& row : table->rows) row.erase(row.begin() + at);
    gone[i] = true;
    names += (names.empty() ? "" : ", ") + Printable(bars.series[i].name);
  }
  return names;
}

std::string StackedBarsText(const ReportDoc& doc, const StackedBars& bars, const TextOptions& options) {
  const std::vector<Nanos> own = OwnTimes(bars);
  std::vector<size_t> order(own.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return own[a] != own[b] ? own[a] > own[b] : a < b; });
  const size_t shown = LimitOf(options, order.size());
  std::vector<Value> values;
  for (const StackedBars::Series& series : bars.series)
    values.insert(values.end(), series.values.begin(), series.values.end());
  values.insert(values.end(), own.begin(), own.end());
  const ColumnFormat format = FormatForColumn(values, Unit::kDuration);
  const Nanos top = own.empty() ? 1 : std::max<Nanos>(1, own[order[0]]);
  constexpr int kCells = 16;
  TextTable table;
  table.columns = {{"", false}, {"", false}, {"own " + format.suffix, true}};
  for (const StackedBars::Series& series : bars.series) table.columns.push_back({Printable(series.name), true});
  for (size_t k = 0; k < shown; ++k) {
    const size_t i = order[k];
    const StackedBars::Bar& bar = bars.bars[i];
    const std::string name = bar.label.empty() ? RankName(doc, bar.rank) : Printable(bar.label);
    const bool told = bar.mark == Mark::kCulprit || bar.mark == Mark::kVictim;
    std::vector<std::string> row = {name, told ? ToString(bar.mark) : "", format.Cell(own[i])};
    for (const StackedBars::Series& series : bars.series) row.push_back(format.Cell(series.values[i]));
    table.rows.push_back(std::move(row));
  }
  const std::string left_out = LeaveSeriesOut(bars, options.width, &table);
  // The picture only where the numbers leave room for it.
  if (table.NaturalWidth() + 2 + kCells <= options.width) {
    table.columns.push_back({"own time", false});
    for (size_t k = 0; k < shown; ++k) table.rows[k].push_back(BlockBar(ShareOf(own[order[k]], top), kCells));
  }
  return table.Render(options.width, "") + Remainder(shown, order.size(), "rank", options) +
         (left_out.empty() ? "" : Hanging("", "too narrow for: " + left_out, options.width));
}

std::string HeatStripText(const ReportDoc& doc, const HeatStrip& strip, const TextOptions& options) {
  if (strip.metrics.empty() || strip.columns.empty() || strip.rows.empty()) return "no steps to show\n";
  const HeatStrip::Metric& metric = strip.metrics.front();
  const size_t columns = strip.columns.size();
  std::vector<size_t> order(strip.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> badness;
  for (size_t row = 0; row < strip.rows.size(); ++row) badness.push_back(Badness(metric, row, columns));
  std::ranges::sort(order,
                    [&](size_t a, size_t b) { return badness[a] != badness[b] ? badness[a] > badness[b] : a < b; });
  const size_t shown = LimitOf(options, order.size());
  const Range range = RangeOf(metric, strip.rows.size() * columns);
  const int label = std::min(28, options.width * 7 / 20);
  const size_t cells = std::min<size_t>(columns, static_cast<size_t>(options.width - label - 12));
  const std::string low = FormatValue(ValueOf(range.low, metric.unit), metric.unit);
  const std::string high = FormatValue(ValueOf(range.high, metric.unit), metric.unit);
  std::string out = Hanging("",
                            metric.name + ", " + strip.column_name + " #" + std::to_string(strip.columns.front()) +
                                " to #" + std::to_string(strip.columns.back()) + ", from \" \" " + low + " to \"█\" " +
                                high + "; worst " + strip.row_name + "s first",
                            options.width);
  for (size_t k = 0; k < shown; ++k) {
    const HeatStrip::Row& row = strip.rows[order[k]];
    std::string line =
        PadRight(Truncate(row.label.empty() ? RankName(doc, row.rank) : Printable(row.label), label), label) + "  |";
    for (size_t c = 0; c < cells; ++c) {
      const double worst = WorstOf(metric, order[k], columns, c * columns / cells, (c + 1) * columns / cells);
      line += ShadeOf(worst, range, metric.higher_is_worse);
    }
    out += line + "|\n";
  }
  return out + Remainder(shown, order.size(), strip.row_name, options);
}

std::string TimelineText(const Timeline& timeline, const TextOptions& options) {
  constexpr int kLabel = 16;
  const int cells = options.width - kLabel - 2;
  std::string out = Hanging(
      "",
      FormatDuration(timeline.length) + " across: C compute, m memory, t transfer, w waiting, h host, i input, . idle",
      options.width);
  for (size_t i = 0; i < timeline.lanes.size(); ++i) {
    const Timeline::Lane& lane = timeline.lanes[i];
    if (i == 0 || lane.owner != timeline.lanes[i - 1].owner) {
      const std::string mark = lane.mark == Mark::kNone ? "" : std::string(", ") + ToString(lane.mark);
      out += Hanging("", lane.owner + mark, options.width);
    }
    out += "  " + PadRight(Truncate(Printable(lane.label), kLabel - 3), kLabel - 2) + "|" +
           LaneLine(timeline, static_cast<uint32_t>(i), cells) + "|\n";
  }
  const size_t shown = LimitOf(options, timeline.arrows.size());
  for (size_t i = 0; i < shown; ++i) {
    const Timeline::Arrow& arrow = timeline.arrows[i];
    out += Hanging("  ",
                   "at " + FormatDuration(arrow.from) + " " + timeline.lanes[arrow.from_lane].owner + " -> " +
                       timeline.lanes[arrow.to_lane].owner + " (" + timeline.names[arrow.name] + ")",
                   options.width);
  }
  return out + Remainder(shown, timeline.arrows.size(), "arrow", options);
}

}  // namespace headway::report
