// SPDX-License-Identifier: Apache-2.0
#include "report/text_renderer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text.h"

namespace headway::report {
namespace {

constexpr Nanos kMs = kMillisecond;

Finding SlowDevice() {
  Finding f;
  f.id = "slow-device-3";
  f.cause = "slow-device";
  f.severity = Severity::kCritical;
  f.confidence = Confidence::kSure;
  f.confidence_reason = "seen in every step";
  f.scope.ranks = {3};
  f.when = {WhenKind::kPersistent, {}};
  f.victims = {0, 1, 2};
  f.recoverable_per_step = 81 * kMs;
  f.worst_step = 84 * kMs;
  f.headline = "rank 3 (host n0, gpu 3)";
  f.sentence = "Its compute kernels take 1.31x the time of the same kernels on its 3 peers, in every step.";
  f.suggestion = "check power and cooling";
  f.edit = "remove-straggler:3";
  f.evidence = {{"own time", "343 ms", "", "262 ms", "12 steps"}};
  return f;
}

Finding SlowInput() {
  Finding f;
  f.id = "slow-input-n1";
  f.cause = "slow-input";
  f.severity = Severity::kWarning;
  f.confidence = Confidence::kLikely;
  f.when = {WhenKind::kOnset, {107}};
  f.recoverable_per_step = 15 * kMs;
  f.headline = "all ranks of host n1";
  f.sentence = "The loader is late.";
  return f;
}

Finding LostOverlap() {
  Finding f;
  f.id = "lost-overlap";
  f.cause = "lost-overlap";
  f.headline = "all-gather";
  f.recoverable_per_step = 600 * kMicrosecond;
  f.sentence = "Not said on the first screen.";
  return f;
}

Waterfall Breakdown() {
  using Role = Waterfall::Role;
  return {{{"compute", TimeClass::kCompute, Role::kPart, 50 * kMs, "", ""},
           {"communication", TimeClass::kTransfer, Role::kPart, 40 * kMs, "", ""},
           {"waiting", TimeClass::kWait, Role::kWithin, 30 * kMs, "", ""},
           {"transfer", TimeClass::kTransfer, Role::kWithin, 10 * kMs, "", ""},
           {"input", TimeClass::kInput, Role::kPart, 10 * kMs, "", ""},
           {"step", TimeClass::kOther, Role::kTotal, 100 * kMs, "", ""}}};
}

ReportDoc Job() {
  ReportDoc doc;
  doc.command = "diagnose";
  doc.header = {{"job", "8 ranks on 2 hosts"}, {"step", "412 ms median"}};
  doc.steps = {101, 107};
  doc.findings = {SlowDevice(), SlowInput(), LostOverlap()};
  doc.sections = {{section::kStepBreakdown, "Where the time goes", "", Breakdown(), false}};
  doc.analyses_run = 11;
  doc.not_checked = {{"counters", "none recorded"}};
  doc.data_quality.summary = "1.2 M events";
  doc.commands = {{"page", "headway diagnose D --html r.html", ""}, {"timeline", "--timeline t.json", ""}};
  return doc;
}

std::string Shown(const ReportDoc& doc, const TextOptions& options) {
  const Result<std::string> text = RenderText(doc, options);
  return text ? *text : "error: " + text.error().ToString();
}

// At 80 columns a finding's line is: 2 number, 2 blanks, 12 cause (the longest of the three, "lost-overlap"), 2 blanks,
// who, blank, 13 cost (its last for a closing bracket), 2 blanks, the tail of at least 9. That leaves 80-18-1-13-2-9 =
// 37 for who. With "likely, since step #107" (23 columns) 23 are left, enough for "all ranks of host n1" (20). Half of
// the step is 10 of the bar's 20 cells.
TEST(TextRenderer, FirstScreen) {
  EXPECT_EQ(Shown(Job(), {.width = 80}),
            "job    8 ranks on 2 hosts\n"
            "step   412 ms median\n"
            "\n"
            " 1  SLOW DEVICE   rank 3 (host n0, gpu 3)                 81 ms/step   sure\n"
            "    Its compute kernels take 1.31x the time of the same kernels on its 3 peers,\n"
            "    in every step.\n"
            "    -> check power and cooling\n"
            " 2  SLOW INPUT    all ranks of host n1      15 ms/step   likely, since step #107\n"
            "    The loader is late.\n"
            " 3  lost overlap  all-gather                             (<1 ms/step)  info\n"
            "\n"
            "step time   compute 50 %  ██████████\n"
            "            communication 40 % (of it waiting 30 %, transfer 10 %)   input 10 %\n"
            "checked     11 analyses; not checked: counters (none recorded)\n"
            "data        1.2 M events\n"
            "page        headway diagnose D --html r.html      timeline: --timeline t.json\n");
}

TEST(TextRenderer, WhenMovesBelowWhereThereIsNoRoomBesideAName) {
  ReportDoc doc = Job();
  doc.findings = {SlowInput()};
  doc.findings[0].headline = "ranks 8 to 15 and 24 to 31 of the job";  // 37 columns: fits without the step
  const std::string text = Shown(doc, {.width = 80});
  EXPECT_NE(text.find("ranks 8 to 15 and 24 to 31 of the job   15 ms/step   likely\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    (since step #107) The loader is late.\n"), std::string::npos) << text;
}

TEST(TextRenderer, AHealthyJobIsSaidInOneLine) {
  ReportDoc doc = Job();
  doc.findings = {LostOverlap()};
  doc.headline.now = 412 * kMs;
  doc.headline.detection_floor = 3 * kMs;  // 3 / 412 = 0.73 %
  EXPECT_NE(Shown(doc, {}).find("result nothing above 3.0 ms/step (0.7 %)\n"), std::string::npos);
}

TEST(TextRenderer, FindingsBeyondTheLimitAreCounted) {
  const std::string text = Shown(Job(), {.findings = 1});
  EXPECT_EQ(text.find("SLOW INPUT"), std::string::npos);
  EXPECT_NE(text.find("    2 more findings: --section findings\n"), std::string::npos);
}

TEST(TextRenderer, ColourMarksSeverityAloneAndOnlyWhenAsked) {
  EXPECT_EQ(Shown(Job(), {}).find('\x1b'), std::string::npos);
  const std::string text = Shown(Job(), {.width = 80, .colour = true});
  EXPECT_NE(text.find(" 1  \x1b[1;31mSLOW DEVICE \x1b[0m  rank 3"), std::string::npos) << text;
  // Without the escapes it is the same text.
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain.push_back(text[i]);
    } else {
      i = text.find('m', i);
    }
  }
  EXPECT_EQ(plain, Shown(Job(), {.width = 80}));
}

TEST(TextRenderer, AsciiHasNothingElse) {
  const std::string text = Shown(Job(), {.ascii = true, .section = "all"});
  for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << text;
  EXPECT_NE(text.find("compute 50 %  ##########"), std::string::npos);
}

TEST(TextRenderer, OneSection) {
  // The waterfall: each bar begins where the one before it ended, 100 ms are 32 cells, 10 ms are 3.2.
  EXPECT_EQ(Shown(Job(), {.section = "step-breakdown"}),
            "Where the time goes\n"
            "part                 ms  share\n"
            "compute            50.0   50 %  ████████████████\n"
            "communication      40.0   40 %                  ████████████▊\n"
            "  of it waiting    30.0   30 %                  █████████▋\n"
            "  of it transfer   10.0   10 %                           ███▎\n"
            "input              10.0   10 %                              ███▎\n"
            "step              100.0  100 %  ████████████████████████████████\n");
}

TEST(TextRenderer, FindingsInFull) {
  ReportDoc doc = Job();
  doc.findings = {SlowDevice()};
  EXPECT_EQ(Shown(doc, {.width = 80, .section = "findings"}),
            "Findings\n"
            " 1  SLOW DEVICE   rank 3 (host n0, gpu 3)                 81 ms/step   sure\n"
            "    Its compute kernels take 1.31x the time of the same kernels on its 3 peers,\n"
            "    in every step.\n"
            "    confidence  sure: seen in every step\n"
            "    when        in every step, worst step 84 ms\n"
            "    ranks       3\n"
            "    who waits   3 ranks: 0-2\n"
            "    evidence    here   peers  expected  from\n"
            "    own time  343 ms  262 ms         -  12 steps\n"
            "    -> check power and cooling\n"
            "    try: headway whatif PATH --edit remove-straggler:3\n");
}

// At 40 columns who stands on a line of its own, and a table that does not fit becomes a few lines a row.
TEST(TextRenderer, ANarrowTerminalGetsNarrowLines) {
  ReportDoc doc = Job();
  doc.findings = {SlowDevice()};
  EXPECT_EQ(Shown(doc, {.width = 40, .section = "findings"}),
            "Findings\n"
            " 1  SLOW DEVICE  81 ms/step  sure\n"
            "    rank 3 (host n0, gpu 3)\n"
            "    Its compute kernels take 1.31x the\n"
            "    time of the same kernels on its 3\n"
            "    peers, in every step.\n"
            "    confidence  sure: seen in every step\n"
            "    when        in every step, worst\n"
            "                step 84 ms\n"
            "    ranks       3\n"
            "    who waits   3 ranks: 0-2\n"
            "    - own time  here 343 ms\n"
            "      peers 262 ms  from 12 steps\n"
            "    -> check power and cooling\n"
            "    try: headway whatif PATH --edit\n"
            "    remove-straggler:3\n");
  // No narrower: a line of fewer columns would hold no sentence.
  EXPECT_EQ(Shown(doc, {.width = 20, .section = "findings"}), Shown(doc, {.width = 40, .section = "findings"}));
}

TEST(TextRenderer, UnknownSectionNamesThoseThereAre) {
  const Result<std::string> text = RenderText(Job(), {.section = "kernel"});
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      text.error().message,
      "no section \"kernel\" in this report; it has findings, step-breakdown, not-checked, data-quality, definitions");
}

Table Pairs() {
  Table table;
  table.columns = {{"function", Unit::kText, ""}, {"rank", Unit::kRank, ""}, {"time", Unit::kDuration, ""}};
  for (int32_t pair = 0; pair < 3; ++pair) {
    table.rows.push_back({{std::string("gemm"), int64_t{19}, 31 * kMs}, Table::RowRole::kAbnormal, pair, 19});
    table.rows.push_back({{std::string("gemm"), int64_t{18}, 24 * kMs}, Table::RowRole::kNormal, pair, 18});
  }
  table.notes = {"Abnormal: outside the region."};
  table.top = 1;
  return table;
}

// Nothing above the floor is no result where larger remarks stand below it.
TEST(TextRenderer, LargerRemarksAreNamedBesideWhatWouldHaveBeenSeen) {
  ReportDoc doc = Job();
  doc.headline.now = 412 * kMs;
  doc.headline.detection_floor = 3 * kMs;
  Finding remark = SlowDevice();
  remark.severity = Severity::kInfo;
  remark.recoverable_per_step = 81 * kMs;
  doc.findings = {remark};
  EXPECT_NE(Shown(doc, {}).find("result no fault found; 1 remark of 81 ms/step below, nothing else above 3.0 "
                                "ms/step (0.7 %)\n"),
            std::string::npos)
      << Shown(doc, {});
  doc.findings[0].recoverable_per_step = 2 * kMs;
  EXPECT_NE(Shown(doc, {}).find("result nothing above 3.0 ms/step (0.7 %)\n"), std::string::npos) << Shown(doc, {});
}

TEST(TextRenderer, ATableKeepsPairsTogetherAndSaysWhatItLeavesOut) {
  ReportDoc doc;
  doc.sections = {{"compute-kernels", "Compute kernels", "", Pairs(), false}};
  EXPECT_EQ(Shown(doc, {.section = "compute-kernels", .rows_option = "--rows"}),
            "Compute kernels\n"
            "          function  rank  time ms\n"
            "abnormal  gemm        19    31.00\n"
            "  normal  gemm        18    24.00\n"
            "2 more rows, not shown (--rows 0 shows all)\n"
            "Abnormal: outside the region.\n");
  EXPECT_EQ(Shown(doc, {.section = "compute-kernels", .rows = 0}).find("more"), std::string::npos);
}

TEST(TextRenderer, BarsBeginWithTheLongestOwnTime) {
  ReportDoc doc;
  doc.places = {{0, "n0", "gpu 0", {}}, {1, "n0", "gpu 1", {}}};
  StackedBars bars;
  bars.bars = {{0, "", Mark::kVictim}, {1, "", Mark::kCulprit}};
  bars.series = {{"compute", TimeClass::kCompute, true, {20 * kMs, 30 * kMs}, ""},
                 {"waiting", TimeClass::kWait, false, {10 * kMs, 0}, ""}};
  doc.sections = {{"ranks", "Ranks", "", bars, false}};
  // 20 of 30 ms is 10.67 of 16 cells: ten and five eighths.
  EXPECT_EQ(Shown(doc, {.section = "ranks"}),
            "Ranks\n"
            "                             own ms  compute  waiting  own time\n"
            "rank 1 (n0, gpu 1)  culprit   30.00    30.00        0  ████████████████\n"
            "rank 0 (n0, gpu 0)  victim    20.00    20.00    10.00  ██████████▋\n");
}

// 18 + 2 + 7 + 2 + 6 columns hold the names and own time; the three parts need 2 + 17, 2 + 17 and 2 + 18 more, 93 in
// all. At 80 two of them fit: those that are larger somewhere. No name is cut.
TEST(TextRenderer, NarrowBarsLeaveSmallPartsOut) {
  ReportDoc doc;
  doc.places = {{0, "n0", "gpu 0", {}}, {1, "n0", "gpu 1", {}}};
  StackedBars bars;
  bars.bars = {{0, "", Mark::kVictim}, {1, "", Mark::kCulprit}};
  bars.series = {{"compute on device", TimeClass::kCompute, true, {20 * kMs, 30 * kMs}, ""},
                 {"waiting for others", TimeClass::kWait, false, {10 * kMs, 0}, ""},
                 {"transfers of data", TimeClass::kWait, false, {11 * kMs, 11 * kMs}, ""}};
  doc.sections = {{"ranks", "Ranks", "", bars, false}};
  EXPECT_EQ(Shown(doc, {.width = 80, .section = "ranks"}),
            "Ranks\n"
            "                             own ms  compute on device  transfers of data\n"
            "rank 1 (n0, gpu 1)  culprit   30.00              30.00              11.00\n"
            "rank 0 (n0, gpu 0)  victim    20.00              20.00              11.00\n"
            "too narrow for: waiting for others\n");
}

TEST(TextRenderer, HeatStripShadesTheWorstRowsFirst) {
  HeatStrip strip;
  strip.rows = {{0, ""}, {1, ""}, {2, ""}};
  strip.columns = {7, 8};
  strip.metrics = {{"own time",
                    Unit::kDuration,
                    "",
                    {10 * kMs, 10 * kMs, 10 * kMs, 60 * kMs, 34 * kMs, HeatStrip::kMissing},
                    {},
                    true}};
  ReportDoc doc;
  doc.sections = {{"heat", "Heat", "", strip, false}};
  // From 10 to 60 ms in five shades of 10 ms: 34 is the third, a missing cell a cross.
  EXPECT_EQ(Shown(doc, {.section = "heat"}),
            "Heat\n"
            "own time, step #7 to #8, from \" \" 10 ms to \"█\" 60 ms; worst ranks first\n"
            "rank 1                        | █|\n"
            "rank 2                        |▒×|\n"
            "rank 0                        |  |\n");
}

TEST(TextRenderer, TimelineLettersSayTheClass) {
  Timeline timeline;
  timeline.names = {"gemm", "all-reduce"};
  timeline.lanes = {{"rank 1", "compute", 1, Mark::kCulprit}, {"rank 1", "comm", 1, Mark::kCulprit}};
  timeline.length = 62 * kMs;  // 80 columns less 18: one column a millisecond
  timeline.rects = {{0, 0, 31 * kMs, TimeClass::kCompute, 0, Mark::kNone},
                    {1, 31 * kMs, 20 * kMs, TimeClass::kWait, 1, Mark::kNone},
                    {1, 51 * kMs, 11 * kMs, TimeClass::kTransfer, 1, Mark::kNone}};
  timeline.arrows = {{0, 1, 31 * kMs, 51 * kMs, 1}};
  ReportDoc doc;
  doc.sections = {{"timeline", "Timeline", "", timeline, false}};
  const std::string text = Shown(doc, {.width = 80, .section = "timeline"});
  const auto lane = [](const char* label, const std::string& body) {
    return std::string("  ") + label + "|" + body + "|\n";
  };
  EXPECT_NE(text.find(lane("compute       ", std::string(31, 'C') + std::string(31, ' '))), std::string::npos) << text;
  EXPECT_NE(text.find(lane("comm          ", std::string(31, ' ') + std::string(20, 'w') + std::string(11, 't'))),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 1, culprit\n"), std::string::npos);
  EXPECT_NE(text.find("  at 31 ms rank 1 -> rank 1 (all-reduce)\n"), std::string::npos);
}

// Whatever stands in it, no line is wider than the terminal and nothing but text gets out.
TEST(TextRenderer, HostileStringsNeitherBreakLinesNorReachTheTerminal) {
  ReportDoc doc = Job();
  const std::string hostile = "\x1b]0;title\a\x1b[2J\r\n\xff" + std::string(300, 'x') + " \u202e end";
  for (Finding& finding : doc.findings) {
    finding.headline = finding.sentence = finding.suggestion = finding.scope.function = hostile;
    finding.evidence.push_back({hostile, "1", "2", "3", hostile});
  }
  Table table = Pairs();
  table.rows[0].cells[0] = hostile;
  doc.sections.push_back({"table", hostile, hostile, table, false});
  doc.header.push_back({hostile.substr(0, 9), hostile});
  doc.commands.push_back({"x", "short", ""});
  for (const int32_t width : {40, 41, 60, 72, 80, 100, 120}) {
    std::istringstream lines(Shown(doc, {.width = width, .section = "all"}));
    for (std::string line; std::getline(lines, line);) {
      ASSERT_LE(DisplayWidth(line), width) << line;
      for (const char c : line) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line;
      ASSERT_EQ(line.find("\u202e"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace headway::report
