// SPDX-License-Identifier: Apache-2.0
// What `headway diagnose --json` says: the stable contract of docs/findings.schema.json as plain data.
// Version 1 only ever gains fields. json_renderer.h writes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "report/finding.h"

namespace headway::report {

inline constexpr int32_t kFindingsVersion = 1;

struct JobSummary {
  int32_t world_size = 0;
  std::vector<RankId> ranks_read;  // sorted
  std::vector<std::string> hosts;  // sorted
  int64_t first_step = 0;
  int64_t last_step = 0;
  Nanos window = 0;  // per rank, the median
  std::vector<std::string> frameworks;
};

// Parts of the median step; they add up to it.
struct StepBreakdown {
  Nanos compute = 0;
  Nanos memory = 0;
  Nanos comm_wait = 0;
  Nanos comm_transfer = 0;
  Nanos host = 0;
  Nanos input = 0;
  Nanos idle = 0;
  Nanos bubble = 0;
};

struct StepTime {
  Nanos median = 0;
  Nanos p95 = 0;
  StepBreakdown breakdown;
  std::optional<double> replay_error;  // share of the measured step; none = not replayed
};

// How the clock of one host was laid beside the others': aligned = own + offset + drift x (own - reference).
struct ClockSummary {
  std::string host;           // empty = no file of its ranks names it
  std::vector<RankId> ranks;  // sorted
  Nanos offset = 0;  // 0 on the host of the lowest rank, and on that of the lowest of those that are not tied to it
  double drift_ppm = 0;
  Nanos reference = 0;            // own clock, Unix ns
  std::optional<Nanos> residual;  // how far it may still be off; none = nothing ties it to the host of the lowest rank
};

struct DataQualitySummary {
  std::vector<RankId> ranks_missing;  // sorted
  int64_t events = 0;
  std::map<std::string, int64_t> repaired;  // problem name -> events
  std::map<std::string, int64_t> dropped;
  double unknown_time_share = 0;
  std::optional<Nanos> clock_residual;  // none = one host, or not all clocks aligned
  std::vector<ClockSummary> clocks;     // empty with one host; by rank
  std::string gpu_events;               // "all" or "linked", or "linked on 2 of 4 ranks, else all"
  std::string last_step;                // "keep" or "drop", or "drop on 2 of 4 ranks, else keep"
};

struct FindingsDocument {
  JobSummary job;
  StepTime step_time;
  std::vector<int64_t> steps;  // what Finding::cost_by_step is parallel to
  std::vector<Finding> findings;
  std::vector<NotChecked> not_checked;
  DataQualitySummary data_quality;
};

}  // namespace headway::report
