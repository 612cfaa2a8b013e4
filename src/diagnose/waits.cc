// SPDX-License-Identifier: Apache-2.0
#include "diagnose/waits.h"

#include <algorithm>

#include "base/parallel.h"

namespace headway::diagnose {

namespace {

constexpr size_t kBlock = 32;  // ranks taken at once

// Index of the rank's own step -> axis step, -1 = not on the axis.
std::vector<int32_t> AxisOfSteps(const Job& job, size_t rank) {
  std::vector<int32_t> axis(job.ranks[rank].steps.size(), -1);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const int32_t i = job.step_index[rank * job.num_steps() + s];
    if (i >= 0) axis[static_cast<size_t>(i)] = static_cast<int32_t>(s);
  }
  return axis;
}

void SplitRank(const Job& job, size_t r, WaitTable* out) {
  const std::vector<int32_t> axis = AxisOfSteps(job, r);
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
  const std::span<const int32_t> collectives = job.graph.CollectivesOfRows(r);
  const size_t row_of_table = r * out->steps;
  for (size_t i = 0; i < collectives.size(); ++i) {
    if (collectives[i] < 0) continue;
    const graph::SegmentCollective& split = job.graph.collectives[static_cast<size_t>(collectives[i])];
    const trace::CommInstance& instance = job.ranks[r].comms.instances[i];
    const bool inside = instance.step >= 0 && static_cast<size_t>(instance.step) < axis.size();
    const int32_t step = inside ? axis[static_cast<size_t>(instance.step)] : -1;
    const size_t at = row_of_table + static_cast<size_t>(std::max(step, 0));
    if (split.last_rank == static_cast<int32_t>(r) && split.margin > clock.residual) {
      ++out->last[r];
      if (step >= 0) out->lateness[at] += split.margin;
    }
    if (step < 0 || instance.exposed == 0) continue;
    const Nanos begin = Align(clock, instance.exposed_end) - instance.exposed;
    out->wait[at] += std::clamp<Nanos>(split.latest_arrival - begin, 0, instance.exposed);
  }
  // By difference, so that wait and transfer always add up to the exposed communication of the step.
  for (size_t s = 0; s < out->steps; ++s) {
    const pattern::Step* step = job.StepOf(r, s);
    if (step == nullptr) continue;
    const Nanos exposed = step->by_class[static_cast<size_t>(pattern::WorkClass::kCommunication)];
    Nanos& wait = out->wait[row_of_table + s];
    wait = std::min(wait, exposed);
    out->transfer[row_of_table + s] = exposed - wait;
  }
}

}  // namespace

WaitTable SplitWaits(const Job& job, int threads) {
  WaitTable out;
  out.steps = job.num_steps();
  const size_t cells = job.num_ranks() * out.steps;
  out.wait.assign(cells, 0);
  out.transfer.assign(cells, 0);
  out.lateness.assign(cells, 0);
  out.last.assign(job.num_ranks(), 0);
  ParallelBlocks(job.num_ranks(), kBlock, threads, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) SplitRank(job, r, &out);
  });
  return out;
}

}  // namespace headway::diagnose
