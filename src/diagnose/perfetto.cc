// SPDX-License-Identifier: Apache-2.0
#include "diagnose/perfetto.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "diagnose/rank_intervals.h"
#include "diagnose/timeline.h"
#include "replay/critical_path.h"

namespace headway::diagnose {
namespace {

constexpr int64_t kJobProcess = 0;  // ranks are processes 1, 2, ...

const trace::HostClock& ClockOf(const Job& job, size_t rank) {
  return job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])];
}

class Writer {
 public:
  Writer(const Job& job, JsonWriter* json) : job_(job), json_(*json) {
    if (job.graph.chain_start.empty()) return;
    origin_ = *std::min_element(job.graph.chain_start.begin(), job.graph.chain_start.end());
  }

  void Process(int64_t pid, const std::string& name) {
    Name("process_name", pid, 0, name);
    json_.BeginObject(JsonWriter::Layout::kInline);
    json_.Field("ph", "M").Field("name", "process_sort_index").Field("pid", pid).Field("tid", 0);
    json_.Key("args").BeginObject(JsonWriter::Layout::kInline).Field("sort_index", pid).EndObject();
    json_.EndObject();
  }
  void Thread(int64_t pid, int64_t tid, const std::string& name) { Name("thread_name", pid, tid, name); }

  // From and to on aligned clocks.
  void Slice(int64_t pid, int64_t tid, const std::string& name, Nanos from, Nanos to) {
    json_.BeginObject(JsonWriter::Layout::kInline);
    json_.Field("ph", "X").Field("name", name).Field("pid", pid).Field("tid", tid);
    json_.Field("ts", Microseconds(from - origin_), 3).Field("dur", Microseconds(std::max<Nanos>(0, to - from)), 3);
    json_.EndObject();
  }

  void Step(int64_t pid, int64_t tid, const std::string& name, size_t rank, const pattern::Step& step) {
    Slice(pid, tid, name, Align(ClockOf(job_, rank), step.start), Align(ClockOf(job_, rank), step.end));
  }

 private:
  static double Microseconds(Nanos t) { return static_cast<double>(t) / 1000.0; }

  void Name(const char* what, int64_t pid, int64_t tid, const std::string& name) {
    json_.BeginObject(JsonWriter::Layout::kInline);
    json_.Field("ph", "M").Field("name", what).Field("pid", pid).Field("tid", tid);
    json_.Key("args").BeginObject(JsonWriter::Layout::kInline).Field("name", name).EndObject();
    json_.EndObject();
  }

  const Job& job_;
  JsonWriter& json_;
  Nanos origin_ = 0;
};

std::string RankName(const Job& job, size_t r) {
  const pattern::RankPattern& rank = job.ranks[r];
  std::string name = "rank " + std::to_string(rank.meta.rank);
  if (rank.comms.host_known) name += " (" + rank.meta.host + ")";
  const trace::HostClock& clock = ClockOf(job, r);
  if (clock.offset != 0) {
    name += ", clock moved by " + FormatDuration(clock.offset) + ", give or take " + FormatDuration(clock.residual);
  }
  return name;
}

std::string PieceName(const Job& job, const replay::PathPiece& piece) {
  using Kind = replay::PathPiece::Kind;
  std::string rank = "rank " + std::to_string(job.ranks[piece.rank].meta.rank);
  switch (piece.kind) {
    case Kind::kOwn: return rank + ": own time";
    case Kind::kTransfer: return "transfer: " + CollectiveName(job, piece.collective) + ", last to come " + rank;
    case Kind::kResume: return rank + ": goes on after " + CollectiveName(job, piece.collective);
    case Kind::kWait: return rank + ": waits in " + CollectiveName(job, piece.collective) + " for somebody unknown";
  }
  return rank;
}

void WriteJob(const Diagnosis& d, Writer* out) {
  const Job& job = d.job;
  out->Process(kJobProcess, "headway: critical path and findings");
  int64_t lane = 1;
  const std::vector<replay::PathPiece> path = replay::CriticalPath(job.graph);
  if (!path.empty()) out->Thread(kJobProcess, lane, "critical path");
  for (const replay::PathPiece& piece : path) {
    out->Slice(kJobProcess, lane, PieceName(job, piece), piece.start, piece.end);
  }
  for (const report::Finding& finding : d.findings) {
    if (finding.severity == report::Severity::kInfo || finding.cost_by_step.empty() || job.num_ranks() == 0) continue;
    out->Thread(kJobProcess, ++lane, finding.cause + ": " + finding.headline);
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const pattern::Step* step = job.StepOf(0, s);
      if (step == nullptr || finding.cost_by_step[s] <= 0) continue;
      out->Step(kJobProcess, lane, finding.cause + ", " + FormatDuration(finding.cost_by_step[s]), 0, *step);
    }
  }
}

std::string IntervalName(const Job& job, const Interval& interval) {
  if (interval.kind == IntervalKind::kOwn) return "own time";
  return (interval.kind == IntervalKind::kWait ? "waiting: " : "transfer: ") + CollectiveName(job, interval.collective);
}

void WriteRank(const Job& job, size_t r, Writer* out) {
  const pattern::RankPattern& pattern = job.ranks[r];
  const int64_t pid = pattern.meta.rank + 1;
  out->Process(pid, RankName(job, r));
  out->Thread(pid, 1, "steps");
  out->Thread(pid, 2, "own time, waiting, transfer");
  for (const pattern::Step& step : pattern.steps) {
    out->Step(pid, 1, "step #" + std::to_string(step.number), r, step);
  }
  for (const Interval& interval : RankIntervals(job, r)) {
    out->Slice(pid, 2, IntervalName(job, interval), interval.start, interval.end);
  }
  // Collectives overlap: each goes to the first thread that is free.
  const std::span<const int32_t> collective_of = job.graph.CollectivesOfRows(r);
  const trace::HostClock& clock = ClockOf(job, r);
  std::vector<Nanos> busy;
  for (size_t i = 0; i < pattern.comms.instances.size(); ++i) {
    const Nanos start = Align(clock, pattern.comms.instances[i].start);
    const Nanos end = std::max(start, Align(clock, pattern.comms.instances[i].end));
    size_t lane = 0;
    while (lane < busy.size() && busy[lane] > start) ++lane;
    const int64_t tid = 3 + static_cast<int64_t>(lane);
    if (lane == busy.size()) {
      busy.push_back(0);
      out->Thread(pid, tid, "collectives");
    }
    busy[lane] = end;
    out->Slice(pid, tid, CollectiveName(job, collective_of[i]), start, end);
  }
}

}  // namespace

std::string PerfettoJson(const Diagnosis& d) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Field("displayTimeUnit", "ms");
  json.Key("traceEvents").BeginArray();
  Writer out(d.job, &json);
  WriteJob(d, &out);
  for (size_t r = 0; r < d.job.num_ranks(); ++r) WriteRank(d.job, r, &out);
  json.EndArray();
  json.EndObject();
  return text + "\n";
}

}  // namespace headway::diagnose
