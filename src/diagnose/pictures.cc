// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pictures.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/excess.h"

namespace headway::diagnose {

using pattern::WorkClass;
using report::HeatStrip;
using report::Mark;
using report::StackedBars;
using report::Unit;

namespace {

Mark MarkOf(const Diagnosis& d, RankId rank) {
  Mark mark = Mark::kNone;
  for (const report::Finding& finding : d.findings) {
    if (finding.severity == report::Severity::kInfo) continue;
    if (std::binary_search(finding.scope.ranks.begin(), finding.scope.ranks.end(), rank)) return Mark::kCulprit;
    if (std::binary_search(finding.victims.begin(), finding.victims.end(), rank)) mark = Mark::kVictim;
  }
  return mark;
}

// Key into the definitions.
const char* TermOf(WorkClass work_class) {
  switch (work_class) {
    case WorkClass::kCompute: return "compute-time";
    case WorkClass::kMemory: return "memory-time";
    case WorkClass::kInput: return "input-time";
    case WorkClass::kIdle: return "idle-time";
    default: return "host-time";
  }
}

}  // namespace

report::Section RanksPicture(const Diagnosis& d) {
  const Job& job = d.job;
  const auto steps = static_cast<Nanos>(std::max<size_t>(1, job.num_steps()));
  StackedBars bars;
  bars.reference = job.median_step;
  struct Spec {
    const char* name;
    report::TimeClass time_class;
    WorkClass work_class;
  };
  static constexpr Spec kOwn[] = {{"compute", report::TimeClass::kCompute, WorkClass::kCompute},
                                  {"memory", report::TimeClass::kMemory, WorkClass::kMemory},
                                  {"input", report::TimeClass::kInput, WorkClass::kInput},
                                  {"host", report::TimeClass::kHost, WorkClass::kHost},
                                  {"runtime", report::TimeClass::kHost, WorkClass::kRuntime},
                                  {"idle", report::TimeClass::kIdle, WorkClass::kIdle}};
  for (const Spec& spec : kOwn) bars.series.push_back({spec.name, spec.time_class, true, {}, TermOf(spec.work_class)});
  bars.series.push_back({"transfer", report::TimeClass::kTransfer, false, {}, "transfer-time"});
  bars.series.push_back({"waiting", report::TimeClass::kWait, false, {}, "wait-time"});
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const RankId rank = job.ranks[r].meta.rank;
    bars.bars.push_back({rank, "", MarkOf(d, rank)});
    std::array<Nanos, pattern::kWorkClasses> sum{};
    Nanos wait = 0, transfer = 0;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr) continue;
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += step->by_class[c];
      wait += d.waits.wait[r * job.num_steps() + s];
      transfer += d.waits.transfer[r * job.num_steps() + s];
    }
    for (size_t i = 0; i < std::size(kOwn); ++i) {
      bars.series[i].values.push_back(sum[static_cast<size_t>(kOwn[i].work_class)] / steps);
    }
    bars.series[std::size(kOwn)].values.push_back(transfer / steps);
    bars.series[std::size(kOwn) + 1].values.push_back(wait / steps);
  }
  std::erase_if(bars.series, [](const StackedBars::Series& series) {
    return std::all_of(series.values.begin(), series.values.end(), [](Nanos v) { return v == 0; });
  });
  report::Section section;
  section.name = report::section::kRanks;
  section.title = "Own time and waiting by rank";
  section.intro = "A culprit has a long bar of own time; its victims have long bars of waiting. Mean per step.";
  section.body = std::move(bars);
  return section;
}

report::Section RanksByStepsPicture(const Diagnosis& d) {
  const Job& job = d.job;
  const ExcessTable excess = ComputeExcess(job);
  HeatStrip strip;
  strip.columns = job.steps;
  for (const auto& rank : job.ranks) strip.rows.push_back({rank.meta.rank, ""});
  const auto metric = [](const char* name, const char* term, bool higher_is_worse) {
    HeatStrip::Metric m;
    m.name = name;
    m.unit = Unit::kDuration;
    m.term = term;
    m.higher_is_worse = higher_is_worse;
    return m;
  };
  HeatStrip::Metric own = metric("own time", "own-time", true);
  HeatStrip::Metric over = metric("excess over peers", "excess", true);
  HeatStrip::Metric wait = metric("waiting", "wait-time", true);
  HeatStrip::Metric late = metric("lateness", "lateness", true);
  HeatStrip::Metric length = metric("step time", "step-time", true);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const size_t cell = r * job.num_steps() + s;
      const pattern::Step* step = job.StepOf(r, s);
      const auto put = [&](HeatStrip::Metric* m, Nanos v) {
        m->integers.push_back(step == nullptr || v == kNoValue ? HeatStrip::kMissing : v);
      };
      put(&own, excess.own[cell]);
      put(&over, excess.excess[cell]);
      put(&wait, d.waits.wait[cell]);
      put(&late, d.waits.lateness[cell]);
      put(&length, step == nullptr ? 0 : step->end - step->start);
    }
  }
  strip.metrics = {std::move(own), std::move(over), std::move(wait), std::move(late), std::move(length)};
  report::Section section;
  section.name = report::section::kRanksBySteps;
  section.title = "Ranks by steps";
  section.intro = "A stripe along a rank is a slow rank, a stripe across the ranks a slow step.";
  section.body = std::move(strip);
  return section;
}

report::Section GroupsTable(const Diagnosis& d) {
  const Job& job = d.job;
  struct Sums {
    int64_t count = 0;
    std::vector<Nanos> transfer;
    Nanos wait = 0;
    Bytes bytes = 0;
    std::map<int32_t, int64_t> last;
  };
  std::map<std::pair<int32_t, trace::CommOp>, Sums> sums;
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const trace::Collective& collective = job.comms.collectives[c];
    const graph::SegmentCollective& split = job.graph.collectives[c];
    Sums& sum = sums[{collective.group, collective.op}];
    ++sum.count;
    sum.transfer.push_back(split.transfer);
    sum.wait += split.wait;
    sum.bytes += std::max<Bytes>(0, collective.bytes);
    ++sum.last[split.last_rank];
  }
  report::Table table;
  table.columns = {{"group", Unit::kText, ""},
                   {"ranks", Unit::kText, ""},
                   {"operation", Unit::kText, ""},
                   {"count", Unit::kCount, ""},
                   {"mean size", Unit::kBytes, ""},
                   {"median transfer", Unit::kDuration, "transfer-time"},
                   {"waiting, sum", Unit::kDuration, "wait-time"},
                   {"most often last", Unit::kRank, "lateness"},
                   {"times last", Unit::kCount, ""}};
  table.sort_column = 6;
  for (auto& [key, sum] : sums) {
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(key.first)];
    const auto last = std::max_element(sum.last.begin(), sum.last.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string name = group.is_p2p && group.desc.empty() ? "p2p" : group.desc.empty() ? "group" : group.desc;
    report::Table::Row row;
    row.cells = {name + (group.inferred ? " (inferred)" : ""),
                 FormatRanks(group.ranks, 4),
                 std::string(trace::ToString(key.second)),
                 sum.count,
                 sum.bytes > 0 ? report::Value{int64_t{sum.bytes / sum.count}} : report::Value{},
                 int64_t{Median(sum.transfer)},
                 int64_t{sum.wait},
                 int64_t{job.ranks[static_cast<size_t>(last->first)].meta.rank},
                 last->second};
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a.cells[6]) > std::get<int64_t>(b.cells[6]);
  });
  report::Section section;
  section.name = "groups";
  section.title = "Process groups";
  section.intro = "What each group did over the window. Transfer: first end minus latest arrival.";
  section.body = std::move(table);
  return section;
}

}  // namespace headway::diagnose
