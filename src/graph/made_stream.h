// SPDX-License-Identifier: Apache-2.0
// Test support: the rows of two ranks that run two all-reduces, one after the other. Times in microseconds.
#pragma once

#include <vector>

#include "graph/segment_graph.h"

namespace headway::graph {

struct OneStream {
  Nanos gap = 0;            // between the end of the first and the begin of the second
  bool chained = true;      // the second one was launched before the first one ended
  bool same_stream = true;  // else it is of another group
  bool is_paired = true;    // the first one has counterparts
  bool is_device = true;    // else both run on a host's thread

  std::vector<pattern::RankPattern> ranks;
  trace::JobComms comms;
};

inline Nanos InUs(int64_t us) { return us * kMicrosecond; }

inline trace::CommInstance RowFrom(Nanos start, Nanos end) {
  trace::CommInstance row;
  row.start = row.exposed_begin = row.exposed_end = InUs(start);
  row.end = InUs(end);
  row.op = trace::CommOp::kAllReduce;
  row.step = 0;
  return row;
}

// Both ranks begin at 0. The first all-reduce: rank 0 comes at 10, rank 1 at 30, it ends 20 later at 50. Nobody waits
// for it. The second one begins `gap` after it and takes 20. The ranks work until 60, are blocked in the second one
// until its end at 70 + gap, and work for 5 more.
inline OneStream MakeOneStream(OneStream job) {
  for (int r = 0; r < 2; ++r) {
    pattern::RankPattern p;
    const Nanos end = InUs(70) + job.gap;
    p.comms.groups = {{.is_device = job.is_device}, {.is_device = job.is_device}};
    p.comms.instances = {RowFrom(r == 0 ? 10 : 30, 50), RowFrom(50, 70)};
    trace::CommInstance& second = p.comms.instances[1];
    second.start += job.gap;
    second.end = second.exposed_end = end;
    second.exposed_begin = InUs(60);
    second.exposed = end - InUs(60);
    second.chained = job.chained;
    second.local_group = job.same_stream ? 0 : 1;
    pattern::Step step;
    step.end = end + InUs(5);
    p.steps = {step};
    p.window_end = step.end;
    job.ranks.push_back(std::move(p));
  }
  for (int32_t i = job.is_paired ? 0 : 1; i < 2; ++i)
    job.comms.collectives.push_back({.group = 0, .members = {{0, i}, {1, i}}});
  job.comms.groups.resize(1);
  job.comms.clocks.resize(1);
  job.comms.clock_of_rank = {0, 0};
  return job;
}

}  // namespace headway::graph
