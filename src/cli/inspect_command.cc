// SPDX-License-Identifier: Apache-2.0
// headway inspect: what is in traces: ranks, steps, groups, coverage, and what was wrong with them.
#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/ingest.h"
#include "cli/inspect_steps.h"
#include "cli/reading_options.h"
#include "cli/terminal.h"
#include "headway_version.h"
#include "report/text_renderer.h"
#include "trace/problem_texts.h"

namespace headway::cli {

using pattern::RankPattern;
using report::Unit;

namespace {

struct InspectFlags : ReadingFlags {
  bool json = false;
  std::string section = "all";
};

CommandLine Describe(InspectFlags* f) {
  CommandLine line;
  line.command = "inspect";
  line.description =
      "What is in these traces: ranks, steps, process groups, coverage, and the problems found on import.";
  line.example = "headway inspect traces/rank0.json.gz";
  line.options = {
      {.names = "PATH",
       .help = "traces, .hwp patterns, folders, archives, or -",
       .list = &f->paths,
       .positional = true},
      {.names = "--json", .help = "as JSON", .flag = &f->json},
      {.names = "--section", .help = "print one section only (all)", .text = &f->section, .value_name = "NAME"},
  };
  for (Option& option : ReadingOptions(f)) line.options.push_back(std::move(option));
  return line;
}

report::Section RanksTable(const Ingested& in) {
  report::Table table;
  table.columns = {
      {"rank", Unit::kRank, ""},         {"rank from", Unit::kText, ""},    {"host", Unit::kText, ""},
      {"events", Unit::kCount, ""},      {"steps", Unit::kCount, ""},       {"window", Unit::kDuration, ""},
      {"device rows", Unit::kCount, ""}, {"collectives", Unit::kCount, ""}, {"file", Unit::kText, ""}};
  table.top = 16;
  for (size_t r = 0; r < in.ranks.size(); ++r) {
    const RankPattern& rank = in.ranks[r];
    report::Table::Row row;
    row.rank = rank.meta.rank;
    row.cells = {int64_t{rank.meta.rank},
                 rank.meta.rank_source,
                 rank.meta.host.empty() ? report::Value{} : report::Value{rank.meta.host},
                 rank.events,
                 static_cast<int64_t>(pattern::WithoutTail(rank).size()),
                 int64_t{rank.window_end - rank.window_start},
                 rank.device_all.rows,
                 static_cast<int64_t>(rank.comms.instances.size()),
                 in.sources[r].name};
    table.rows.push_back(std::move(row));
  }
  report::Section section;
  section.name = "ranks";
  section.title = "Ranks";
  section.body = std::move(table);
  section.on_terminal = true;
  return section;
}

// How much depends on which device rows are counted; empty where it makes no difference.
std::string LaunchNote(const Ingested& in, bool linked) {
  int64_t rows = 0, without = 0;
  Nanos busy = 0, all_busy = 0;
  for (const RankPattern& rank : in.ranks) {
    rows += rank.device_all.rows;
    without += rank.device_all.rows - rank.device_linked.rows;
    busy += rank.BusyWithoutLaunch();
    all_busy += rank.device_all.Union(15);
  }
  if (without == 0) return "";
  return FormatCount(without) + " of " + FormatCount(rows) + " rows have no launch in the file; " +
         FormatDuration(busy) + " of busy time (" +
         FormatPercent(static_cast<double>(busy) / static_cast<double>(std::max<Nanos>(1, all_busy))) +
         ") are theirs alone and are " + (linked ? "left out" : "counted") + ".";
}

// Device time by interval union: what other tools call computation, communication, idle.
report::Section DeviceTable(const Ingested& in, bool linked) {
  using Sums = RankPattern::DeviceSums;
  report::Table table;
  table.columns = {{"rank", Unit::kRank, ""},
                   {"span", Unit::kDuration, ""},
                   {"busy", Unit::kDuration, ""},
                   {"idle", Unit::kDuration, ""},
                   {"compute", Unit::kDuration, ""},
                   {"communication", Unit::kDuration, ""},
                   {"exposed comm", Unit::kDuration, ""},
                   {"copies", Unit::kDuration, ""},
                   {"sets", Unit::kDuration, ""}};
  table.top = 16;
  for (const RankPattern& rank : in.ranks) {
    if (rank.device_all.rows == 0) continue;
    const Sums& s = linked ? rank.device_linked : rank.device_all;
    const Nanos busy = s.Union(15);
    report::Table::Row row;
    row.rank = rank.meta.rank;
    row.cells = {int64_t{rank.meta.rank},
                 s.last - s.first,
                 busy,
                 s.by_kinds[0],
                 s.Union(Sums::kCompute),
                 s.Union(Sums::kCommunication),
                 s.Union(Sums::kCommunication, Sums::kCompute | Sums::kCopy | Sums::kSet),
                 s.Union(Sums::kCopy),
                 s.Union(Sums::kSet)};
    table.rows.push_back(std::move(row));
  }
  report::Section section;
  section.name = "device";
  section.title = linked ? "Device time (events whose launch is in the file)" : "Device time (all events)";
  section.intro = LaunchNote(in, linked);
  section.on_terminal = !table.rows.empty();
  section.body = std::move(table);
  return section;
}

report::Section GroupsTable(const Ingested& in) {
  std::set<std::tuple<std::string, std::string, std::vector<RankId>>> groups;
  for (const RankPattern& rank : in.ranks) {
    for (const trace::ProcessGroup& group : rank.comms.declared)
      groups.insert({group.desc, group.backend, group.ranks});
  }
  report::Table table;
  table.columns = {{"group", Unit::kText, ""}, {"backend", Unit::kText, ""}, {"ranks", Unit::kText, ""}};
  table.top = 16;
  for (const auto& [desc, backend, ranks] : groups) {
    table.rows.push_back({{desc.empty() ? report::Value{} : report::Value{desc}, backend,
                           ranks.empty() ? report::Value{} : report::Value{FormatRanks(ranks, 8)}}});
  }
  report::Section section;
  section.name = "groups";
  section.title = "Process groups declared in the files";
  section.on_terminal = !table.rows.empty();
  section.body = std::move(table);
  return section;
}

trace::ImportLog AllProblems(const Ingested& in) {
  trace::ImportLog log;
  for (const RankPattern& rank : in.ranks) log.Merge(rank.log);
  return log;
}

report::Section ProblemsFound(const Ingested& in) {
  report::Facts found;
  const trace::ImportLog log = AllProblems(in);
  for (const auto& [name, problem] : log.problems()) {
    const std::string what = FormatCount(problem.count) + " " + trace::KindAndWhatWasDone(name, problem);
    const std::string place = problem.FirstPlace();
    found.facts.push_back({name, what, Unit::kText, place.empty() ? "" : "first: " + place, ""});
  }
  for (const Error& problem : in.problems) {
    found.facts.push_back({"not read", problem.message, Unit::kText, problem.where, ""});
  }
  report::Section section;
  section.name = "problems";
  section.title = "Found on import";
  section.on_terminal = !found.facts.empty();
  section.body = std::move(found);
  return section;
}

std::string Json(const Ingested& in, const std::vector<trace::CommTime>& times) {
  std::string text;
  JsonWriter json(&text, {.indent = 2});
  json.BeginObject();
  json.Key("version").Int(1);
  json.Key("ranks").BeginArray();
  for (size_t r = 0; r < in.ranks.size(); ++r) {
    const RankPattern& rank = in.ranks[r];
    json.BeginObject();
    json.Key("rank").Int(rank.meta.rank);
    json.Key("rank_from").String(rank.meta.rank_source);
    json.Key("world_size").Int(rank.meta.world_size);
    json.Key("host").String(rank.meta.host);
    json.Key("file").String(in.sources[r].name);
    json.Key("events").Int(rank.events);
    json.Key("steps").BeginArray();
    for (const pattern::Step& step : pattern::WithoutTail(rank)) json.Int(step.number);
    json.EndArray();
    json.Key("collectives").Int(static_cast<int64_t>(rank.comms.instances.size()));
    for (const bool linked : {false, true}) {
      const RankPattern::DeviceSums& s = linked ? rank.device_linked : rank.device_all;
      json.Key(linked ? "device_linked_rows" : "device_rows").Int(s.rows);
      json.Key(linked ? "device_linked_ns_by_kinds" : "device_ns_by_kinds").BeginArray();
      for (const Nanos t : s.by_kinds) json.Int(t);
      json.EndArray();
    }
    WriteStepSplits(rank, &json);
    json.Key("communication_ns");
    if (r < times.size()) {
      WriteCommTime(times[r], &json);
    } else {
      json.Null();
    }
    json.EndObject();
  }
  json.EndArray();
  json.Key("problems").BeginObject();
  const trace::ImportLog log = AllProblems(in);
  for (const auto& [name, problem] : log.problems()) json.Key(name).Int(problem.count);
  json.EndObject();
  json.EndObject();
  return text + "\n";
}

}  // namespace

int RunInspect(std::span<const std::string> args) {
  InspectFlags flags;
  if (const ParseOutcome parsed = Parse(Describe(&flags), args); !parsed.run) return parsed.exit_code;
  if (flags.paths.empty()) {
    return Fail("inspect",
                {ErrorCode::kInvalidArgument, "give traces: files, a folder, an archive, or - (see --help)", ""});
  }
  Settle(&flags);
  flags.ingest.fold.split_steps = true;
  const Result<Ingested> in = Ingest(flags.paths, flags.ingest);
  if (!in) return Fail("inspect", in.error());
  RemarkProblems("inspect", *in, flags.quiet);
  RemarkLateFlags("inspect", flags, *in);
  const std::vector<trace::CommTime> times = CommTimes(*in, flags.ingest.threads);
  if (flags.json) {
    if (Result<void> written = WriteOut(Json(*in, times)); !written) return Fail("inspect", written.error());
    return kOk;
  }
  report::ReportDoc doc;
  doc.command = "inspect";
  doc.title = "headway inspect: " + flags.paths.front();
  doc.version = kVersion;
  doc.sections = {RanksTable(*in),  DeviceTable(*in, flags.gpu_events == "linked"),
                  StepsTable(*in),  OverlapTable(*in, times),
                  GroupsTable(*in), ProblemsFound(*in)};
  const Terminal terminal = ReadTerminal();
  report::TextOptions text;
  text.width = terminal.width;
  text.colour = terminal.colour;
  text.ascii = terminal.ascii;
  text.section = flags.section == "all" ? "" : flags.section;
  const Result<std::string> rendered = report::RenderText(doc, text);
  if (!rendered) return Fail("inspect", rendered.error());
  if (Result<void> written = WriteOut(*rendered); !written) return Fail("inspect", written.error());
  return kOk;
}

}  // namespace headway::cli
