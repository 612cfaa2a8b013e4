// SPDX-License-Identifier: Apache-2.0
#include "report/text_renderer.h"

#include <algorithm>

#include "base/text.h"
#include "report/format.h"
#include "report/text_layout.h"
#include "report/text_sections.h"

namespace headway::report {
namespace {

constexpr int kMinWidth = 40;
constexpr int kMaxWidth = 120;
constexpr int kHeadLabel = 7;
constexpr int kFootLabel = 12;

// With a blank behind it whatever its length.
std::string Label(std::string_view text, int width) { return PadRight(Truncate(Printable(text), width - 1), width); }

bool Healthy(const ReportDoc& doc) {
  return std::ranges::none_of(doc.findings, [](const Finding& f) { return f.severity > Severity::kInfo; });
}

// What the analyses would have seen, where they saw nothing that they blame for it.
std::string HealthyText(const ReportDoc& doc) {
  const Headline& headline = doc.headline;
  if (!headline.detection_floor) return headline.sentence;
  std::string text = "above " + FormatDuration(*headline.detection_floor) + "/step";
  if (headline.now && *headline.now > 0) {
    text +=
        " (" + FormatShare(static_cast<double>(*headline.detection_floor) / static_cast<double>(*headline.now)) + ")";
  }
  const LargeRemarks large = RemarksAbove(doc.findings, *headline.detection_floor);
  if (large.count == 0) return "nothing " + text;
  return "no fault found; " + large.InWords() + "/step below, nothing else " + text;
}

std::string HeadText(const ReportDoc& doc, int width) {
  std::string out;
  int label = kHeadLabel;
  for (const HeaderLine& line : doc.header) label = std::max(label, DisplayWidth(Printable(line.label)) + 1);
  label = std::min(label, kFootLabel);
  for (const HeaderLine& line : doc.header) out += Hanging(Label(line.label, label), line.text, width);
  if (doc.findings.empty() && doc.command != "diagnose") {
    if (!doc.headline.sentence.empty()) out += Hanging(Label("result", label), doc.headline.sentence, width);
  } else if (Healthy(doc)) {
    out += Hanging(Label("result", label), HealthyText(doc), width);
  }
  for (const Fact& fact : doc.key_facts) {
    const std::string note = fact.note.empty() ? "" : " (" + fact.note + ")";
    out += Hanging(Label("", label), fact.label + ": " + FormatValue(fact.value, fact.unit) + note, width);
  }
  return out;
}

std::string FirstFindings(const ReportDoc& doc, const TextOptions& options) {
  const size_t limit = options.findings > 0 ? static_cast<size_t>(options.findings) : doc.findings.size();
  const size_t shown = std::min(limit, doc.findings.size());
  std::string out;
  for (size_t i = 0; i < shown; ++i) out += FindingText(doc, i + 1, options);
  if (shown < doc.findings.size()) {
    out +=
        "    " + Counted(static_cast<int64_t>(doc.findings.size() - shown), "more finding") + ": --section findings\n";
  }
  return out;
}

std::string CheckedLine(const ReportDoc& doc, int width) {
  if (doc.analyses_run == 0 && doc.not_checked.empty()) return {};
  std::string text = doc.analyses_run == 1 ? "1 analysis" : FormatCount(doc.analyses_run) + " analyses";
  for (size_t i = 0; i < doc.not_checked.size(); ++i) {
    const NotChecked& entry = doc.not_checked[i];
    text += (i == 0 ? "; not checked: " : ", ") + entry.what + (entry.why.empty() ? "" : " (" + entry.why + ")");
  }
  return Hanging(Label("checked", kFootLabel), text, width);
}

// The first command under its own label, the others beside it while there is room.
std::string CommandLines(const ReportDoc& doc, int width) {
  if (doc.commands.empty()) return {};
  std::vector<std::string> pieces;
  for (size_t i = 0; i < doc.commands.size(); ++i) {
    const SuggestedCommand& command = doc.commands[i];
    pieces.push_back((i == 0 ? "" : Printable(command.label) + ": ") + Printable(command.command));
  }
  return FlowPieces(Label(doc.commands.front().label, kFootLabel), pieces, "      ", width);
}

std::string FootText(const ReportDoc& doc, int width) {
  std::string out;
  for (const Section& section : doc.sections) {
    const auto* waterfall = std::get_if<Waterfall>(&section.body);
    if (waterfall != nullptr && section.name == section::kStepBreakdown) out += BreakdownLine(*waterfall, width);
  }
  out += CheckedLine(doc, width);
  if (!doc.data_quality.summary.empty()) {
    out += Hanging(Label("data", kFootLabel), doc.data_quality.summary, width);
  }
  return out + CommandLines(doc, width);
}

std::string FirstScreen(const ReportDoc& doc, const TextOptions& options) {
  std::string out = HeadText(doc, options.width);
  const auto add = [&out](const std::string& block) {
    if (!block.empty()) out += (out.empty() ? "" : "\n") + block;
  };
  add(FirstFindings(doc, options));
  for (const Section& section : doc.sections) {
    if (section.on_terminal) add(SectionText(doc, section, options));
  }
  add(FootText(doc, options.width));
  return out;
}

std::string NamedSection(const ReportDoc& doc, const std::string& name, const TextOptions& options) {
  if (name == section::kFindings) return FindingsText(doc, options);
  if (name == section::kNotChecked) return NotCheckedText(doc, options);
  if (name == section::kDataQuality) return DataQualityText(doc, options);
  if (name == section::kDefinitions) return DefinitionsText(doc, options);
  const Section* found = FindSection(doc, name);
  return found == nullptr ? "" : SectionText(doc, *found, options);
}

std::string EverySection(const ReportDoc& doc, const TextOptions& options) {
  std::string out = FirstScreen(doc, options);
  for (const std::string& name : SectionNames(doc)) {
    const std::string text = NamedSection(doc, name, options);
    if (!text.empty()) out += "\n" + text;
  }
  return out;
}

Result<std::string> Render(const ReportDoc& doc, const TextOptions& options) {
  if (options.section.empty()) return FirstScreen(doc, options);
  if (options.section == "all") return EverySection(doc, options);
  const std::vector<std::string> names = SectionNames(doc);
  if (std::ranges::find(names, options.section) != names.end()) return NamedSection(doc, options.section, options);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return MakeError(ErrorCode::kInvalidArgument,
                   "no section \"" + Printable(options.section) + "\" in this report; it has " + known);
}

}  // namespace

std::vector<std::string> SectionNames(const ReportDoc& doc) {
  std::vector<std::string> names = {section::kFindings};
  for (const Section& section : doc.sections) names.push_back(section.name);
  names.insert(names.end(), {section::kNotChecked, section::kDataQuality, section::kDefinitions});
  return names;
}

Result<std::string> RenderText(const ReportDoc& doc, const TextOptions& options) {
  TextOptions fitted = options;
  fitted.width = std::clamp(options.width, kMinWidth, kMaxWidth);
  Result<std::string> text = Render(doc, fitted);
  if (text && options.ascii) return ToAscii(*text);
  return text;
}

}  // namespace headway::report
