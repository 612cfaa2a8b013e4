// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_steps.h"

#include <algorithm>

namespace headway::cli {

using pattern::RankPattern;
using pattern::StepPart;
using pattern::StepSplit;
using report::Unit;

namespace {

struct Sums {
  std::array<Nanos, pattern::kStepParts> by_part{};
  Nanos length = 0, device_busy = 0, compute = 0, communication = 0, overlapped = 0;
};

Sums SumSteps(const RankPattern& rank) {
  Sums sums;
  for (const StepSplit& step : rank.step_splits) {
    for (size_t p = 0; p < step.by_part.size(); ++p) sums.by_part[p] += step.by_part[p];
    sums.length += step.end - step.start;
    sums.device_busy += step.device_busy;
    sums.compute += step.compute;
    sums.communication += step.communication;
    sums.overlapped += step.overlapped;
  }
  return sums;
}

}  // namespace

std::vector<trace::CommTime> CommTimes(const Ingested& in, int threads) {
  std::vector<trace::RankComms> comms;
  size_t rows = 0;
  int32_t world_size = -1;
  for (const RankPattern& rank : in.ranks) {
    if (rank.thinned_instances > 0) return {};
    comms.push_back(rank.comms);
    rows += rank.comms.instances.size();
    world_size = std::max(world_size, rank.meta.world_size);
  }
  if (rows == 0) return {};
  return trace::SplitCommTime(comms, trace::JoinComms(comms, world_size, threads));
}

report::Section StepsTable(const Ingested& in) {
  report::Table table;
  table.columns = {{"rank", Unit::kRank, ""}, {"steps", Unit::kCount, ""}, {"length", Unit::kDuration, ""}};
  for (int p = 0; p < pattern::kStepParts; ++p) {
    table.columns.push_back({ToString(static_cast<StepPart>(p)), Unit::kDuration, ""});
  }
  table.columns.push_back({"device busy", Unit::kShare, ""});
  table.top = 16;
  for (const RankPattern& rank : in.ranks) {
    const auto count = static_cast<int64_t>(rank.step_splits.size());
    if (count == 0) continue;
    const Sums sums = SumSteps(rank);
    report::Table::Row row;
    row.rank = rank.meta.rank;
    for (const int64_t cell : {int64_t{rank.meta.rank}, count, sums.length / count}) row.cells.emplace_back(cell);
    for (const Nanos part : sums.by_part) row.cells.emplace_back(part / count);
    report::Value& busy = row.cells.emplace_back();
    if (rank.has_device && sums.length > 0) {
      busy = static_cast<double>(sums.device_busy) / static_cast<double>(sums.length);
    }
    table.rows.push_back(std::move(row));
  }
  report::Section section;
  section.name = "steps";
  section.title = "Steps as the device saw them";
  section.intro =
      "Mean step: each instant counts for the first of these that ran. Device busy: a kernel ran, communication "
      "kernels "
      "included.";
  section.on_terminal = !table.rows.empty();
  section.body = std::move(table);
  return section;
}

report::Section OverlapTable(const Ingested& in, const std::vector<trace::CommTime>& times) {
  report::Table table;
  table.columns = {{"rank", Unit::kRank, ""},        {"compute only", Unit::kDuration, ""},
                   {"both", Unit::kDuration, ""},    {"communication only", Unit::kDuration, ""},
                   {"neither", Unit::kDuration, ""}, {"transfer", Unit::kDuration, ""},
                   {"waiting", Unit::kDuration, ""}};
  table.top = 16;
  for (size_t r = 0; r < times.size(); ++r) {
    const RankPattern& rank = in.ranks[r];
    if (times[r].open == 0) continue;
    const Sums sums = SumSteps(rank);
    report::Table::Row row;
    row.rank = rank.meta.rank;
    row.cells = {int64_t{rank.meta.rank}};
    const auto add = [&row](bool known, Nanos time) {
      report::Value& cell = row.cells.emplace_back();
      if (known) cell = time;
    };
    for (const Nanos t : {sums.compute - sums.overlapped, sums.overlapped, sums.communication - sums.overlapped,
                          sums.length - sums.compute - sums.communication + sums.overlapped}) {
      add(!rank.step_splits.empty(), t);
    }
    add(times[r].paired > 0, times[r].transfer);
    add(times[r].paired > 0, times[r].waiting());
    table.rows.push_back(std::move(row));
  }
  report::Section section;
  section.name = "communication";
  section.title = "Computation and communication";
  section.intro =
      "Over the steps as the device saw them; transfer and waiting over the whole file: of each operation the last "
      "part, "
      "as long as its quickest member took, moved data.";
  section.on_terminal = !table.rows.empty();
  section.body = std::move(table);
  return section;
}

void WriteCommTime(const trace::CommTime& time, JsonWriter* json) {
  json->BeginObject(JsonWriter::Layout::kInline).Field("open", time.open).Field("paired_rows", time.paired);
  if (time.paired > 0) {
    json->Field("transfer", time.transfer).Field("waiting", time.waiting());
  } else {
    json->Key("transfer").Null();
    json->Key("waiting").Null();
  }
  json->EndObject();
}

void WriteStepSplits(const RankPattern& rank, JsonWriter* json) {
  json->Key("step_splits").BeginArray();
  for (const StepSplit& step : rank.step_splits) {
    json->BeginObject(JsonWriter::Layout::kInline);
    json->Field("step", step.number).Field("start_ns", step.start).Field("length_ns", step.end - step.start);
    json->Key("by_part_ns").BeginObject(JsonWriter::Layout::kInline);
    for (int p = 0; p < pattern::kStepParts; ++p) {
      json->Field(ToString(static_cast<StepPart>(p)), step.by_part[static_cast<size_t>(p)]);
    }
    json->EndObject();
    json->Field("device_busy_ns", step.device_busy).Field("compute_ns", step.compute);
    json->Field("communication_ns", step.communication).Field("overlapped_ns", step.overlapped);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace headway::cli
