// SPDX-License-Identifier: Apache-2.0
// headway diagnose: the main job.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/file_io.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/ingest.h"
#include "cli/reading_options.h"
#include "cli/terminal.h"
#include "diagnose/analysis.h"
#include "diagnose/comparison.h"
#include "diagnose/diagnosis.h"
#include "diagnose/perfetto.h"
#include "diagnose/report_builder.h"
#include "diagnose/step_selection.h"
#include "headway_version.h"
#include "report/html_renderer.h"
#include "report/json_renderer.h"
#include "report/text_renderer.h"

namespace headway::cli {

namespace {

struct DiagnoseFlags : ReadingFlags {
  bool json = false, list = false;
  std::string html, timeline, steps, baseline, section, fail_on;
  std::vector<std::string> skip;
  int top = 5;
};

CommandLine Describe(DiagnoseFlags* f) {
  CommandLine line;
  line.command = "diagnose";
  line.description =
      "Why is this job slow? Reads the traces or patterns of its ranks and names causes, largest gain first.";
  line.example = "headway diagnose traces/ --html report.html";
  line.options = {
      {.names = "PATH",
       .help = "traces, .hwp patterns, folders, archives, or -",
       .list = &f->paths,
       .positional = true},
      {.names = "--json", .help = "the findings as JSON (docs/findings.schema.json)", .flag = &f->json},
      {.names = "--html", .help = "write the page to FILE", .text = &f->html, .value_name = "FILE"},
      {.names = "--timeline",
       .help = "write the critical path and what every rank did to FILE, for ui.perfetto.dev",
       .text = &f->timeline,
       .value_name = "FILE"},
      {.names = "--steps", .help = "only these steps, such as 100:110", .text = &f->steps, .value_name = "A:B"},
      {.names = "--baseline",
       .help = "an earlier run to compare with: what changed, and slowdowns all ranks share",
       .text = &f->baseline,
       .value_name = "PATH"},
      {.names = "--section",
       .help = "print one section of the report, or all",
       .text = &f->section,
       .value_name = "NAME"},
      {.names = "--top", .help = "findings shown in full (5)", .number = &f->top, .value_name = "N"},
      {.names = "--fail-on",
       .help = "exit 1 when there is a finding of this severity or above",
       .text = &f->fail_on,
       .value_name = "SEVERITY",
       .choices = {"info", "warning", "critical"}},
      {.names = "--skip", .help = "do not run this analysis (repeatable)", .list = &f->skip, .value_name = "NAME"},
      {.names = "--list", .help = "list the analyses and exit", .flag = &f->list},
  };
  for (Option& option : ReadingOptions(f)) line.options.push_back(std::move(option));
  return line;
}

Result<void> CheckFlags(const DiagnoseFlags& flags) {
  if (flags.top < 1) return MakeError(ErrorCode::kInvalidArgument, "--top takes a number of 1 or more");
  for (const std::string& name : flags.skip) {
    const auto analyses = diagnose::Analyses();
    if (std::none_of(analyses.begin(), analyses.end(), [&](const auto& a) { return name == a.name; })) {
      return MakeError(ErrorCode::kInvalidArgument, "there is no analysis '" + name + "' to skip (see --list)");
    }
  }
  if (!flags.html.empty() && flags.html == flags.timeline) {
    return MakeError(ErrorCode::kInvalidArgument, "--html and --timeline name one file", flags.html);
  }
  if (flags.steps.empty()) return {};
  if (const auto steps = diagnose::ParseSteps(flags.steps); !steps) return std::unexpected(steps.error());
  return {};
}

// What is written must not be what was read.
Result<void> CheckOutputs(const DiagnoseFlags& flags, const Ingested& in) {
  const auto is_same = [](const std::string& a, const std::string& b) {
    std::error_code none;  // of two files, one of which is not there: they are not the same
    return std::filesystem::equivalent(a, b, none);
  };
  for (const std::string& out : {flags.html, flags.timeline}) {
    if (out.empty()) continue;
    std::error_code none;
    if (std::filesystem::is_directory(out, none)) {
      return MakeError(ErrorCode::kInvalidArgument, "this is a folder: name a file in it", out);
    }
    const bool read = std::any_of(in.sources.begin(), in.sources.end(),
                                  [&](const RankSource& source) { return is_same(out, source.name); }) ||
                      std::any_of(flags.paths.begin(), flags.paths.end(),
                                  [&](const std::string& path) { return is_same(out, path); });
    if (read) return MakeError(ErrorCode::kInvalidArgument, "this file was read: write to another one", out);
  }
  return {};
}

// Leaves the wanted steps in all patterns.
Result<void> Select(const std::string& steps, std::vector<pattern::RankPattern>* ranks) {
  const auto [first, last] = diagnose::ParseSteps(steps).value();
  int64_t lowest = INT64_MAX, highest = INT64_MIN;
  bool any = false;
  for (pattern::RankPattern& rank : *ranks) {
    for (const pattern::Step& step : rank.steps) {
      lowest = std::min(lowest, step.number);
      highest = std::max(highest, step.number);
    }
    diagnose::SelectSteps(first, last, &rank);
    any = any || !rank.steps.empty();
  }
  if (any || lowest > highest) return {};
  return MakeError(ErrorCode::kInvalidArgument, "--steps " + steps + ": these files hold steps #" +
                                                    std::to_string(lowest) + " to #" + std::to_string(highest));
}

// Says of a bad input that it is the one to compare with, not the job itself.
Error OfBaseline(Error error) {
  error.where = error.where.empty() ? "--baseline" : "--baseline " + error.where;
  return error;
}

int ListAnalyses() {
  std::string text;
  for (const diagnose::Analysis& a : diagnose::Analyses()) text += PadRight(a.name, 20) + " " + a.what + "\n";
  const Result<void> written = WriteOut(text);
  return written ? kOk : Fail("diagnose", written.error());
}

bool Fails(const std::vector<report::Finding>& findings, const std::string& fail_on) {
  if (fail_on.empty()) return false;
  const auto limit = fail_on == "critical"  ? report::Severity::kCritical
                     : fail_on == "warning" ? report::Severity::kWarning
                                            : report::Severity::kInfo;
  return std::any_of(findings.begin(), findings.end(), [&](const auto& f) { return f.severity >= limit; });
}

diagnose::ReportOptions OptionsOf(const DiagnoseFlags& flags) {
  diagnose::ReportOptions options;
  options.title = flags.paths.front();
  options.version = kVersion;
  options.threads = ThreadCount(flags.ingest.threads);
  return options;
}

Result<void> WritePage(const report::ReportDoc& doc, const std::string& path) {
  Result<std::string> page = report::RenderHtml(doc);
  if (!page) return std::unexpected(page.error());
  return WriteFileAtomically(path, *page);
}

Result<std::string> RenderTerminal(const report::ReportDoc& doc, const DiagnoseFlags& flags) {
  const Terminal terminal = ReadTerminal();
  report::TextOptions text;
  text.width = terminal.width;
  text.colour = terminal.colour;
  text.ascii = terminal.ascii;
  text.section = flags.section;
  text.findings = flags.top;
  return report::RenderText(doc, text);
}

// The page for people and the machine-readable form do not exclude each other.
Result<void> Publish(const diagnose::Diagnosis& diagnosis, std::vector<report::Section> extra,
                     const DiagnoseFlags& flags) {
  const diagnose::ReportOptions options = OptionsOf(flags);
  report::ReportDoc doc;  // for people
  if (!flags.json || !flags.html.empty()) {
    doc = diagnose::BuildReport(diagnosis, options);
    for (report::Section& section : extra) doc.sections.push_back(std::move(section));
  }
  // The answer first: a page that cannot be written must not cost it.
  if (flags.json) {
    if (Result<void> written = WriteOut(report::RenderFindingsJson(diagnose::BuildFindings(diagnosis))); !written) {
      return written;
    }
  } else {
    const Result<std::string> text = RenderTerminal(doc, flags);
    if (!text) return MakeError(ErrorCode::kInvalidArgument, text.error().message);  // no such section
    if (Result<void> written = WriteOut(*text); !written) return written;
  }
  if (!flags.html.empty()) {
    if (Result<void> written = WritePage(doc, flags.html); !written) return written;
  }
  if (!flags.timeline.empty()) return WriteFileAtomically(flags.timeline, diagnose::PerfettoJson(diagnosis));
  return {};
}

}  // namespace

int RunDiagnose(std::span<const std::string> args) {
  DiagnoseFlags flags;
  if (const ParseOutcome parsed = Parse(Describe(&flags), args); !parsed.run) return parsed.exit_code;
  if (flags.list) return ListAnalyses();
  if (flags.paths.empty()) {
    return Fail("diagnose",
                {ErrorCode::kInvalidArgument, "give the traces: files, a folder, an archive, or - (see --help)", ""});
  }
  if (const Result<void> sensible = CheckFlags(flags); !sensible) return Fail("diagnose", sensible.error());
  Settle(&flags);
  flags.ingest.all_parts = !flags.steps.empty() || !flags.baseline.empty();  // these look at all of every rank
  Result<Ingested> in = Ingest(flags.paths, flags.ingest);
  if (!in) return Fail("diagnose", in.error());
  RemarkProblems("diagnose", *in, flags.quiet);
  RemarkLateFlags("diagnose", flags, *in);
  if (const Result<void> safe = CheckOutputs(flags, *in); !safe) return Fail("diagnose", safe.error());
  if (!flags.steps.empty()) {
    if (const Result<void> selected = Select(flags.steps, &in->ranks); !selected) {
      return Fail("diagnose", selected.error());
    }
  }
  diagnose::Diagnosis diagnosis = diagnose::Diagnose(
      std::move(in->ranks), {flags.skip, in->load_function_steps, ThreadCount(flags.ingest.threads)});
  std::vector<report::Section> extra;
  if (!flags.baseline.empty()) {
    Result<Ingested> then = Ingest({flags.baseline}, flags.ingest);
    if (!then) return Fail("diagnose", OfBaseline(then.error()));
    RemarkProblems("diagnose", *then, flags.quiet);
    const diagnose::Diagnosis before =
        diagnose::Diagnose(std::move(then->ranks), {flags.skip, {}, ThreadCount(flags.ingest.threads)});
    if (diagnose::LacksTime(before.job)) {
      return Fail("diagnose", OfBaseline({ErrorCode::kCorrupt, diagnose::WhyNoTime(before.job), flags.baseline}));
    }
    const diagnose::Comparison comparison = diagnose::Compare(before, diagnosis);
    extra = diagnose::ComparisonSections(comparison);
    if (!comparison.unlike.empty()) diagnosis.not_checked.push_back({"all against the baseline", comparison.unlike});
    std::vector<report::Finding> uniform = diagnose::UniformFindings(comparison, diagnosis.job);
    diagnosis.findings.insert(diagnosis.findings.begin(), uniform.begin(), uniform.end());
  }
  if (Result<void> done = Publish(diagnosis, std::move(extra), flags); !done) return Fail("diagnose", done.error());
  if (diagnose::LacksTime(diagnosis.job)) {
    return Fail("diagnose", {ErrorCode::kCorrupt, diagnose::WhyNoTime(diagnosis.job), flags.paths.front()});
  }
  if (diagnose::LacksCommunication(diagnosis.job)) {
    return Fail("diagnose", {ErrorCode::kCorrupt,
                             "no communication was found although several ranks were read, so the answer rests on too "
                             "little (see --section not-checked; --name-rules teaches names)",
                             flags.paths.front()});
  }
  return Fails(diagnosis.findings, flags.fail_on) ? kCheckFailed : kOk;
}

}  // namespace headway::cli
