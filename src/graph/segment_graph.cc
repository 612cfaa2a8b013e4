// SPDX-License-Identifier: Apache-2.0
#include "graph/segment_graph.h"

#include <algorithm>
#include <numeric>

#include "graph/chained_calls.h"
#include "graph/host_messages.h"

namespace headway::graph {

using pattern::RankPattern;
using trace::Collective;
using trace::CommInstance;
using trace::HostClock;
using trace::JobComms;

namespace {

const HostClock& ClockOf(const JobComms& comms, size_t rank) {
  return comms.clocks[static_cast<size_t>(comms.clock_of_rank[rank])];
}

SegmentCollective Split(const Collective& collective, std::span<const RankPattern> ranks, const JobComms& comms) {
  SegmentCollective out;
  Nanos latest = INT64_MIN, second = INT64_MIN, first_end = INT64_MAX;
  for (const trace::CollectiveMember& member : collective.members) {
    const auto r = static_cast<size_t>(member.rank_index);
    const CommInstance& instance = ranks[r].comms.instances[static_cast<size_t>(member.instance)];
    const Nanos start = Align(ClockOf(comms, r), instance.start);
    first_end = std::min(first_end, Align(ClockOf(comms, r), instance.end));
    if (start > latest) {
      second = latest;
      latest = start;
      out.last_rank = member.rank_index;
    } else {
      second = std::max(second, start);
    }
  }
  out.latest_arrival = latest;
  out.transfer = std::max<Nanos>(0, first_end - latest);
  out.margin = second == INT64_MIN ? 0 : latest - second;
  return out;
}

// Splits the members' exposed time. What a message of a host backend shows after its data had come is no transfer.
void SplitExposed(const Collective& collective, bool is_message, std::span<const RankPattern> ranks,
                  const JobComms& comms, SegmentCollective* out) {
  const Nanos latest = out->latest_arrival;
  for (const trace::CollectiveMember& member : collective.members) {
    const auto r = static_cast<size_t>(member.rank_index);
    const CommInstance& instance = ranks[r].comms.instances[static_cast<size_t>(member.instance)];
    if (instance.exposed == 0) continue;
    // Exposed time lies back to back before exposed_end, but for gaps the fold closed.
    const Nanos end = Align(ClockOf(comms, r), instance.exposed_end);
    const Nanos begin = end - instance.exposed;
    const Nanos wait = std::clamp<Nanos>(latest - begin, 0, instance.exposed);
    out->wait += wait;
    const Nanos rest = instance.exposed - wait;
    out->exposed_transfer += is_message ? std::min(rest, out->transfer) : rest;
  }
}

struct Point {
  Nanos at = 0;
  Nanos exposed = 0;  // blocked time that ends here
  int32_t target = -1;
  int32_t lag = 0;
  MarkKind kind = MarkKind::kArrive;
};

// What the chain of a rank needs to know of the job.
struct Joined {
  const std::vector<SegmentCollective>& collectives;
  const std::vector<char>& is_message;
};

Nanos SlackOf(const CommInstance& instance, const HostClock& clock) {
  return clock.residual + std::max<Nanos>(kMillisecond, instance.exposed / 10);
}

Point Resume(Nanos at, Nanos blocked, int32_t target, const SegmentCollective& c) {
  const Nanos lag = std::clamp<Nanos>(at - (c.latest_arrival + c.transfer), 0, INT32_MAX);
  return {at, blocked, target, static_cast<int32_t>(lag), MarkKind::kResume};
}

// Where a rank was blocked in messages of a host backend. Every row that ends is a condition to go on, if only the
// last was one that blocked.
void AddMessageResumes(const RankPattern& rank, const HostClock& clock, const std::vector<int32_t>& collective_of,
                       const Joined& joined, std::vector<Point>* points) {
  std::vector<MessageRow> rows;
  std::vector<int32_t> targets;
  for (size_t i = 0; i < rank.comms.instances.size(); ++i) {
    const int32_t target = collective_of[i];
    if (target < 0 || joined.is_message[static_cast<size_t>(target)] == 0) continue;
    const CommInstance& instance = rank.comms.instances[i];
    const SegmentCollective& c = joined.collectives[static_cast<size_t>(target)];
    rows.push_back({Align(clock, instance.end), instance.exposed, Align(clock, instance.exposed_end),
                    c.latest_arrival + c.transfer, SlackOf(instance, clock)});
    targets.push_back(target);
  }
  const std::vector<Blocked> blocked = BlockedInMessages(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto collective = [&](size_t row) -> const SegmentCollective& {
      return joined.collectives[static_cast<size_t>(targets[row])];
    };
    const Blocked& b = blocked[i];
    if (b.time > 0 && b.until + rows[i].slack >= collective(b.by).latest_arrival) {
      points->push_back(Resume(b.until, b.time, targets[b.by], collective(b.by)));
    }
    if (rows[i].done > rows[i].end || (b.by == i && b.time > 0 && b.until == rows[i].end)) continue;
    points->push_back({rows[i].end, 0, targets[i], 0, MarkKind::kResume});
  }
}

// Points of one rank in time order; at equal times: resume, step, arrive.
std::vector<Point> Points(const RankPattern& rank, const HostClock& clock, const std::vector<int32_t>& collective_of,
                          const Joined& joined) {
  std::vector<Point> points;
  points.reserve(rank.comms.instances.size() * 2 + rank.steps.size() + 1);
  const Nanos begin = Align(clock, rank.window_start);
  const Nanos end = Align(clock, rank.window_end);
  AddMessageResumes(rank, clock, collective_of, joined, &points);
  std::erase_if(points, [&](const Point& p) { return p.at <= begin || p.at > end; });
  for (size_t i = 0; i < rank.comms.instances.size(); ++i) {
    const CommInstance& instance = rank.comms.instances[i];
    const int32_t target = collective_of[i];
    const Nanos start = Align(clock, instance.start);
    const Nanos resume = Align(clock, instance.exposed_end);
    if (target >= 0 && start >= begin && start <= end) points.push_back({start, 0, target, 0, MarkKind::kArrive});
    if (instance.exposed == 0 || resume <= begin || resume > end) continue;
    if (target < 0 || joined.is_message[static_cast<size_t>(target)] != 0) continue;
    // A rank that went on before the last member came was not blocked in this operation: the time is its own. (A little
    // before is as good as after: rows begin when the call is recorded, a moment later than it takes effect.)
    const SegmentCollective& c = joined.collectives[static_cast<size_t>(target)];
    if (resume + SlackOf(instance, clock) < c.latest_arrival) continue;
    points.push_back(Resume(resume, instance.exposed, target, c));
  }
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    points.push_back({Align(clock, rank.steps[i].start), 0, static_cast<int32_t>(i), 0, MarkKind::kStep});
  }
  const auto precedence = [](MarkKind kind) { return kind == MarkKind::kResume ? 0 : kind == MarkKind::kStep ? 1 : 2; };
  std::sort(points.begin(), points.end(), [&](const Point& a, const Point& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.kind != b.kind) return precedence(a.kind) < precedence(b.kind);
    return a.target < b.target;
  });
  points.push_back({end, 0, -1, 0, MarkKind::kEnd});
  return points;
}

}  // namespace

void IndexMembers(SegmentGraph* graph) {
  graph->member_begin.assign(graph->collectives.size() + 1, 0);
  for (const Mark& mark : graph->marks) {
    if (mark.kind == MarkKind::kArrive) ++graph->member_begin[static_cast<size_t>(mark.target) + 1];
  }
  for (size_t c = 0; c < graph->collectives.size(); ++c) graph->member_begin[c + 1] += graph->member_begin[c];
  graph->members.resize(graph->member_begin.back());
  std::vector<size_t> at(graph->member_begin.begin(), graph->member_begin.end() - 1);
  for (size_t r = 0; r + 1 < graph->chain_begin.size(); ++r) {
    const size_t begin = graph->chain_begin[r];
    for (size_t m = begin; m < graph->chain_begin[r + 1]; ++m) {
      const Mark& mark = graph->marks[m];
      if (mark.kind != MarkKind::kArrive) continue;
      graph->members[at[static_cast<size_t>(mark.target)]++] = {static_cast<uint32_t>(r),
                                                                static_cast<uint32_t>(m - begin)};
    }
  }
}

SegmentGraph BuildSegmentGraph(std::span<const RankPattern> ranks, const JobComms& comms) {
  SegmentGraph graph;
  graph.collectives.reserve(comms.collectives.size());
  std::vector<std::vector<int32_t>> collective_of(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) collective_of[r].assign(ranks[r].comms.instances.size(), -1);
  const std::vector<char> is_message = FindHostMessages(ranks, comms);
  for (size_t c = 0; c < comms.collectives.size(); ++c) {
    graph.collectives.push_back(Split(comms.collectives[c], ranks, comms));
    for (const trace::CollectiveMember& member : comms.collectives[c].members) {
      collective_of[static_cast<size_t>(member.rank_index)][static_cast<size_t>(member.instance)] =
          static_cast<int32_t>(c);
    }
  }
  ShortenHostMessages(ranks, comms, is_message, &graph.collectives);
  for (size_t c = 0; c < comms.collectives.size(); ++c) {
    SplitExposed(comms.collectives[c], is_message[c] != 0, ranks, comms, &graph.collectives[c]);
  }
  graph.order.resize(graph.collectives.size());
  std::iota(graph.order.begin(), graph.order.end(), 0);
  std::sort(graph.order.begin(), graph.order.end(), [&](int32_t a, int32_t b) {
    const Nanos ta = graph.collectives[static_cast<size_t>(a)].latest_arrival;
    const Nanos tb = graph.collectives[static_cast<size_t>(b)].latest_arrival;
    return ta != tb ? ta < tb : a < b;
  });

  graph.chain_begin.push_back(0);
  for (size_t r = 0; r < ranks.size(); ++r) {
    const HostClock& clock = ClockOf(comms, r);
    Nanos before = Align(clock, ranks[r].window_start);
    graph.chain_start.push_back(before);
    // A resume takes its blocked time off the pieces that end with it, back as far as it reaches.
    const size_t first = graph.marks.size();
    for (const Point& point : Points(ranks[r], clock, collective_of[r], {graph.collectives, is_message})) {
      Nanos own = std::max<Nanos>(0, point.at - before);
      before = std::max(before, point.at);
      Nanos blocked = point.exposed;
      const Nanos here = std::min(blocked, own);
      own -= here;
      blocked -= here;
      for (size_t i = graph.marks.size(); blocked > 0 && i > first; --i) {
        const Nanos take = std::min(blocked, graph.marks[i - 1].own);
        graph.marks[i - 1].own -= take;
        blocked -= take;
      }
      graph.marks.push_back({own, point.target, point.lag, point.kind});
    }
    graph.chain_begin.push_back(graph.marks.size());
  }
  ChainCalls(ranks, comms, collective_of, &graph);
  IndexMembers(&graph);
  return graph;
}

}  // namespace headway::graph
