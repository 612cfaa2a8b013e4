// SPDX-License-Identifier: Apache-2.0
#include "report/json_renderer.h"

#include <optional>

#include "base/json_writer.h"

namespace headway::report {
namespace {

constexpr auto kInline = JsonWriter::Layout::kInline;
constexpr int kShareDigits = 6;

template <typename T>
void Integers(std::string_view key, const std::vector<T>& values, JsonWriter* json) {
  json->Key(key).BeginArray(kInline);
  for (const T value : values) json->Int(value);
  json->EndArray();
}

void Strings(std::string_view key, const std::vector<std::string>& values, JsonWriter* json) {
  json->Key(key).BeginArray(kInline);
  for (const std::string& value : values) json->String(value);
  json->EndArray();
}

void Counts(std::string_view key, const std::map<std::string, int64_t>& counts, JsonWriter* json) {
  json->Key(key).BeginObject(kInline);
  for (const auto& [name, count] : counts) json->Field(name, count);
  json->EndObject();
}

void WriteJob(const JobSummary& job, JsonWriter* json) {
  json->Key("job").BeginObject().Field("world_size", job.world_size);
  Integers("ranks_read", job.ranks_read, json);
  Strings("hosts", job.hosts, json);
  json->Key("steps").BeginArray(kInline).Int(job.first_step).Int(job.last_step).EndArray();
  json->Field("window_ns", job.window);
  Strings("frameworks", job.frameworks, json);
  json->EndObject();
}

void WriteStepTime(const StepTime& time, JsonWriter* json) {
  const StepBreakdown& b = time.breakdown;
  json->Key("step_time").BeginObject().Field("median_ns", time.median).Field("p95_ns", time.p95);
  json->Key("breakdown_ns").BeginObject().Field("compute", b.compute).Field("memory", b.memory);
  json->Field("comm_wait", b.comm_wait).Field("comm_transfer", b.comm_transfer).Field("host", b.host);
  json->Field("input", b.input).Field("idle", b.idle).Field("bubble", b.bubble).EndObject();
  json->Key("replay_error");
  if (time.replay_error) {
    json->Double(*time.replay_error, kShareDigits);
  } else {
    json->Null();
  }
  json->EndObject();
}

void IntOrNull(std::string_view key, std::optional<int64_t> value, JsonWriter* json) {
  json->Key(key);
  if (value) {
    json->Int(*value);
  } else {
    json->Null();
  }
}

// A name where there is one, else null.
void NameOrNull(std::string_view key, const std::string& name, JsonWriter* json) {
  json->Key(key);
  if (name.empty()) {
    json->Null();
  } else {
    json->String(name);
  }
}

void WriteScope(const Scope& scope, JsonWriter* json) {
  json->Key("scope").BeginObject();
  Integers("ranks", scope.ranks, json);
  Strings("hosts", scope.hosts, json);
  Strings("devices", scope.devices, json);
  json->Key("links").BeginArray(kInline);
  for (const Link& link : scope.links) {
    json->BeginObject().Field("from", link.from).Key("to");
    if (link.to >= 0) {
      json->Int(link.to);
    } else {
      json->Null();
    }
    json->EndObject();
  }
  json->EndArray().Key("stage");
  if (scope.stage >= 0) {
    json->Int(scope.stage);
  } else {
    json->Null();
  }
  NameOrNull("function", scope.function, json);
  NameOrNull("group", scope.group, json);
  json->EndObject();
}

void WriteFinding(const Finding& finding, JsonWriter* json) {
  json->BeginObject().Field("id", finding.id).Field("cause", finding.cause);
  json->Field("severity", ToString(finding.severity)).Field("confidence", ToString(finding.confidence));
  json->Field("confidence_reason", finding.confidence_reason);
  WriteScope(finding.scope, json);
  json->Key("when").BeginObject().Field("kind", ToString(finding.when.kind));
  Integers("steps", finding.when.steps, json);
  json->EndObject();
  Integers("victims", finding.victims, json);
  json->Field("recoverable_ns_per_step", finding.recoverable_per_step).Field("worst_step_ns", finding.worst_step);
  Integers("cost_ns_by_step", finding.cost_by_step, json);
  json->Field("headline", finding.headline).Field("sentence", finding.sentence);
  json->Key("evidence").BeginArray();
  for (const Evidence& row : finding.evidence) {
    json->BeginObject().Field("metric", row.metric).Field("value", row.value).Field("expected", row.expected);
    json->Field("peers", row.peers).Field("source", row.source).EndObject();
  }
  json->EndArray().Field("suggestion", finding.suggestion);
  NameOrNull("edit", finding.edit, json);
  json->EndObject();
}

void WriteClocks(const std::vector<ClockSummary>& clocks, JsonWriter* json) {
  json->Key("clocks").BeginArray();
  for (const ClockSummary& clock : clocks) {
    json->BeginObject();
    NameOrNull("host", clock.host, json);
    Integers("ranks", clock.ranks, json);
    json->Field("offset_ns", clock.offset).Field("drift_ppm", clock.drift_ppm, kShareDigits);
    json->Field("reference_ns", clock.reference);
    IntOrNull("residual_ns", clock.residual, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteQuality(const DataQualitySummary& quality, JsonWriter* json) {
  json->Key("data_quality").BeginObject();
  Integers("ranks_missing", quality.ranks_missing, json);
  json->Field("events", quality.events);
  Counts("repaired", quality.repaired, json);
  Counts("dropped", quality.dropped, json);
  json->Field("unknown_time_share", quality.unknown_time_share, kShareDigits);
  IntOrNull("clock_residual_ns", quality.clock_residual, json);
  WriteClocks(quality.clocks, json);
  json->Field("gpu_events", quality.gpu_events).Field("last_step", quality.last_step).EndObject();
}

}  // namespace

std::string RenderFindingsJson(const FindingsDocument& document) {
  std::string out;
  JsonWriter json(&out, {.indent = 2});
  json.BeginObject().Field("version", kFindingsVersion);
  WriteJob(document.job, &json);
  WriteStepTime(document.step_time, &json);
  Integers("steps", document.steps, &json);
  json.Key("findings").BeginArray();
  for (const Finding& finding : document.findings) WriteFinding(finding, &json);
  json.EndArray().Key("not_checked").BeginArray();
  for (const NotChecked& entry : document.not_checked) {
    json.BeginObject().Field("what", entry.what).Field("why", entry.why).EndObject();
  }
  json.EndArray();
  WriteQuality(document.data_quality, &json);
  json.EndObject();
  return out + "\n";
}

}  // namespace headway::report
