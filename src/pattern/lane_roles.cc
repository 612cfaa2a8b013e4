// SPDX-License-Identifier: Apache-2.0
#include "pattern/lane_roles.h"

#include <algorithm>

namespace headway::pattern {

using trace::EventKind;

void LaneCensus::Count(const trace::Event& event) {
  if (event.lane >= counts_.size()) counts_.resize(event.lane + size_t{1});
  LaneCounts& c = counts_[event.lane];
  switch (event.kind) {
    case EventKind::kStep: ++c.steps; break;
    case EventKind::kCpuOp:
    case EventKind::kRuntime:
    case EventKind::kRuntimeSync: ++c.operators; break;
    case EventKind::kPython: ++c.python; break;
    case EventKind::kCommHost: ++c.comm_host; break;
    default:
      if (trace::IsDeviceWork(event.kind)) ++c.device;
  }
}

std::vector<LaneRole> LaneCensus::Roles(const std::vector<trace::Lane>& lanes) const {
  std::vector<LaneRole> roles(std::max(lanes.size(), counts_.size()), LaneRole::kIgnored);
  size_t main = roles.size();
  const auto better = [this](size_t a, size_t b) {
    const LaneCounts& x = counts_[a];
    const LaneCounts& y = counts_[b];
    if (x.steps != y.steps) return x.steps > y.steps;
    return x.operators + x.python > y.operators + y.python;
  };
  for (size_t i = 0; i < counts_.size(); ++i) {
    const LaneCounts& c = counts_[i];
    if (c.device > 0 || (i < lanes.size() && lanes[i].is_device)) {
      roles[i] = LaneRole::kStream;
    } else if (c.steps + c.operators + c.python > 0 && (main == roles.size() || better(i, main))) {
      main = i;
    }
  }
  for (size_t i = 0; i < counts_.size(); ++i) {
    const LaneCounts& c = counts_[i];
    if (roles[i] == LaneRole::kStream) continue;
    const bool same_process = main < lanes.size() && i < lanes.size() && lanes[i].pid == lanes[main].pid;
    if (i == main || c.steps > 0) {
      roles[i] = LaneRole::kDriving;
    } else if (c.comm_host > 0) {
      roles[i] = LaneRole::kCommLoop;
    } else if (main < counts_.size() && same_process && c.operators > 0 &&
               c.operators * 50 >= counts_[main].operators) {
      roles[i] = LaneRole::kDriving;
    }
  }
  return roles;
}

}  // namespace headway::pattern
