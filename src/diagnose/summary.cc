// SPDX-License-Identifier: Apache-2.0
#include "diagnose/summary.h"

#include <algorithm>
#include <set>

#include "pattern/step_marks.h"
#include "trace/clock_alignment.h"

namespace headway::diagnose {

using pattern::WorkClass;

report::StepBreakdown BreakDown(const Diagnosis& diagnosis) {
  const Job& job = diagnosis.job;
  report::StepBreakdown out;
  if (job.steps.empty()) return out;
  // The last step is no whole one, as for the median step.
  std::vector<size_t> order(job.num_steps() >= 3 ? job.num_steps() - 1 : job.num_steps());
  for (size_t s = 0; s < order.size(); ++s) order[s] = s;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return job.step_time[a] < job.step_time[b]; });
  const size_t s = order[order.size() / 2];
  Nanos count = 0;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const pattern::Step* step = job.StepOf(r, s);
    if (step == nullptr) continue;
    ++count;
    const auto of = [&](WorkClass c) { return step->by_class[static_cast<size_t>(c)]; };
    out.compute += of(WorkClass::kCompute);
    out.memory += of(WorkClass::kMemory);
    out.host += of(WorkClass::kHost) + of(WorkClass::kRuntime);
    out.input += of(WorkClass::kInput);
    out.idle += of(WorkClass::kIdle);
    out.comm_wait += diagnosis.waits.wait[r * job.num_steps() + s];
    out.comm_transfer += diagnosis.waits.transfer[r * job.num_steps() + s];
  }
  if (count == 0) return out;
  for (Nanos* part :
       {&out.compute, &out.memory, &out.host, &out.input, &out.idle, &out.comm_wait, &out.comm_transfer}) {
    *part /= count;
  }
  const Nanos sum = out.compute + out.memory + out.host + out.input + out.comm_wait + out.comm_transfer;
  out.idle = std::max<Nanos>(0, job.step_time[s] - sum);  // takes the rounding of the other parts
  return out;
}

std::vector<std::string> HostNames(const Job& job) {
  std::set<std::string> names;
  for (const auto& rank : job.ranks) {
    if (rank.comms.host_known) names.insert(rank.meta.host);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> Frameworks(const Job& job) {
  std::set<std::string> names;
  for (const auto& rank : job.ranks) {
    for (const auto& [key, value] : rank.meta.versions) {
      if (key == "pytorch_version") names.insert("PyTorch " + value);
      if (key == "nccl_version" && value != "unknown") names.insert("NCCL " + value);
      if (key == "cuda_runtime_version") names.insert("CUDA " + value);
      if (key == "hip_runtime_version") names.insert("HIP " + value);
    }
    if (rank.meta.backend == "gloo") names.insert("gloo");
  }
  return {names.begin(), names.end()};
}

std::optional<Nanos> ClockResidual(const Job& job) {
  Nanos residual = 0;
  for (const trace::HostClock& clock : job.comms.clocks) {
    if (clock.root != job.comms.clocks.front().root) return std::nullopt;
    residual = std::max(residual, clock.residual);
  }
  return residual;
}

std::vector<report::ClockSummary> ClockSummaries(const Job& job) {
  std::vector<report::ClockSummary> out;
  if (job.comms.clocks.size() < 2) return out;
  const size_t lowest = static_cast<size_t>(job.comms.clock_of_rank.front());  // ranks are sorted
  const int32_t root = job.comms.clocks[lowest].root;
  for (const trace::HostClock& clock : job.comms.clocks) {
    out.push_back({.offset = clock.offset,
                   .drift_ppm = clock.drift * 1e6,
                   .reference = clock.reference,
                   .residual = clock.root == root ? std::optional(clock.residual) : std::nullopt});
  }
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    report::ClockSummary& clock = out[static_cast<size_t>(job.comms.clock_of_rank[r])];
    clock.ranks.push_back(job.ranks[r].meta.rank);
    if (job.ranks[r].comms.host_known) clock.host = job.ranks[r].meta.host;
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.ranks < b.ranks; });
  return out;
}

Nanos BusyWithoutLaunch(const Job& job) {
  Nanos busy = 0;
  for (const auto& rank : job.ranks) busy += rank.BusyWithoutLaunch();
  return busy;
}

double UnknownTimeShare(const Job& job) {
  Nanos unknown = 0, busy = 0;
  for (const auto& rank : job.ranks) {
    unknown += rank.unknown_name_time;
    busy += rank.device_all.Union(15);
  }
  // Kernels on several streams at once are summed; a share is at most all of it.
  return busy > 0 ? std::min(1.0, static_cast<double>(unknown) / static_cast<double>(busy)) : 0;
}

namespace {

// What the ranks' patterns were made with, which may be other than what was asked for now.
template <typename Test>
std::string MadeWith(const Job& job, const char* special, const char* usual, Test is_special) {
  const auto count = std::count_if(job.ranks.begin(), job.ranks.end(), is_special);
  if (count == 0) return usual;
  const auto all = static_cast<std::ptrdiff_t>(job.num_ranks());
  if (count == all) return special;
  return std::string(special) + " on " + std::to_string(count) + " of " + std::to_string(all) + " ranks, else " + usual;
}

}  // namespace

std::string GpuEventsCounted(const Job& job) {
  return MadeWith(job, "linked", "all", [](const auto& rank) { return rank.linked_only; });
}

std::string LastStepRead(const Job& job) {
  return MadeWith(job, "drop", "keep", [](const auto& rank) { return rank.log.Count(pattern::kLastStepDropped) > 0; });
}

trace::ImportLog MergedLog(const Job& job) {
  trace::ImportLog log;
  for (const auto& rank : job.ranks) log.Merge(rank.log);
  return log;
}

}  // namespace headway::diagnose
