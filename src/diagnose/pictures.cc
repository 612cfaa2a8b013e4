// SPDX-License-Identifier: Apache-2.0
#include "diagnose/pictures.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "diagnose/excess.h"
#include "diagnose/summary.h"

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

namespace {

// What a group did of one operation.
struct GroupSums {
  int32_t group = -1;
  trace::CommOp op = trace::CommOp::kUnknown;
  std::vector<Nanos> transfer;  // of each collective
  std::vector<int32_t> last;    // rank index of its latest arriver
  Nanos wait = 0;
  Bytes bytes = 0;
};

// By group, then operation.
std::vector<GroupSums> SumByGroup(const Job& job) {
  std::vector<std::vector<GroupSums>> by_group(job.comms.groups.size());
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const trace::Collective& collective = job.comms.collectives[c];
    const graph::SegmentCollective& split = job.graph.collectives[c];
    std::vector<GroupSums>& of_group = by_group[static_cast<size_t>(collective.group)];
    auto sum = std::find_if(of_group.begin(), of_group.end(), [&](const auto& s) { return s.op == collective.op; });
    if (sum == of_group.end()) sum = of_group.insert(sum, {collective.group, collective.op, {}, {}, 0, 0});
    sum->transfer.push_back(split.transfer);
    sum->last.push_back(split.last_rank);
    sum->wait += split.wait;
    sum->bytes += std::max<Bytes>(0, collective.bytes);
  }
  std::vector<GroupSums> out;
  for (std::vector<GroupSums>& of_group : by_group) {
    std::sort(of_group.begin(), of_group.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
    out.insert(out.end(), std::make_move_iterator(of_group.begin()), std::make_move_iterator(of_group.end()));
  }
  return out;
}

// The value there is most of (the lowest of equals), and how often.
std::pair<int32_t, int64_t> MostFrequent(std::vector<int32_t> values) {
  std::sort(values.begin(), values.end());
  std::pair<int32_t, int64_t> most{-1, 0};
  for (size_t i = 0, j = 0; i < values.size(); i = j) {
    while (j < values.size() && values[j] == values[i]) ++j;
    if (static_cast<int64_t>(j - i) > most.second) most = {values[i], static_cast<int64_t>(j - i)};
  }
  return most;
}

}  // namespace

report::Section GroupsTable(const Diagnosis& d) {
  const Job& job = d.job;
  const std::vector<GroupSums> sums = SumByGroup(job);
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
  for (const GroupSums& sum : sums) {
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(sum.group)];
    const auto [last, times] = MostFrequent(sum.last);
    const std::string name = group.is_p2p && group.desc.empty() ? "p2p" : group.desc.empty() ? "group" : group.desc;
    report::Table::Row row;
    row.cells = {name + (group.inferred ? " (inferred)" : ""),
                 FormatRanks(group.ranks, 4),
                 std::string(trace::ToString(sum.op)),
                 static_cast<int64_t>(sum.transfer.size()),
                 sum.bytes > 0 ? report::Value{sum.bytes / static_cast<int64_t>(sum.transfer.size())} : report::Value{},
                 int64_t{Median(sum.transfer)},
                 int64_t{sum.wait},
                 int64_t{job.ranks[static_cast<size_t>(last)].meta.rank},
                 times};
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

report::Section ClocksTable(const Diagnosis& d) {
  report::Table table;
  table.columns = {{"host", Unit::kText, ""},
                   {"ranks", Unit::kText, ""},
                   {"offset", Unit::kDuration, ""},
                   {"drift, ppm", Unit::kNumber, ""},
                   {"residual", Unit::kDuration, "clock-residual"}};
  table.top = 16;
  for (const report::ClockSummary& clock : ClockSummaries(d.job)) {
    table.rows.push_back(
        {{clock.host.empty() ? report::Value{} : report::Value{clock.host}, FormatRanks(clock.ranks, 4), clock.offset,
          clock.drift_ppm == 0 ? report::Value{} : report::Value{clock.drift_ppm},
          clock.residual ? report::Value{*clock.residual} : report::Value{"not aligned"}}});
  }
  report::Section section;
  section.name = "clocks";
  section.title = "Clocks of the hosts";
  section.intro = "What is added to a host's own times, from the operations that its ranks end together with others.";
  section.on_terminal = false;
  section.body = std::move(table);
  return section;
}

}  // namespace headway::diagnose
