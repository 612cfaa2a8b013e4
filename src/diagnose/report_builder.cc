// SPDX-License-Identifier: Apache-2.0
#include "diagnose/report_builder.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/function_tables.h"
#include "diagnose/headline.h"
#include "diagnose/pictures.h"
#include "diagnose/summary.h"
#include "diagnose/timeline.h"
#include "trace/problem_texts.h"

namespace headway::diagnose {

using report::Finding;
using report::ReportDoc;
using report::Severity;
using report::Unit;

namespace {

bool Loud(const Finding& finding) { return finding.severity != Severity::kInfo; }

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : std::string(separator)) + part;
  return out;
}

std::vector<RankId> RanksRead(const Job& job) {
  std::vector<RankId> ranks;
  for (const auto& rank : job.ranks) ranks.push_back(rank.meta.rank);
  return ranks;
}

std::string JobLine(const Job& job) {
  std::string line = Counted(job.world_size, "rank");
  const std::vector<std::string> hosts = HostNames(job);
  if (!hosts.empty()) line += " on " + Counted(static_cast<int64_t>(hosts.size()), "host");
  if (job.steps.empty()) {
    const bool any = std::any_of(job.ranks.begin(), job.ranks.end(), [](const auto& r) { return !r.steps.empty(); });
    line += any ? ", no common step" : ", no steps marked";
  } else {
    line +=
        ", " + Counted(static_cast<int64_t>(job.num_steps()), "step") + " read (#" + std::to_string(job.steps.front());
    if (job.num_steps() > 1) line += "-" + std::to_string(job.steps.back());
    line += ")";
  }
  const bool marked =
      std::all_of(job.ranks.begin(), job.ranks.end(), [](const auto& rank) { return rank.steps_marked; });
  if (!job.steps.empty() && !marked) line += " (not marked in the files: optimizer steps, or the whole file as one)";
  const std::vector<std::string> frameworks = Frameworks(job);
  if (!frameworks.empty()) line += ", " + Join(frameworks, ", ");
  if (!job.missing.empty()) {
    line += job.missing.size() == 1 ? "; rank " : "; ranks ";
    line += FormatRanks(job.missing, 6) + (job.missing.size() == 1 ? " has no trace" : " have no trace");
  }
  return line;
}

report::Waterfall BreakdownPicture(const report::StepBreakdown& b) {
  using Role = report::Waterfall::Role;
  report::Waterfall picture;
  const auto add = [&picture](const char* name, report::TimeClass c, Role role, Nanos value, const char* term) {
    if (value > 0) picture.items.push_back({name, c, role, value, "", term});
  };
  add("compute", report::TimeClass::kCompute, Role::kPart, b.compute, "compute-time");
  add("memory", report::TimeClass::kMemory, Role::kPart, b.memory, "memory-time");
  add("exposed communication", report::TimeClass::kTransfer, Role::kPart, b.comm_wait + b.comm_transfer,
      "exposed-communication");
  add("waiting", report::TimeClass::kWait, Role::kWithin, b.comm_wait, "wait-time");
  add("input", report::TimeClass::kInput, Role::kPart, b.input, "input-time");
  add("host", report::TimeClass::kHost, Role::kPart, b.host, "host-time");
  add("idle", report::TimeClass::kIdle, Role::kPart, b.idle, "idle-time");
  Nanos total = 0;
  for (const auto& item : picture.items) total += item.role == Role::kPart ? item.value : 0;
  add("step", report::TimeClass::kOther, Role::kTotal, total, "step-time");
  return picture;
}

std::vector<report::NotChecked> NotChecked(const Diagnosis& d) {
  std::vector<report::NotChecked> out = d.not_checked;
  const std::vector<RankId>& missing = d.job.missing;
  if (!missing.empty()) {
    out.push_back({(missing.size() == 1 ? "rank " : "ranks ") + FormatRanks(missing, 8),
                   missing.size() == 1 ? "no trace of it was read" : "no trace of them was read"});
  }
  return out;
}

report::DataQuality Quality(const Diagnosis& d) {
  const Job& job = d.job;
  report::DataQuality out;
  const trace::ImportLog log = MergedLog(job);
  int64_t events = 0;
  for (const auto& rank : job.ranks) events += rank.events;
  const int64_t repaired = log.Total(trace::ProblemKind::kRepaired);
  const int64_t dropped = log.Total(trace::ProblemKind::kDropped);
  const std::optional<Nanos> residual = ClockResidual(job);
  const double unknown = UnknownTimeShare(job);
  out.summary = FormatCountShort(events) + " events";
  out.summary += ", " + FormatCountShort(repaired) + " repaired, " + FormatCountShort(dropped) + " dropped";
  if (job.num_ranks() > 1) {
    out.summary += job.comms.clocks.size() < 2 ? ", one clock"
                   : residual                  ? ", clocks aligned to " + FormatDuration(*residual)
                                               : ", clocks not all aligned";
  }
  if (unknown > 0) out.summary += ", " + FormatPercent(unknown, 1) + " of device time under unknown names";
  out.facts.push_back({"events read", events, Unit::kCount, "", ""});
  out.facts.push_back({"device events counted", GpuEventsCounted(job), Unit::kText, "--gpu-events", "gpu-events"});
  if (const Nanos busy = BusyWithoutLaunch(job); busy > 0) {
    out.facts.push_back({"busy time without a launch", busy, Unit::kDuration, "", ""});
  }
  out.facts.push_back({"last step", LastStepRead(job), Unit::kText, "--last-step", "last-step"});
  if (residual) out.facts.push_back({"clock residual", *residual, Unit::kDuration, "", "clock-residual"});
  out.facts.push_back({"replay error, mean", job.replay_error.mean, Unit::kShare, "", "replay-error"});
  out.facts.push_back({"replay error, worst step", job.replay_error.max, Unit::kShare, "", "replay-error"});
  out.facts.push_back({"communication rows not paired", job.comms.unmatched_instances, Unit::kCount, "", ""});
  out.facts.push_back({"paired but inconsistent", job.comms.inconsistent, Unit::kCount, "", ""});
  for (const std::string& note : job.comms.notes) out.facts.push_back({"groups and clocks", note, Unit::kText, "", ""});
  for (const auto& [name, problem] : log.problems()) {
    const char* severity = problem.kind == trace::ProblemKind::kDropped    ? "error"
                           : problem.kind == trace::ProblemKind::kRepaired ? "warning"
                                                                           : "note";
    out.problems.push_back(
        {severity, name, problem.count, trace::KindAndWhatWasDone(name, problem), problem.FirstPlace()});
  }
  return out;
}

std::vector<report::RankPlace> Places(const Job& job) {
  std::vector<report::RankPlace> places;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const Coordinate& c = job.coordinates[r];
    places.push_back({job.ranks[r].meta.rank,
                      job.ranks[r].comms.host_known ? job.ranks[r].meta.host : "",
                      "",
                      {c.stage_unnumbered ? -1 : c.stage, c.dp, c.tp, c.ep, c.cp}});
  }
  return places;
}

}  // namespace

ReportDoc BuildReport(const Diagnosis& d, const ReportOptions& options) {
  ReportDoc doc;
  doc.command = "diagnose";
  doc.title = "headway diagnose: " + options.title;
  doc.version = options.version;
  doc.header = {{"job", JobLine(d.job)}, {"step", StepLine(d)}};
  doc.headline = HeadlineOf(d);
  doc.steps = d.job.steps;
  doc.step_durations = d.job.step_time;
  doc.places = Places(d.job);
  doc.coordinate_names = {"stage", "dp", "tp", "ep", "cp"};
  doc.findings = d.findings;
  report::Section breakdown;
  breakdown.name = report::section::kStepBreakdown;
  breakdown.title = "Step time";
  breakdown.intro = "Where the median step goes, mean over its ranks.";
  breakdown.body = BreakdownPicture(BreakDown(d));
  breakdown.on_terminal = false;
  doc.sections.push_back(std::move(breakdown));
  doc.sections.push_back(RanksPicture(d));
  doc.sections.push_back(RanksByStepsPicture(d));
  size_t pictures = 0;
  for (const Finding& finding : d.findings) {
    if (!Loud(finding) || pictures >= 3) break;
    const std::string name = report::section::kTimeline + (pictures == 0 ? "" : "-" + std::to_string(pictures + 1));
    report::Section timeline = TimelineOf(d, finding, name);
    if (!std::holds_alternative<report::Timeline>(timeline.body)) continue;
    doc.sections.push_back(std::move(timeline));
    ++pictures;
  }
  for (report::Section& table : FunctionTables(d.job, options.threads)) doc.sections.push_back(std::move(table));
  doc.sections.push_back(GroupsTable(d));
  if (d.job.comms.clocks.size() > 1) doc.sections.push_back(ClocksTable(d));
  doc.analyses_run = d.analyses_run;
  doc.not_checked = NotChecked(d);
  doc.data_quality = Quality(d);
  return doc;
}

report::FindingsDocument BuildFindings(const Diagnosis& d) {
  const Job& job = d.job;
  report::FindingsDocument doc;
  doc.job.world_size = job.world_size;
  doc.job.ranks_read = RanksRead(job);
  doc.job.hosts = HostNames(job);
  if (!job.steps.empty()) {
    doc.job.first_step = job.steps.front();
    doc.job.last_step = job.steps.back();
  }
  std::vector<Nanos> windows;
  for (const auto& rank : job.ranks) windows.push_back(rank.window_end - rank.window_start);
  std::sort(windows.begin(), windows.end());
  if (!windows.empty()) doc.job.window = windows[windows.size() / 2];
  doc.job.frameworks = Frameworks(job);
  doc.step_time.median = job.median_step;
  doc.step_time.p95 = job.p95_step;
  doc.step_time.breakdown = BreakDown(d);
  doc.step_time.replay_error = job.replay_error.mean;
  doc.steps = job.steps;
  doc.findings = d.findings;
  doc.not_checked = NotChecked(d);
  doc.data_quality.ranks_missing = job.missing;
  for (const auto& rank : job.ranks) doc.data_quality.events += rank.events;
  const trace::ImportLog log = MergedLog(job);
  for (const auto& [name, problem] : log.problems()) {
    if (problem.kind == trace::ProblemKind::kRepaired) doc.data_quality.repaired[name] = problem.count;
    if (problem.kind == trace::ProblemKind::kDropped) doc.data_quality.dropped[name] = problem.count;
  }
  doc.data_quality.unknown_time_share = UnknownTimeShare(job);
  if (job.comms.clocks.size() > 1) doc.data_quality.clock_residual = ClockResidual(job);
  doc.data_quality.clocks = ClockSummaries(job);
  doc.data_quality.gpu_events = GpuEventsCounted(job);
  doc.data_quality.last_step = LastStepRead(job);
  return doc;
}

}  // namespace headway::diagnose
