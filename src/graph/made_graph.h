// SPDX-License-Identifier: Apache-2.0
// Test support: a graph of a few chains written by hand.
#pragma once

#include <memory>
#include <vector>

#include "graph/schedule.h"
#include "graph/segment_graph.h"

namespace headway::graph {

struct MadeGraph {
  std::vector<std::vector<Mark>> chains;  // by rank index
  std::vector<Nanos> starts;
  RawVector<SegmentCollective> collectives;
  std::vector<int32_t> order;

  [[nodiscard]] SegmentGraph Build(int threads = 1) const {
    SegmentGraph graph;
    graph.chain_start = starts;
    graph.collectives = collectives;
    graph.order = order;
    const auto source = [this]() -> ChainSource {
      return [this, chain = std::make_shared<std::vector<Mark>>()](size_t rank) -> std::span<Mark> {
        *chain = chains[rank];
        return *chain;
      };
    };
    ScheduleMarks(chains.size(), source, threads, &graph);
    return graph;
  }
};

}  // namespace headway::graph
