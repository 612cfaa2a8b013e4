// SPDX-License-Identifier: Apache-2.0
#include "synth/truth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headway::synth {
namespace {

enum class Excess { kDevice, kHost, kTransfer, kStep };

// Where a kind's excess shows: the device's own work, the host's own time, the transfers or only the step as a whole.
Excess ExcessOf(FaultKind kind, bool gloo) {
  switch (kind) {
    case FaultKind::kSlowCompute:
    case FaultKind::kStageImbalance:
    case FaultKind::kExpertImbalance:
    case FaultKind::kRandomImbalance:
    case FaultKind::kUniformSlowdown:
    case FaultKind::kUnpinnedCopy:
    case FaultKind::kSlowCopy: return gloo ? Excess::kHost : Excess::kDevice;
    case FaultKind::kSlowLink:
    case FaultKind::kSlowFabric:
    case FaultKind::kSmallCollectives: return Excess::kTransfer;
    case FaultKind::kHiddenSync:
    case FaultKind::kLostOverlap:
    case FaultKind::kLateEntry: return Excess::kStep;
    default: return Excess::kHost;
  }
}

template <typename Visit>
void ForEachItem(const RankRecord& rank, int step, const Visit& visit) {
  const size_t from = step == 0 ? 0 : rank.marks[static_cast<size_t>(step) - 1].items;
  for (size_t i = from; i < rank.marks[static_cast<size_t>(step)].items; ++i) visit(rank.items[i]);
}

Time TransferTime(const RankRecord& rank, int step) {
  Time total = 0;
  ForEachItem(rank, step, [&](const Item& item) {
    if (item.work.channel >= 0) total += item.end - item.last_start;
  });
  return total;
}

Time OwnTime(const JobRun& run, int rank, int step, Excess excess) {
  const RankRecord& record = run.ranks[static_cast<size_t>(rank)];
  const StepMark& mark = record.marks[static_cast<size_t>(step)];
  switch (excess) {
    case Excess::kDevice: return mark.device_work;
    case Excess::kHost: return mark.host_work;
    case Excess::kTransfer: return TransferTime(record, step);
    case Excess::kStep: return run.StepEnd(step) - run.StepEnd(step - 1);
  }
  return 0;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string WaitName(const JobRun& run, const Item& item) {
  const CollectiveDetail& detail = run.job->details[static_cast<size_t>(item.work.detail)];
  if (detail.op == Coll::kSend) return "pp send";
  if (detail.op == Coll::kRecv) return "pp recv";
  const Dim dim = run.job->mesh.groups()[static_cast<size_t>(detail.group)].dim;
  if (dim != Dim::kWorld) return DimName(dim);
  // The default group also serves a dimension that spans all ranks.
  for (Dim other : {Dim::kDp, Dim::kTp}) {
    if (run.job->mesh.size(other) == run.job->mesh.world()) return DimName(other);
  }
  return "world";
}

// Length of the union of intervals, in ms: several collectives of a group may be open at once.
double Covered(std::vector<std::pair<Time, Time>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  Time total = 0, until = INT64_MIN;
  for (const auto& [begin, end] : intervals) {
    if (end > until) total += end - std::max(begin, until);
    until = std::max(until, end);
  }
  return static_cast<double>(total) / 1e6;
}

// Waiting time by what the rank waits in, and by whom for.
struct Waits {
  std::map<std::string, double> in;
  std::map<std::pair<std::string, int>, double> behind;
};
Waits WaitsOf(const JobRun& run, int rank, const std::vector<int>& steps) {
  Waits waits;
  std::map<std::string, std::vector<std::pair<Time, Time>>> intervals;
  for (int step : steps) {
    ForEachItem(run.ranks[static_cast<size_t>(rank)], step, [&](const Item& item) {
      if (item.work.channel < 0 || item.last_start <= item.start) return;
      const std::string name = WaitName(run, item);
      intervals[name].emplace_back(item.start, item.last_start);
      waits.behind[{name, item.last_rank}] += static_cast<double>(item.last_start - item.start) / 1e6;
    });
  }
  for (const auto& [name, of] : intervals) waits.in[name] = Covered(of);
  return waits;
}

std::map<int, Victim> VictimsOf(const JobRun& faulty, const JobRun& without, const FaultTruth& truth,
                                double threshold_ms) {
  std::map<int, Victim> victims;
  if (truth.ranks.empty() || truth.steps.empty()) return victims;
  for (int rank = 0; rank < faulty.job->mesh.world(); ++rank) {
    if (std::find(truth.ranks.begin(), truth.ranks.end(), rank) != truth.ranks.end()) continue;
    const Waits with = WaitsOf(faulty, rank, truth.steps);
    Waits base = WaitsOf(without, rank, truth.steps);
    Victim victim;
    for (const auto& [name, ms] : with.in) {
      const double more = (ms - base.in[name]) / static_cast<double>(truth.steps.size());
      if (more > victim.ms) victim = {name, -1, more};
    }
    if (victim.ms < threshold_ms) continue;
    double most = -1;
    for (const auto& [where, ms] : with.behind) {
      const double more = ms - base.behind[where];
      if (where.first == victim.waits_in && more > most) {
        most = more;
        victim.behind = where.second;
      }
    }
    victims[rank] = victim;
  }
  return victims;
}

JobSpec Without(const JobSpec& spec, size_t fault) {
  JobSpec other = spec;
  other.faults.erase(other.faults.begin() + static_cast<ptrdiff_t>(fault));
  return other;
}

FaultTruth MeasureFault(const JobSpec& spec, size_t index, const JobRun& faulty, const JobRun& without,
                        double noise_ms) {
  const FaultSpec& fault = spec.faults[index];
  FaultTruth truth{fault, {}, {}, 0, 0, 0, 0, {}};
  const Excess excess = ExcessOf(fault.kind, faulty.job->gloo());
  std::vector<double> excesses;
  std::map<int, double> by_rank;
  for (int step = spec.warmup; step < spec.warmup + spec.steps; ++step) {
    const std::vector<int> struck = faulty.job->faults.Struck(index, step);
    if (struck.empty()) continue;
    truth.steps.push_back(step);
    for (int rank : struck) {
      excesses.push_back(
          static_cast<double>(OwnTime(faulty, rank, step, excess) - OwnTime(without, rank, step, excess)) / 1e6);
      by_rank[rank] += excesses.back();
    }
    if (!BlamesNobody(fault.kind)) truth.ranks = struck;
  }
  // Of a host's ranks those that do what is slow: not all stages of a pipeline load data.
  if (fault.host >= 0 && (excess == Excess::kHost || excess == Excess::kDevice)) {
    double most = 0;
    for (const auto& [rank, ms] : by_rank) most = std::max(most, ms);
    std::erase_if(truth.ranks, [&](int rank) { return by_rank[rank] * 10 < most; });
  }
  truth.magnitude_ms = Median(excesses);
  const std::vector<double> with_ms = faulty.StepMs(), without_ms = without.StepMs();
  const double total =
      std::accumulate(with_ms.begin(), with_ms.end(), 0.0) - std::accumulate(without_ms.begin(), without_ms.end(), 0.0);
  truth.recoverable_ms = total / spec.steps;
  truth.struck_step_ms = truth.steps.empty() ? 0 : total / static_cast<double>(truth.steps.size());
  truth.effect_over_noise = noise_ms > 0 ? truth.struck_step_ms / noise_ms : 0;
  truth.victims = VictimsOf(faulty, without, truth, std::max(1.5 * noise_ms, 0.3 * truth.struck_step_ms));
  return truth;
}

}  // namespace

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double StandardDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Truth Measure(const JobSpec& spec, const JobRun& faulty) {
  Truth truth;
  JobSpec healthy_spec = spec;
  healthy_spec.faults.clear();
  const JobRun healthy = Simulate(healthy_spec);
  const std::vector<double> healthy_ms = healthy.StepMs();
  truth.step_noise_ms = StandardDeviation(healthy_ms);
  truth.healthy_step_ms = Mean(healthy_ms);
  truth.step_ms = Mean(faulty.StepMs());
  truth.recoverable_ms = truth.step_ms - truth.healthy_step_ms;
  for (size_t i = 0; i < spec.faults.size(); ++i) {
    if (spec.faults.size() == 1) {
      truth.faults.push_back(MeasureFault(spec, i, faulty, healthy, truth.step_noise_ms));
    } else {
      truth.faults.push_back(MeasureFault(spec, i, faulty, Simulate(Without(spec, i)), truth.step_noise_ms));
    }
  }
  return truth;
}

}  // namespace headway::synth
