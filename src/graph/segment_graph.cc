// SPDX-License-Identifier: Apache-2.0
#include "graph/segment_graph.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "base/radix_sort.h"
#include "graph/host_messages.h"
#include "graph/rank_chain.h"
#include "graph/schedule.h"

namespace headway::graph {

using pattern::RankPattern;
using trace::Collective;
using trace::CommInstance;
using trace::HostClock;
using trace::JobComms;

namespace {

constexpr size_t kBlock = 1024;  // collectives taken at once

const HostClock& ClockOf(const JobComms& comms, size_t rank) {
  return comms.clocks[static_cast<size_t>(comms.clock_of_rank[rank])];
}

// The latest of some times, whose it is, and how far behind it the second latest lies.
struct Latest {
  Nanos time = INT64_MIN;
  Nanos second = INT64_MIN;
  int32_t rank = -1;

  void Add(Nanos other, int32_t of_rank) {
    if (other > time) {
      second = std::exchange(time, other);
      rank = of_rank;
    } else {
      second = std::max(second, other);
    }
  }
  [[nodiscard]] Nanos Margin() const { return second == INT64_MIN ? 0 : time - second; }
};

SegmentCollective Split(const Collective& collective, std::span<const RankPattern> ranks, const JobComms& comms) {
  Latest arrival, end, before;  // `before`: ends counted backwards
  Nanos shortest = INT64_MAX;
  for (const trace::CollectiveMember& member : collective.members) {
    const auto r = static_cast<size_t>(member.rank_index);
    const CommInstance& instance = ranks[r].comms.instances[static_cast<size_t>(member.instance)];
    const Nanos own_end = Align(ClockOf(comms, r), instance.end);
    arrival.Add(Align(ClockOf(comms, r), instance.start), member.rank_index);
    end.Add(own_end, member.rank_index);
    before.Add(-own_end, member.rank_index);
    shortest = std::min(shortest, instance.end - instance.start);
  }
  SegmentCollective out{};
  out.latest_arrival = arrival.time;
  out.transfer = std::max<Nanos>(0, -before.time - arrival.time);
  out.margin = arrival.Margin();
  out.shortest = std::max<Nanos>(0, shortest);
  out.end_spread = end.time + before.time;
  out.first_end_margin = before.Margin();
  out.last_end_margin = end.Margin();
  out.last_rank = arrival.rank;
  out.first_to_end = before.rank;
  out.last_to_end = end.rank;
  return out;
}

// Splits the members' exposed time. What a message of a host backend shows after its data had come is no transfer.
void SplitExposed(const Collective& collective, bool is_message, std::span<const RankPattern> ranks,
                  const JobComms& comms, SegmentCollective* out) {
  for (const trace::CollectiveMember& member : collective.members) {
    const auto r = static_cast<size_t>(member.rank_index);
    const CommInstance& instance = ranks[r].comms.instances[static_cast<size_t>(member.instance)];
    if (instance.exposed == 0) continue;
    // Exposed time lies back to back before exposed_end, but for gaps the fold closed.
    const Nanos begin = Align(ClockOf(comms, r), instance.exposed_end) - instance.exposed;
    const Nanos wait = std::clamp<Nanos>(out->latest_arrival - begin, 0, instance.exposed);
    const Nanos rest = instance.exposed - wait;
    out->wait += wait;
    out->exposed_transfer += is_message ? std::min(rest, out->transfer) : rest;
  }
}

// Collectives group by group, in their order: the rows of a group's members lie one after the other, those of
// neighbours in time lie on all ranks of the job.
std::vector<int32_t> GroupByGroup(const JobComms& comms) {
  std::vector<size_t> next(comms.groups.size() + 1, 0);
  for (const Collective& c : comms.collectives) ++next[static_cast<size_t>(c.group) + 1];
  for (size_t g = 1; g < next.size(); ++g) next[g] += next[g - 1];
  std::vector<int32_t> out(comms.collectives.size());
  for (size_t c = 0; c < out.size(); ++c) {
    out[next[static_cast<size_t>(comms.collectives[c].group)]++] = static_cast<int32_t>(c);
  }
  return out;
}

void FillCollectives(std::span<const RankPattern> ranks, const JobComms& comms, const std::vector<char>& is_message,
                     int threads, SegmentGraph* graph) {
  graph->row_begin.assign(1, 0);
  for (const RankPattern& rank : ranks) {
    graph->row_begin.push_back(graph->row_begin.back() + rank.comms.instances.size());
  }
  graph->collective_of_row.resize(graph->row_begin.back());
  ParallelBlocks(graph->collective_of_row.size(), size_t{1} << 20U, threads, [&](size_t begin, size_t end) {
    std::fill(graph->collective_of_row.data() + begin, graph->collective_of_row.data() + end, -1);
  });
  graph->collectives.resize(comms.collectives.size());
  const std::vector<int32_t> by_group = GroupByGroup(comms);
  ParallelBlocks(by_group.size(), kBlock, threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto c = static_cast<size_t>(by_group[i]);
      graph->collectives[c] = Split(comms.collectives[c], ranks, comms);
      if (is_message[c] == 0) SplitExposed(comms.collectives[c], false, ranks, comms, &graph->collectives[c]);
      for (const trace::CollectiveMember& member : comms.collectives[c].members) {
        const size_t row = graph->row_begin[static_cast<size_t>(member.rank_index)];
        graph->collective_of_row[row + static_cast<size_t>(member.instance)] = by_group[i];
      }
    }
  });
}

// How long a message takes is known when all have been looked at.
void FillMessages(std::span<const RankPattern> ranks, const JobComms& comms, const std::vector<char>& is_message,
                  SegmentGraph* graph) {
  ShortenHostMessages(ranks, comms, is_message, {graph->collectives.data(), graph->collectives.size()});
  for (size_t c = 0; c < is_message.size(); ++c) {
    if (is_message[c] != 0) SplitExposed(comms.collectives[c], true, ranks, comms, &graph->collectives[c]);
  }
}

void FillOrder(SegmentGraph* graph) {
  const size_t count = graph->collectives.size();
  const auto time = [&](size_t c) { return graph->collectives[c].latest_arrival; };
  const auto key = [&](size_t c) { return static_cast<uint64_t>(time(c)) ^ uint64_t { 1 } << 63U; };  // signed order
  const auto earlier = [&](uint64_t a, uint64_t b) { return time(a) < time(b); };
  std::vector<uint64_t> order(count), scratch(count);
  const uint64_t* sorted = OrderByKey(count, key, earlier, order.data(), scratch.data());
  graph->order.assign(sorted, sorted + count);
}

}  // namespace

SegmentGraph BuildSegmentGraph(std::span<const RankPattern> ranks, const JobComms& comms, int threads) {
  SegmentGraph graph;
  const std::vector<char> is_message = FindHostMessages(ranks, comms);
  FillCollectives(ranks, comms, is_message, threads, &graph);
  FillMessages(ranks, comms, is_message, &graph);
  FillOrder(&graph);
  for (size_t r = 0; r < ranks.size(); ++r) {
    graph.chain_start.push_back(Align(ClockOf(comms, r), ranks[r].window_start));
  }
  const auto make_source = [&] {
    return [builder = std::make_shared<ChainBuilder>(ranks, comms, is_message, graph)](size_t rank) {
      return builder->Build(rank);
    };
  };
  ScheduleMarks(ranks.size(), make_source, threads, &graph);
  return graph;
}

}  // namespace headway::graph
