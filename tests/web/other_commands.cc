// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include "tests/web/sample_report.h"

namespace headway::sample {
namespace {

using report::Chart;
using report::ReportDoc;
using report::TimeClass;
using report::Timeline;
using report::Unit;
using report::Waterfall;

constexpr Nanos kMs = kMillisecond;

Waterfall Gains() {
  using Role = Waterfall::Role;
  Waterfall w;
  w.items = {{"measured", TimeClass::kOther, Role::kTotal, 412 * kMs, "", "step-time"},
             {"remove straggler 19", TimeClass::kCompute, Role::kPart, -81 * kMs, "", ""},
             {"bucket size 25 -> 60 MB", TimeClass::kTransfer, Role::kPart, -14 * kMs, "", ""},
             {"overlap all-gather", TimeClass::kTransfer, Role::kPart, -6 * kMs, "", ""},
             {"predicted", TimeClass::kOther, Role::kTotal, 311 * kMs, "replay error 1.1 %", ""}};
  return w;
}

Chart Pareto() {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Chart c;
  c.x_name = "memory of the fullest device";
  c.x_unit = Unit::kBytes;
  c.y_name = "step time";
  c.x = {31e9, 36e9, 42e9, 47e9, 55e9, 61e9, 70e9, 78e9};
  c.labels = {"tp8 pp4 dp2",  "tp8 pp2 dp4", "tp4 pp4 dp4",  "tp4 pp2 dp8",
              "tp4 pp1 dp16", "tp2 pp4 dp8", "tp2 pp2 dp16", "tp1 pp2 dp32"};
  c.series = {{"on the front", TimeClass::kCompute, true, {498e6, 455e6, kNone, 402e6, kNone, 371e6, kNone, 352e6}},
              {"dominated", TimeClass::kOther, true, {kNone, kNone, 471e6, kNone, 433e6, kNone, 390e6, kNone}}};
  return c;
}

Timeline Schedule() {
  Timeline t;
  t.names = {"job 1 (8 GPUs)", "job 2 (4 GPUs)", "job 3 (2 GPUs)", "job 4 (16 GPUs)"};
  const Nanos hour = 3600 * kSecond;
  for (int host = 0; host < 4; ++host) {
    const std::string name = "host h" + std::to_string(host);
    t.lanes.push_back({name, "gpus 0-3", -1, report::Mark::kNone});
    t.lanes.push_back({name, "gpus 4-7", -1, report::Mark::kNone});
  }
  const TimeClass classes[] = {TimeClass::kCompute, TimeClass::kMemory, TimeClass::kTransfer, TimeClass::kHost};
  const auto add = [&](uint32_t lane, Nanos from, Nanos hours, uint32_t job) {
    t.rects.push_back({lane, from, hours * hour, classes[job], job, report::Mark::kNone});
  };
  for (const uint32_t lane : {0U, 1U}) add(lane, 0, 5, 0);
  add(2, 0, 3, 1);
  add(3, hour, 2, 2);
  for (const uint32_t lane : {4U, 5U, 6U, 7U}) add(lane, 2 * hour, 6, 3);
  t.length = 8 * hour;
  t.legend = false;
  return t;
}

Chart Convergence() {
  Chart c;
  c.x_name = "step";
  c.x_unit = Unit::kStep;
  c.y_name = "step time";
  c.series = {{"measured", TimeClass::kCompute, false, {}}, {"replayed", TimeClass::kWait, false, {}}};
  for (int i = 0; i < 40; ++i) {
    c.x.push_back(101 + i);
    c.series[0].values.push_back(412e6 + 9e6 * ((i * 37) % 11) - 4e6 * ((i * 17) % 7));
    c.series[1].values.push_back(409e6 + 9e6 * ((i * 37) % 11) - 4e6 * ((i * 17) % 7));
  }
  return c;
}

}  // namespace

ReportDoc OtherCommands() {
  ReportDoc doc;
  doc.command = "optimize";
  doc.title = "headway optimize: runs/llama-13b-2025-11-03";
  doc.version = "0.1.0";
  doc.header = {{"job", "64 ranks on 8 hosts, 12 steps read"}, {"edits", "41 tried, 3 taken"}};
  doc.headline.sentence = "Three changes bring the step from 412 ms to 311 ms";
  doc.headline.now = 412 * kMs;
  doc.headline.attainable = 311 * kMs;
  doc.headline.attainable_label = "predicted";
  doc.key_facts = {{"replay error", 0.011, Unit::kShare, "", "replay-error"},
                   {"edits tried", int64_t{41}, Unit::kCount, "", ""}};
  doc.sections = {{"gains", "What each change brings", "", Gains(), true},
                  {"pareto", "Memory against step time", "Each point is a layout.", Pareto(), false},
                  {"steps", "Measured and replayed", "", Convergence(), false},
                  {"schedule", "Where jobs ran", "", Schedule(), false}};
  doc.data_quality.summary = "48.2 M events";
  doc.commands = {{"apply", "headway.apply(model, \"strategy.json\")", "In the training script."}};
  return doc;
}

}  // namespace headway::sample
