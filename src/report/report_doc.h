// SPDX-License-Identifier: Apache-2.0
// A report as plain data: what an analysis wants a person to see, before anyone decided how it looks. Analyses fill a
// ReportDoc, renderers (text_renderer.h, html_renderer.h) format it; neither knows the other.
//
// Rules. Every number is raw and its unit is in its type (Nanos, Bytes) or beside it (Unit); no producer formats a
// number that has a field of its own. Strings are text, never markup, and may hold anything a trace holds: renderers
// escape. Order is meaning: findings, sections, bars and rows appear as given (the page may let the reader sort them).
// docs/report-doc.md shows how each kind of section looks on the terminal and on the page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "report/finding.h"

namespace headway::report {

// What a number means. The alternative of Value that holds it is fixed by the unit.
enum class Unit : uint8_t {
  kText,            // std::string
  kRank,            // int64_t, a rank id: the page makes it selectable
  kStep,            // int64_t, a step number, shown as "#101"
  kCount,           // int64_t, shown with thousands separators
  kDuration,        // int64_t nanoseconds
  kBytes,           // int64_t
  kShare,           // double, 0.61 is shown as "61 %"
  kRatio,           // double, 1.31 is shown as "1.31x"
  kBytesPerSecond,  // double
  kNumber,          // double, shown with three significant digits
};

// std::monostate is "no value here" and is shown as a dash.
using Value = std::variant<std::monostate, int64_t, double, std::string>;

// What a stretch of time was spent on. Fixes the colour and the fill, the same in every picture.
enum class TimeClass : uint8_t {
  kCompute,
  kMemory,
  kTransfer,  // communication that moves data
  kWait,      // blocked on another rank
  kHost,
  kInput,
  kIdle,
  kBubble,  // idle by the pipeline's schedule
  kOwn,     // own time where it is not split by class
  kOther,
};

// Part in the story of a lane, a bar or a row. Shown by shape and word as well as by colour.
enum class Mark : uint8_t { kNone, kCulprit, kVictim, kPeer };

[[nodiscard]] const char* ToString(Unit unit);             // "duration", "bytes-per-second"
[[nodiscard]] const char* ToString(TimeClass time_class);  // "compute", "transfer"
[[nodiscard]] const char* ToString(Mark mark);             // "none", "culprit", "victim", "peer"

// A line of the head: {"job", "64 ranks on 8 hosts, 12 steps read (#101-112)"}. The label is at most 10 characters.
struct HeaderLine {
  std::string label;
  std::string text;
};

// One sentence a manager understands, and the step time (or another duration) now and after all findings are fixed.
struct Headline {
  std::string sentence;
  std::string now_label = "now";
  std::string attainable_label = "attainable";
  std::optional<Nanos> now;
  std::optional<Nanos> attainable;
  // The smallest loss per step that would have been found: said where no finding is above "info".
  std::optional<Nanos> detection_floor;
};

struct Fact {
  std::string label;
  Value value;
  Unit unit = Unit::kText;
  std::string note;  // what to keep in mind, or empty
  std::string term;  // key into the definitions, or empty
};

// Where a rank lives; parallel groupings ("dp", "pp") are in `coordinates`, in the order of
// ReportDoc::coordinate_names.
struct RankPlace {
  RankId rank = -1;
  std::string host;
  std::string device;
  std::vector<int32_t> coordinates;  // -1 = unknown
};

// --- the kinds of section -------------------------------------------------------------------------------------------

// "waterfall": parts that add up to a total (a step's breakdown), or a start, changes and an end (gains of edits).
struct Waterfall {
  enum class Role : uint8_t {
    kPart,    // adds `value` to the running sum
    kWithin,  // a share of the kPart before it ("of it waiting"); does not move the sum
    kTotal,   // a level: the running sum must equal `value`; starts or ends the picture
  };
  struct Item {
    std::string name;
    TimeClass time_class = TimeClass::kOther;
    Role role = Role::kPart;
    Nanos value = 0;  // negative = a gain
    std::string note;
    std::string term;
  };
  std::vector<Item> items;
};

// "stacked-bars": one bar a rank, one colour a class.
struct StackedBars {
  struct Series {
    std::string name;
    TimeClass time_class = TimeClass::kOther;
    bool own = false;           // counts as the rank's own time: bars are sorted by the sum of these, longest first
    std::vector<Nanos> values;  // one per bar
    std::string term;
  };
  struct Bar {
    RankId rank = -1;
    std::string label;  // empty: "rank N"
    Mark mark = Mark::kNone;
  };
  std::vector<Bar> bars;
  std::vector<Series> series;
  Nanos reference = 0;  // a line across all bars (the median step); 0 = none
};

// "heat-strip": rows (ranks) by columns (steps), one picture per metric. Row groupings come from ReportDoc::places
// where the row is a rank.
struct HeatStrip {
  struct Row {
    RankId rank = -1;
    std::string label;  // empty: "rank N"
  };
  struct Metric {
    std::string name;
    Unit unit = Unit::kDuration;
    std::string term;
    // Row-major, rows x columns; exactly one of the two is filled. A missing cell is kMissing or NaN.
    std::vector<int64_t> integers;
    std::vector<float> floats;
    bool higher_is_worse = true;
  };
  static constexpr int64_t kMissing = INT64_MIN;
  std::string row_name = "rank";
  std::string column_name = "step";
  std::vector<Row> rows;
  std::vector<int64_t> columns;  // step numbers, ascending
  std::vector<Metric> metrics;
};

// "timeline": lanes of rectangles on one aligned clock, with arrows. Also a Gantt chart of a schedule.
struct Timeline {
  struct Lane {
    std::string owner;  // consecutive lanes of one owner stand together ("rank 19 (n2, gpu 3)")
    std::string label;  // the lane within it ("compute", "communication", "host")
    RankId rank = -1;
    Mark mark = Mark::kNone;
  };
  struct Rect {
    uint32_t lane = 0;
    Nanos start = 0;  // after `origin`
    Nanos duration = 0;
    TimeClass time_class = TimeClass::kOther;
    uint32_t name = 0;  // index into `names`
    Mark mark = Mark::kNone;
  };
  // From the one that came late to the one that waited for it.
  struct Arrow {
    uint32_t from_lane = 0;
    uint32_t to_lane = 0;
    Nanos from = 0;
    Nanos to = 0;
    uint32_t name = 0;  // index into `names`
  };
  struct Tick {
    Nanos at = 0;
    std::string label;  // "step #107"
  };
  std::string finding;  // id of the finding it shows, or empty
  Nanos origin = 0;     // Unix ns of the picture's zero; 0 = no wall clock
  Nanos length = 0;
  Nanos clock_residual = 0;  // how far clocks of different hosts may still be apart
  bool legend = true;        // the classes mean what they say; false where colours only tell rectangles apart (jobs)
  std::vector<std::string> names;
  std::vector<Lane> lanes;
  std::vector<Rect> rects;  // at most kMaxRects: the producer merges what would be narrower than a pixel
  std::vector<Arrow> arrows;
  std::vector<Tick> ticks;
  static constexpr size_t kMaxRects = 20'000;
};

// "table".
struct Table {
  struct Column {
    std::string title;
    Unit unit = Unit::kText;
    std::string term;
  };
  enum class RowRole : uint8_t { kPlain, kAbnormal, kNormal };
  struct Row {
    std::vector<Value> cells;  // one per column
    RowRole role = RowRole::kPlain;
    int32_t pair = -1;  // an abnormal row and the normal one to compare it with share a number; they stay together
    RankId rank = -1;   // selected with this rank; -1 = about none
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  int32_t sort_column = -1;  // as `rows` are sorted on arrival; -1 = no order
  bool descending = true;
  int32_t top = 10;  // rows (pairs count as one) the terminal shows before "N more"; 0 = all
  std::vector<std::string> notes;
};

// "chart": lines or points over one axis (step times, Pareto front, convergence).
struct Chart {
  struct Series {
    std::string name;
    TimeClass time_class = TimeClass::kOther;
    bool points = false;         // points instead of a line
    std::vector<double> values;  // one per x; NaN = none there
  };
  std::string x_name;
  Unit x_unit = Unit::kNumber;
  std::string y_name;
  Unit y_unit = Unit::kDuration;    // durations in ns, as everywhere
  std::vector<double> x;            // ascending
  std::vector<std::string> labels;  // what a point is called, one per x; may be empty
  std::vector<Series> series;
};

// "facts": label and value, one a line.
struct Facts {
  std::vector<Fact> facts;
};

// "text": paragraphs.
struct Text {
  std::vector<std::string> paragraphs;
};

using SectionBody = std::variant<Text, Facts, Waterfall, StackedBars, HeatStrip, Timeline, Table, Chart>;

// The kebab-case name of the kind a body is ("stacked-bars").
[[nodiscard]] const char* KindOf(const SectionBody& body);

struct Section {
  std::string name;  // kebab-case, unique in the report: what --section takes
  std::string title;
  std::string intro;  // how to read it, one or two sentences; may be empty
  SectionBody body;
  bool on_terminal = false;  // part of the terminal's first screen; else only with --section NAME or --section all
};

// Names of sections that more than one command or a test relies on. The renderers add kFindings, kNotChecked,
// kDataQuality and kDefinitions themselves from the fields of ReportDoc.
namespace section {
inline constexpr char kFindings[] = "findings";
inline constexpr char kStepBreakdown[] = "step-breakdown";    // Waterfall
inline constexpr char kRanks[] = "ranks";                     // StackedBars
inline constexpr char kStepTimes[] = "step-times";            // Chart
inline constexpr char kRanksBySteps[] = "ranks-by-steps";     // HeatStrip
inline constexpr char kTimeline[] = "timeline";               // Timeline; further ones "timeline-2", …
inline constexpr char kComputeKernels[] = "compute-kernels";  // Table, as the four below
inline constexpr char kMemoryOperations[] = "memory-operations";
inline constexpr char kCommunication[] = "communication";
inline constexpr char kCudaRuntime[] = "cuda-runtime";
inline constexpr char kPythonPaths[] = "python-paths";
inline constexpr char kNotChecked[] = "not-checked";
inline constexpr char kDataQuality[] = "data-quality";
inline constexpr char kDefinitions[] = "definitions";
}  // namespace section

struct DataQuality {
  struct Problem {
    std::string severity;  // "note", "warning", "error"
    std::string problem;   // the stable name of the ImportLog
    int64_t count = 0;
    std::string what;   // in words, and what was done about it
    std::string where;  // the first place: file, byte offset, rank
  };
  std::string summary;  // the terminal's one line: "48.2 M events, 3 repaired (control characters), …"
  std::vector<Fact> facts;
  std::vector<Problem> problems;
};

struct SuggestedCommand {
  std::string label;    // "page", "timeline"
  std::string command;  // as typed
  std::string what;     // what it brings, or empty
};

struct ReportDoc {
  std::string command;  // "diagnose", "replay", …
  std::string title;    // of the page: "headway diagnose: run-17"
  std::string version;  // of headway, for the footer
  std::vector<HeaderLine> header;
  Headline headline;
  std::vector<Fact> key_facts;
  std::vector<int64_t> steps;                 // the steps Finding::cost_by_step is parallel to
  std::vector<Nanos> step_durations;          // parallel to `steps`; may be empty
  std::vector<RankPlace> places;              // sorted by rank; may be empty
  std::vector<std::string> coordinate_names;  // "stage", "dp", "tp", "pp": groupings of RankPlace::coordinates
  std::vector<Finding> findings;              // largest gain first
  std::vector<Section> sections;
  int32_t analyses_run = 0;  // "checked 11 analyses"; 0 = the line is not shown
  std::vector<NotChecked> not_checked;
  DataQuality data_quality;
  std::vector<SuggestedCommand> commands;
};

// The section of that name, or nullptr.
[[nodiscard]] const Section* FindSection(const ReportDoc& doc, const std::string& name);

}  // namespace headway::report
