// SPDX-License-Identifier: Apache-2.0
#include "diagnose/waits.h"

#include <algorithm>

namespace headway::diagnose {

namespace {

// [rank][index of the rank's own step] -> axis step, -1 = not on the axis.
std::vector<std::vector<int32_t>> AxisOfSteps(const Job& job) {
  std::vector<std::vector<int32_t>> axis(job.num_ranks());
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    axis[r].assign(job.ranks[r].steps.size(), -1);
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const int32_t i = job.step_index[r * job.num_steps() + s];
      if (i >= 0) axis[r][static_cast<size_t>(i)] = static_cast<int32_t>(s);
    }
  }
  return axis;
}

}  // namespace

WaitTable SplitWaits(const Job& job) {
  WaitTable out;
  out.steps = job.num_steps();
  const size_t cells = job.num_ranks() * out.steps;
  out.wait.assign(cells, 0);
  out.transfer.assign(cells, 0);
  out.lateness.assign(cells, 0);
  out.last.assign(job.num_ranks(), 0);
  const auto axis = AxisOfSteps(job);
  const auto cell = [&](size_t r, int32_t step) -> int64_t {
    if (step < 0 || static_cast<size_t>(step) >= axis[r].size() || axis[r][static_cast<size_t>(step)] < 0) return -1;
    return static_cast<int64_t>(r * out.steps) + axis[r][static_cast<size_t>(step)];
  };
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const graph::SegmentCollective& split = job.graph.collectives[c];
    for (const trace::CollectiveMember& member : job.comms.collectives[c].members) {
      const auto r = static_cast<size_t>(member.rank_index);
      const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
      const trace::CommInstance& instance = job.ranks[r].comms.instances[static_cast<size_t>(member.instance)];
      const int64_t at = cell(r, instance.step);
      if (member.rank_index == split.last_rank && split.margin > clock.residual) {
        ++out.last[r];
        if (at >= 0) out.lateness[static_cast<size_t>(at)] += split.margin;
      }
      if (at < 0 || instance.exposed == 0) continue;
      const Nanos begin = Align(clock, instance.exposed_end) - instance.exposed;
      out.wait[static_cast<size_t>(at)] += std::clamp<Nanos>(split.latest_arrival - begin, 0, instance.exposed);
    }
  }
  // By difference, so that wait and transfer always add up to the exposed communication of the step.
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    for (size_t s = 0; s < out.steps; ++s) {
      const pattern::Step* step = job.StepOf(r, s);
      if (step == nullptr) continue;
      const Nanos exposed = step->by_class[static_cast<size_t>(pattern::WorkClass::kCommunication)];
      Nanos& wait = out.wait[r * out.steps + s];
      wait = std::min(wait, exposed);
      out.transfer[r * out.steps + s] = exposed - wait;
    }
  }
  return out;
}

}  // namespace headway::diagnose
