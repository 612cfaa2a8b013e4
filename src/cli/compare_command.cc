// SPDX-License-Identifier: Apache-2.0
// headway compare A B: two runs; exit 1 when the step got slower by more than the threshold.
#include <charconv>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/ingest.h"
#include "cli/terminal.h"
#include "diagnose/comparison.h"
#include "headway_version.h"
#include "report/text_renderer.h"

namespace headway::cli {

namespace {

struct CompareFlags {
  std::vector<std::string> paths;
  bool json = false, quiet = false;
  std::string section, threshold = "5%";
  IngestOptions ingest;
};

CommandLine Describe(CompareFlags* f) {
  CommandLine line;
  line.command = "compare";
  line.description =
      "Two runs of a job: what got slower and why. Exit code 1 when the step grew by more than the threshold.";
  line.example = "headway compare last-week/ today/ --threshold 3%";
  line.options = {
      {.names = "PATH", .help = "the earlier run, then the later one", .list = &f->paths, .positional = true},
      {.names = "--threshold",
       .help = "how much slower is a regression (5%)",
       .text = &f->threshold,
       .value_name = "PERCENT"},
      {.names = "--json", .help = "as JSON", .flag = &f->json},
      {.names = "--section", .help = "print one section only", .text = &f->section, .value_name = "NAME"},
      {.names = "--threads", .help = "0 = all (0)", .number = &f->ingest.threads, .value_name = "N"},
      {.names = "--quiet", .help = "no remarks on stderr", .flag = &f->quiet},
  };
  return line;
}

// "5%", "5" -> 0.05; negative = not a percentage.
double ParsePercent(const std::string& text) {
  const std::string number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() && end == number.data() + number.size() && value >= 0 ? value / 100 : -1;
}

std::string Json(const diagnose::Comparison& c, bool regression) {
  std::string text;
  JsonWriter json(&text, {.indent = 2});
  json.BeginObject();
  json.Field("version", 1).Field("regression", regression);
  json.Field("step_before_ns", c.step_before).Field("step_after_ns", c.step_after).Field("noise_ns", c.noise);
  json.Key("changed").BeginArray();
  for (const std::string& change : c.changed) json.String(change);
  json.EndArray();
  json.Key("reserved").BeginArray();
  for (const std::string& reservation : c.reserved) json.String(reservation);
  json.EndArray();
  json.Key("functions").BeginArray();
  for (size_t i = 0; i < c.functions.size() && i < 100; ++i) {
    const diagnose::FunctionDelta& f = c.functions[i];
    json.BeginObject(JsonWriter::Layout::kInline);
    json.Field("path", f.path)
        .Field("class", pattern::ToString(f.work_class))
        .Field("before_ns", f.before)
        .Field("after_ns", f.after);
    json.EndObject();
  }
  json.EndArray();
  json.Key("collectives").BeginArray();
  for (const diagnose::CollectiveDelta& d : c.collectives) {
    json.BeginObject(JsonWriter::Layout::kInline);
    json.Field("name", d.name)
        .Field("transfer_before_ns", d.transfer_before)
        .Field("transfer_after_ns", d.transfer_after);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text + "\n";
}

std::string Verdict(const diagnose::Comparison& c, bool regression) {
  const double ratio = static_cast<double>(c.step_after) / static_cast<double>(std::max<Nanos>(1, c.step_before));
  std::string line =
      FormatDuration(c.step_before) + " -> " + FormatDuration(c.step_after) + " (" + FormatRatio(ratio) + ")";
  line += regression ? "; a regression" : "; no regression";
  return line + " (noise " + FormatDuration(c.noise) + ")";
}

}  // namespace

int RunCompare(std::span<const std::string> args) {
  CompareFlags flags;
  if (const ParseOutcome parsed = Parse(Describe(&flags), args); !parsed.run) return parsed.exit_code;
  flags.ingest.all_parts = true;
  const double threshold = ParsePercent(flags.threshold);
  if (flags.paths.size() != 2 || threshold < 0) {
    return Fail("compare", {ErrorCode::kInvalidArgument,
                            flags.paths.size() != 2 ? "give two runs: the earlier and the later one (see --help)"
                                                    : "--threshold takes a percentage such as 5%",
                            ""});
  }
  std::vector<diagnose::Diagnosis> runs;
  for (const std::string& path : flags.paths) {
    Result<Ingested> in = Ingest({path}, flags.ingest);
    if (!in) return Fail("compare", in.error());
    RemarkProblems("compare", *in, flags.quiet);
    runs.push_back(diagnose::Diagnose(std::move(in->ranks)));
    if (diagnose::LacksTime(runs.back().job)) {
      return Fail("compare", {ErrorCode::kCorrupt, diagnose::WhyNoTime(runs.back().job), path});
    }
  }
  const diagnose::Comparison comparison = diagnose::Compare(runs[0], runs[1]);
  const bool regression = diagnose::IsRegression(comparison, threshold);
  std::string text;
  if (flags.json) {
    text = Json(comparison, regression);
  } else {
    report::ReportDoc doc;
    doc.command = "compare";
    doc.title = "headway compare: " + flags.paths[0] + " " + flags.paths[1];
    doc.version = kVersion;
    doc.header = {{"step", Verdict(comparison, regression)}};
    doc.sections = diagnose::ComparisonSections(comparison);
    const Terminal terminal = ReadTerminal();
    Result<std::string> rendered = report::RenderText(
        doc, {.width = terminal.width, .colour = terminal.colour, .ascii = terminal.ascii, .section = flags.section});
    if (!rendered) return Fail("compare", rendered.error());
    text = std::move(*rendered);
  }
  if (Result<void> written = WriteOut(text); !written) return Fail("compare", written.error());
  return regression ? kCheckFailed : kOk;
}

}  // namespace headway::cli
