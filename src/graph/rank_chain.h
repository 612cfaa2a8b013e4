// SPDX-License-Identifier: Apache-2.0
// The chain of one rank: its arrivals, resumes and steps in order of time, with the own time between them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/segment_graph.h"

namespace headway::graph {

// Keeps its buffers: use one for many ranks.
class ChainBuilder {
 public:
  // `is_message`: by collective (graph/host_messages.h); empty = none is.
  ChainBuilder(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
               const std::vector<char>& is_message, const SegmentGraph& graph)
      : ranks_(ranks), comms_(comms), is_message_(is_message), graph_(graph) {}

  // The marks of the rank, valid until the next call. Needs the collectives and collective_of_row of the graph.
  // O(rows).
  [[nodiscard]] std::span<Mark> Build(size_t rank);

 private:
  struct Point {
    Nanos at = 0;
    Nanos exposed = 0;  // blocked time that ends here
    int32_t target = -1;
    int32_t lag = 0;
    MarkKind kind = MarkKind::kArrive;
    int32_t after = -1;  // arrivals: the collective that had to complete first, `lag` before
  };
  // The last rows of a group, the latest first: a host backend has several threads for one, which take turns.
  using LastRows = std::array<int32_t, 4>;
  // That of them which ended next to `at`; -1 = there are none.
  [[nodiscard]] static int32_t NearestEnd(const pattern::RankPattern& rank, const LastRows& rows, Nanos at);
  // For an arrival of row `i`, sets after and lag where the row began only because the one before it on its stream
  // ended.
  void Follow(const pattern::RankPattern& rank, const trace::HostClock& clock, std::span<const int32_t> targets,
              size_t i, Point* arrival);
  static bool Before(const Point& a, const Point& b);
  [[nodiscard]] bool IsMessage(int32_t target) const {
    return !is_message_.empty() && is_message_[static_cast<size_t>(target)] != 0;
  }
  [[nodiscard]] Point Resume(Nanos at, Nanos blocked, int32_t target) const;
  // Where a rank was blocked in messages of a host backend. Every row that ends is a condition to go on, if only the
  // last was one that blocked.
  void AddMessageResumes(const pattern::RankPattern& rank, const trace::HostClock& clock,
                         std::span<const int32_t> targets);
  void CollectPoints(const pattern::RankPattern& rank, const trace::HostClock& clock, std::span<const int32_t> targets);

  std::span<const pattern::RankPattern> ranks_;
  const trace::JobComms& comms_;
  const std::vector<char>& is_message_;
  const SegmentGraph& graph_;
  std::vector<Point> meetings_, steps_, points_;
  std::vector<LastRows> last_of_group_;  // by local group
  std::vector<Mark> marks_;
};

}  // namespace headway::graph
