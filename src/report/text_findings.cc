// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "report/format.h"
#include "report/text_layout.h"
#include "report/text_sections.h"

namespace headway::report {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr int kMinCauseWidth = 12;
constexpr int kLeastWho = 24;  // with less room, who gets a line of its own

std::string_view ColourOf(Severity severity) {
  switch (severity) {
    case Severity::kCritical: return "\x1b[1;31m";
    case Severity::kWarning: return "\x1b[33m";
    case Severity::kInfo: return "\x1b[2m";
  }
  return {};
}

// The causes of one report stand in a column.
int CauseWidth(const ReportDoc& doc) {
  int width = kMinCauseWidth;
  for (const Finding& finding : doc.findings) width = std::max(width, DisplayWidth(Printable(finding.cause)));
  return std::min(width, 22);
}

std::string CostText(const Finding& finding) {
  if (finding.severity != Severity::kInfo) return FormatDuration(finding.recoverable_per_step) + "/step";
  const bool small = finding.recoverable_per_step < kMillisecond;
  return "(" + (small ? "<1 ms" : FormatDuration(finding.recoverable_per_step)) + "/step)";
}

std::string RankList(const std::vector<RankId>& ranks) { return FormatRanks(ranks, 12); }

struct Line {
  std::string text;
  bool has_when = false;  // the line had room for when it struck
};

std::string Coloured(const std::string& text, Severity severity, const TextOptions& options) {
  return options.colour ? std::string(ColourOf(severity)) + text + "\x1b[0m" : text;
}

// Where one line cannot hold them: cause and figures, who on lines of their own.
std::string NarrowLines(const TextOptions& options, size_t number, const std::string& cause,
                        std::vector<std::string> figures, const Finding& finding) {
  figures.insert(figures.begin(), cause);
  std::string out = FlowPieces(PadLeft(std::to_string(number), 2) + "  ", figures, "  ", options.width);
  out.replace(out.find(cause), cause.size(), Coloured(cause, finding.severity, options));
  return out + Hanging(kIndent, finding.headline, options.width);
}

// Number, cause and who on the left; cost and confidence on the right. `when` moves below where there is no room.
Line FirstLine(const ReportDoc& doc, size_t number, const TextOptions& options) {
  const Finding& finding = doc.findings[number - 1];
  const bool info = finding.severity == Severity::kInfo;
  const int cause_width = CauseWidth(doc);
  const std::string cause = Truncate(Printable(CauseInWords(finding.cause, !info)), cause_width);
  const std::string who = Printable(finding.headline);
  // The closing bracket of small costs hangs out of their column.
  const std::string cost = PadLeft(CostText(finding) + (info ? "" : " "), 13);
  std::string tail = info ? "info" : ToString(finding.confidence);
  const bool tell_when = !info && finding.when.kind != WhenKind::kPersistent;
  const std::string longer = tail + ", " + WhenInWords(finding.when, doc.steps.size());
  const int before = 4 + cause_width + 2;
  const int room = options.width - before - 1 - DisplayWidth(cost) - 2;
  constexpr int kLeastTail = 9;  // confidence starts in one column in all lines that have no more to say than that
  const int left = room - std::max(DisplayWidth(tail), kLeastTail);
  if (DisplayWidth(who) > left && left < kLeastWho) {
    return {NarrowLines(options, number, cause, {CostText(finding), tell_when ? longer : tail}, finding), true};
  }
  Line line;
  line.has_when = tell_when && room - DisplayWidth(longer) >= DisplayWidth(who);
  if (line.has_when) tail = longer;
  const int tail_width = std::max(DisplayWidth(tail), kLeastTail);
  const int who_width = std::max(10, room - tail_width);
  const std::string shown_cause = Coloured(PadRight(cause, cause_width), finding.severity, options);
  line.text = PadLeft(std::to_string(number), 2) + "  " + shown_cause + "  " +
              PadRight(Truncate(who, who_width), who_width) + " " + cost + "  " + tail + "\n";
  return line;
}

std::string Suggestion(const Finding& finding, int width) {
  return finding.suggestion.empty() ? "" : Hanging(std::string(kIndent) + "-> ", finding.suggestion, width);
}

std::string Sentence(const ReportDoc& doc, const Finding& finding, bool say_when, int width) {
  std::string text = finding.sentence;
  if (say_when) text = "(" + WhenInWords(finding.when, doc.steps.size()) + ") " + text;
  return text.empty() ? "" : Hanging(kIndent, text, width);
}

std::string EvidenceTable(const Finding& finding, int width) {
  if (finding.evidence.empty()) return {};
  TextTable table;
  table.columns = {{"evidence", false}, {"here", true}, {"peers", true}, {"expected", true}, {"from", false}};
  for (const Evidence& row : finding.evidence) {
    const auto cell = [](const std::string& text) { return text.empty() ? std::string("-") : Printable(text); };
    table.rows.push_back({cell(row.metric), cell(row.value), cell(row.peers), cell(row.expected), cell(row.source)});
  }
  return table.Render(width, kIndent);
}

std::string About(const ReportDoc& doc, const Finding& finding, int width) {
  std::string out;
  const auto say = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) out += Hanging(std::string(kIndent) + PadRight(label, 12), text, width);
  };
  say("confidence", std::string(ToString(finding.confidence)) +
                        (finding.confidence_reason.empty() ? "" : ": " + finding.confidence_reason));
  say("when", WhenInWords(finding.when, doc.steps.size()) +
                  (finding.worst_step > 0 ? ", worst step " + FormatDuration(finding.worst_step) : ""));
  say("ranks", RankList(finding.scope.ranks));
  std::string hosts;
  for (const std::string& host : finding.scope.hosts) hosts += (hosts.empty() ? "" : ", ") + host;
  say("hosts", hosts);
  std::string links;
  for (const Link& link : finding.scope.links) {
    links += (links.empty() ? "" : ", ") + std::to_string(link.from) +
             (link.to < 0 ? " -> any" : " -> " + std::to_string(link.to));
  }
  say("links", links);
  if (finding.scope.stage >= 0) say("stage", std::to_string(finding.scope.stage));
  say("function", finding.scope.function);
  say("group", finding.scope.group);
  if (!finding.victims.empty()) {
    say("who waits", Counted(static_cast<int64_t>(finding.victims.size()), "rank") + ": " + RankList(finding.victims));
  }
  return out;
}

}  // namespace

std::string FindingText(const ReportDoc& doc, size_t number, const TextOptions& options) {
  const Finding& finding = doc.findings[number - 1];
  const Line line = FirstLine(doc, number, options);
  if (finding.severity == Severity::kInfo) return line.text;
  const bool say_when = !line.has_when && finding.when.kind != WhenKind::kPersistent;
  return line.text + Sentence(doc, finding, say_when, options.width) + Suggestion(finding, options.width);
}

std::string FindingInFull(const ReportDoc& doc, size_t number, const TextOptions& options) {
  const Finding& finding = doc.findings[number - 1];
  std::string out = FirstLine(doc, number, options).text + Sentence(doc, finding, false, options.width);
  out += About(doc, finding, options.width) + EvidenceTable(finding, options.width);
  out += Suggestion(finding, options.width);
  if (!finding.edit.empty()) out += Hanging(kIndent, "try: headway whatif PATH --edit " + finding.edit, options.width);
  return out;
}

std::string FindingsText(const ReportDoc& doc, const TextOptions& options) {
  std::string out = "Findings\n";
  if (doc.findings.empty()) out += "none\n";
  for (size_t i = 0; i < doc.findings.size(); ++i) out += (i == 0 ? "" : "\n") + FindingInFull(doc, i + 1, options);
  return out;
}

}  // namespace headway::report
