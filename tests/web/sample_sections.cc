// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "tests/web/sample_model.h"

namespace headway::sample {
namespace {

using report::HeatStrip;
using report::ReportDoc;
using report::StackedBars;
using report::TimeClass;
using report::Unit;
using report::Waterfall;

std::string HostOf(const Shape& shape, int32_t rank) { return "n" + std::to_string(rank / shape.ranks_per_host); }
std::string DeviceOf(const Shape& shape, int32_t rank) { return "gpu " + std::to_string(rank % shape.ranks_per_host); }

}  // namespace

void AddPlaces(const Shape& shape, ReportDoc* doc) {
  doc->coordinate_names = {"pp", "dp", "tp"};
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    const int32_t stage = rank * 4 / shape.ranks;
    doc->places.push_back({rank, HostOf(shape, rank), DeviceOf(shape, rank), {stage, (rank / 4) % 4, rank % 4}});
  }
}

void AddHeat(const Model& model, ReportDoc* doc) {
  HeatStrip strip;
  for (int32_t rank = 0; rank < model.shape.ranks; ++rank) strip.rows.push_back({rank, ""});
  strip.columns = doc->steps;
  const auto metric = [&](const char* name, const char* term, auto value) {
    HeatStrip::Metric m{name, Unit::kDuration, term, {}, {}, true};
    for (int32_t rank = 0; rank < model.shape.ranks; ++rank) {
      for (int32_t step = 0; step < model.shape.steps; ++step) {
        m.integers.push_back(rank == kMissingRank ? HeatStrip::kMissing : value(model.At(rank, step)));
      }
    }
    strip.metrics.push_back(std::move(m));
  };
  metric("own time", "own-time", [](const Cell& c) { return c.Own(); });
  metric("waiting", "wait-time", [](const Cell& c) { return c.wait; });
  metric("input", "input-time", [](const Cell& c) { return c.input; });
  metric("compute", "compute-time", [](const Cell& c) { return c.compute; });
  metric("lateness", "lateness", [](const Cell& c) { return std::max<Nanos>(0, c.Own() - Ms(288)); });
  doc->sections.push_back({report::section::kRanksBySteps, "Ranks by steps",
                           "A slow rank is a line down, a slow step a line across.", std::move(strip), false});
}

void AddBars(const Model& model, ReportDoc* doc) {
  StackedBars bars;
  bars.series = {{"compute", TimeClass::kCompute, true, {}, "compute-time"},
                 {"memory", TimeClass::kMemory, true, {}, "memory-time"},
                 {"host", TimeClass::kHost, true, {}, "host-time"},
                 {"input", TimeClass::kInput, true, {}, "input-time"},
                 {"transfer", TimeClass::kTransfer, false, {}, "transfer-time"},
                 {"waiting", TimeClass::kWait, false, {}, "wait-time"}};
  for (int32_t rank = 0; rank < model.shape.ranks; ++rank) {
    if (rank == kMissingRank) continue;
    bars.bars.push_back(
        {rank, "", rank == kSlowRank && !model.shape.healthy ? report::Mark::kCulprit : report::Mark::kNone});
    Cell sum;
    for (int32_t step = 0; step < model.shape.steps; ++step) {
      const Cell& c = model.At(rank, step);
      sum = {sum.compute + c.compute, sum.memory + c.memory,     sum.host + c.host,
             sum.input + c.input,     sum.transfer + c.transfer, sum.wait + c.wait};
    }
    const Nanos n = model.shape.steps;
    const Nanos values[] = {sum.compute / n, sum.memory / n,   sum.host / n,
                            sum.input / n,   sum.transfer / n, sum.wait / n};
    for (size_t k = 0; k < bars.series.size(); ++k) bars.series[k].values.push_back(values[k]);
  }
  bars.reference = Quantile(model.steps, 50);
  doc->sections.push_back({report::section::kRanks, "Time per rank",
                           "The culprit's own time is long; its victims' waiting is.", std::move(bars), false});
}

void AddBreakdown(const Model& model, ReportDoc* doc) {
  Cell sum;
  Nanos n = 0;
  for (const Cell& c : model.cells) {
    sum = {sum.compute + c.compute, sum.memory + c.memory,     sum.host + c.host,
           sum.input + c.input,     sum.transfer + c.transfer, sum.wait + c.wait};
    ++n;
  }
  Waterfall w;
  using Role = Waterfall::Role;
  const Nanos idle = Ms(3.1);
  w.items = {
      {"compute", TimeClass::kCompute, Role::kPart, sum.compute / n, "", "compute-time"},
      {"memory", TimeClass::kMemory, Role::kPart, sum.memory / n, "", "memory-time"},
      {"exposed communication", TimeClass::kTransfer, Role::kPart, (sum.transfer + sum.wait) / n, "",
       "exposed-communication"},
      {"waiting", TimeClass::kWait, Role::kWithin, sum.wait / n, "blocked on a rank that came late", "wait-time"},
      {"transfer", TimeClass::kTransfer, Role::kWithin, sum.transfer / n, "", "transfer-time"},
      {"host", TimeClass::kHost, Role::kPart, sum.host / n, "", "host-time"},
      {"input", TimeClass::kInput, Role::kPart, sum.input / n, "", "input-time"},
      {"idle", TimeClass::kIdle, Role::kPart, idle, "", "idle-time"}};
  Nanos total = 0;
  for (const auto& item : w.items) total += item.role == Role::kPart ? item.value : 0;
  w.items.push_back({"step", TimeClass::kOther, Role::kTotal, total, "", "step-time"});
  doc->sections.push_back({report::section::kStepBreakdown, "Where the time goes", "The median step, over all ranks.",
                           std::move(w), false});
}

void AddStepTimes(const Model& model, ReportDoc* doc) {
  report::Chart chart;
  chart.x_name = "step";
  chart.x_unit = Unit::kStep;
  chart.y_name = "step time";
  chart.series = {{"measured", TimeClass::kCompute, false, {}}, {"without rank 19", TimeClass::kWait, false, {}}};
  for (size_t s = 0; s < model.steps.size(); ++s) {
    chart.x.push_back(static_cast<double>(doc->steps[s]));
    chart.series[0].values.push_back(static_cast<double>(model.steps[s]));
    chart.series[1].values.push_back(static_cast<double>(model.without_slow_rank[s]));
  }
  if (model.shape.healthy) chart.series.pop_back();
  doc->sections.push_back({report::section::kStepTimes, "Step times", "", std::move(chart), false});
}

}  // namespace headway::sample
