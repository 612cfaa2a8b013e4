// SPDX-License-Identifier: Apache-2.0
#include "report/page_json.h"

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "report/definitions.h"
#include "report/page_sections.h"

namespace headway::report {
namespace {

void WritePlaces(const std::vector<RankPlace>& places, JsonWriter* json) {
  json->Key("places").BeginObject();
  json->Key("rank").BeginArray();
  for (const RankPlace& place : places) json->Int(place.rank);
  json->EndArray();
  json->Key("host").BeginArray();
  for (const RankPlace& place : places) json->String(place.host);
  json->EndArray();
  json->Key("device").BeginArray();
  for (const RankPlace& place : places) json->String(place.device);
  json->EndArray();
  json->Key("coordinates").BeginArray();
  for (const RankPlace& place : places) WriteIntegers(place.coordinates, json);
  json->EndArray().EndObject();
}

void WriteHeadline(const Headline& headline, JsonWriter* json) {
  const auto optional = [&](std::string_view key, const std::optional<Nanos>& value) {
    json->Key(key);
    if (value) {
      json->Int(*value);
    } else {
      json->Null();
    }
  };
  json->Key("headline").BeginObject();
  json->Field("sentence", headline.sentence).Field("now_label", headline.now_label);
  json->Field("attainable_label", headline.attainable_label);
  optional("now", headline.now);
  optional("attainable", headline.attainable);
  optional("detection_floor", headline.detection_floor);
  json->EndObject();
}

void WriteScope(const Scope& scope, JsonWriter* json) {
  json->Key("ranks");
  WriteIntegers(scope.ranks, json);
  json->Key("hosts");
  WriteStrings(scope.hosts, json);
  json->Key("devices");
  WriteStrings(scope.devices, json);
  json->Key("links").BeginArray();
  for (const Link& link : scope.links) {
    json->BeginObject().Field("from", link.from).Field("to", link.to).EndObject();
  }
  json->EndArray().Key("stage");
  if (scope.stage >= 0) {
    json->Int(scope.stage);
  } else {
    json->Null();
  }
  json->Field("function", scope.function).Field("group", scope.group);
}

void WriteFinding(const Finding& finding, JsonWriter* json) {
  json->BeginObject().Field("id", finding.id).Field("cause", finding.cause);
  json->Field("severity", ToString(finding.severity)).Field("confidence", ToString(finding.confidence));
  json->Field("confidence_reason", finding.confidence_reason);
  WriteScope(finding.scope, json);
  json->Key("when").BeginObject().Field("kind", ToString(finding.when.kind)).Key("steps");
  WriteIntegers(finding.when.steps, json);
  json->EndObject().Key("victims");
  WriteIntegers(finding.victims, json);
  json->Field("recoverable", finding.recoverable_per_step).Field("worst_step", finding.worst_step);
  json->Key("cost_by_step");
  WriteIntegers(finding.cost_by_step, json);
  json->Field("headline", finding.headline).Field("sentence", finding.sentence);
  json->Field("suggestion", finding.suggestion).Field("edit", finding.edit);
  json->Key("evidence").BeginArray();
  for (const Evidence& row : finding.evidence) {
    json->BeginObject().Field("metric", row.metric).Field("value", row.value).Field("expected", row.expected);
    json->Field("peers", row.peers).Field("source", row.source).EndObject();
  }
  json->EndArray().EndObject();
}

void WriteQuality(const DataQuality& quality, JsonWriter* json) {
  json->Key("data_quality").BeginObject().Field("summary", quality.summary);
  WriteFacts("facts", quality.facts, json);
  json->Key("problems").BeginArray();
  for (const DataQuality::Problem& problem : quality.problems) {
    json->BeginObject().Field("severity", problem.severity).Field("problem", problem.problem);
    json->Field("count", problem.count).Field("what", problem.what).Field("where", problem.where).EndObject();
  }
  json->EndArray().EndObject();
}

void WriteEnd(const ReportDoc& doc, JsonWriter* json) {
  json->Field("analyses_run", doc.analyses_run).Key("not_checked").BeginArray();
  for (const NotChecked& entry : doc.not_checked) {
    json->BeginObject().Field("what", entry.what).Field("why", entry.why).EndObject();
  }
  json->EndArray();
  WriteQuality(doc.data_quality, json);
  json->Key("commands").BeginArray();
  for (const SuggestedCommand& command : doc.commands) {
    json->BeginObject().Field("label", command.label).Field("command", command.command);
    json->Field("what", command.what).EndObject();
  }
  json->EndArray().Key("definitions").BeginArray();
  for (const Definition& definition : DefinitionsFor(doc)) {
    json->BeginObject().Field("term", definition.term).Field("title", definition.title);
    json->Field("text", definition.text).EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string PageJson(const ReportDoc& doc) {
  std::string out;
  JsonWriter json(&out);
  json.BeginObject();
  json.Field("command", doc.command).Field("title", doc.title).Field("version", doc.version);
  json.Key("header").BeginArray();
  for (const HeaderLine& line : doc.header) {
    json.BeginObject().Field("label", line.label).Field("text", line.text).EndObject();
  }
  json.EndArray();
  WriteHeadline(doc.headline, &json);
  WriteFacts("key_facts", doc.key_facts, &json);
  json.Key("steps");
  WriteIntegers(doc.steps, &json);
  json.Key("step_durations");
  WriteIntegers(doc.step_durations, &json);
  WritePlaces(doc.places, &json);
  json.Key("coordinate_names");
  WriteStrings(doc.coordinate_names, &json);
  json.Key("findings").BeginArray();
  for (const Finding& finding : doc.findings) WriteFinding(finding, &json);
  json.EndArray().Key("sections").BeginArray();
  for (const Section& section : doc.sections) WriteSection(section, &json);
  json.EndArray();
  WriteEnd(doc, &json);
  json.EndObject();
  return out;
}

}  // namespace headway::report
