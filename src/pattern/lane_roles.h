// SPDX-License-Identifier: Apache-2.0
// Which host threads drive the training step. A trace holds many threads (loader pins, loggers, communication run
// loops); only the ones that run the model may be blamed for the rank's own time.
#pragma once

#include <array>
#include <vector>

#include "trace/event.h"

namespace headway::pattern {

enum class LaneRole : uint8_t {
  kIgnored,   // helper threads: their rows count, their time does not
  kDriving,   // runs the step: the thread with step marks, and threads that share its operators (autograd)
  kCommLoop,  // executes collectives for a host backend
  kStream,    // a device stream
};

// Rows seen per lane while reading; enough to tell the roles without a second pass.
struct LaneCounts {
  int64_t steps = 0;
  int64_t operators = 0;  // framework operators and runtime calls
  int64_t python = 0;
  int64_t comm_host = 0;
  int64_t device = 0;
};

class LaneCensus {
 public:
  void Count(const trace::Event& event);
  // One role per lane. A lane is driving when it has step marks (when none has: the lane with most operators and Python
  // rows), or when it belongs to the same process and runs at least 2 % as many operators as that lane.
  [[nodiscard]] std::vector<LaneRole> Roles(const std::vector<trace::Lane>& lanes) const;

 private:
  std::vector<LaneCounts> counts_;
};

}  // namespace headway::pattern
