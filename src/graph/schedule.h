// SPDX-License-Identifier: Apache-2.0
// In which order the marks of a graph are laid out: collective after collective in SegmentGraph::order, for each member
// by rank what its chain holds up to its arrival there; at the end what is left of each chain. Every mark then comes
// after what it waits for, and a replay reads memory from front to back instead of at as many places as there are
// ranks.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "graph/segment_graph.h"

namespace headway::graph {

// Gives the marks of a rank's chain; the span holds until the next call of the same source.
using ChainSource = std::function<std::span<Mark>(size_t rank)>;

// Fills marks, chain, chain_begin, step_begin and step_at; needs collectives and order. Each chain is asked for twice
// rather than held twice; `make_source` gives a source for one thread. Resumes too early in that order become
// kEarlyResume and keep how long they were blocked as measured, arrivals that would follow a later collective follow
// nothing. O(marks).
void ScheduleMarks(size_t ranks, const std::function<ChainSource()>& make_source, int threads, SegmentGraph* graph);

}  // namespace headway::graph
