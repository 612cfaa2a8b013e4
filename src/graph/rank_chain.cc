// SPDX-License-Identifier: Apache-2.0
#include "graph/rank_chain.h"

#include <algorithm>
#include <cstdlib>

#include "graph/host_messages.h"

namespace headway::graph {

using pattern::RankPattern;
using trace::CommInstance;
using trace::HostClock;

namespace {

Nanos SlackOf(const CommInstance& instance, const HostClock& clock) {
  return clock.residual + std::max<Nanos>(kMillisecond, instance.exposed / 10);
}

}  // namespace

int32_t ChainBuilder::NearestEnd(const RankPattern& rank, const LastRows& rows, Nanos at) {
  int32_t nearest = -1;
  Nanos least = INT64_MAX;
  for (const int32_t row : rows) {
    if (row < 0) break;
    const Nanos away = std::abs(at - rank.comms.instances[static_cast<size_t>(row)].end);
    if (away < least) nearest = row;
    least = std::min(least, away);
  }
  return nearest;
}

// By time; at equal times resume, step, arrive.
bool ChainBuilder::Before(const Point& a, const Point& b) {
  const auto precedence = [](MarkKind kind) { return kind == MarkKind::kResume ? 0 : kind == MarkKind::kStep ? 1 : 2; };
  if (a.at != b.at) return a.at < b.at;
  if (a.kind != b.kind) return precedence(a.kind) < precedence(b.kind);
  return a.target < b.target;
}

void ChainBuilder::Follow(const RankPattern& rank, const HostClock& clock, std::span<const int32_t> targets, size_t i,
                          Point* arrival) {
  const CommInstance& instance = rank.comms.instances[i];
  LastRows& last = last_of_group_[static_cast<size_t>(instance.local_group)];
  const int32_t before = instance.chained ? NearestEnd(rank, last, instance.start) : -1;
  std::shift_right(last.begin(), last.end(), 1);
  last.front() = static_cast<int32_t>(i);
  if (before < 0 || targets[static_cast<size_t>(before)] < 0) return;
  // What lies between the end of one operation and the begin of the next one on its stream, or its thread.
  const bool is_device = rank.comms.groups[static_cast<size_t>(instance.local_group)].is_device;
  const Nanos largest_gap = (is_device ? 20 : 100) * kMicrosecond;
  const Nanos end = rank.comms.instances[static_cast<size_t>(before)].end;
  if (std::abs(instance.start - end) > largest_gap) return;
  const int32_t target = targets[static_cast<size_t>(before)];
  const SegmentCollective& c = graph_.collectives[static_cast<size_t>(target)];
  const Nanos gap = Align(clock, instance.start) - (c.latest_arrival + c.transfer);
  if (gap < 0) return;
  arrival->after = target;
  arrival->lag = static_cast<int32_t>(std::min<Nanos>(gap, INT32_MAX));
}

ChainBuilder::Point ChainBuilder::Resume(Nanos at, Nanos blocked, int32_t target) const {
  const SegmentCollective& c = graph_.collectives[static_cast<size_t>(target)];
  const Nanos lag = std::clamp<Nanos>(at - (c.latest_arrival + c.transfer), 0, INT32_MAX);
  return {at, blocked, target, static_cast<int32_t>(lag), MarkKind::kResume};
}

void ChainBuilder::AddMessageResumes(const RankPattern& rank, const HostClock& clock,
                                     std::span<const int32_t> targets) {
  std::vector<MessageRow> rows;
  std::vector<int32_t> of_row;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || !IsMessage(targets[i])) continue;
    const CommInstance& instance = rank.comms.instances[i];
    const SegmentCollective& c = graph_.collectives[static_cast<size_t>(targets[i])];
    rows.push_back({Align(clock, instance.end), instance.exposed, Align(clock, instance.exposed_end),
                    c.latest_arrival + c.transfer, SlackOf(instance, clock)});
    of_row.push_back(targets[i]);
  }
  const std::vector<Blocked> blocked = BlockedInMessages(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Blocked& b = blocked[i];
    const int32_t target = of_row[b.by];
    const Nanos latest = graph_.collectives[static_cast<size_t>(target)].latest_arrival;
    if (b.time > 0 && b.until + rows[i].slack >= latest) meetings_.push_back(Resume(b.until, b.time, target));
    if (rows[i].done > rows[i].end || (b.by == i && b.time > 0 && b.until == rows[i].end)) continue;
    meetings_.push_back({rows[i].end, 0, of_row[i], 0, MarkKind::kResume});
  }
}

void ChainBuilder::CollectPoints(const RankPattern& rank, const HostClock& clock, std::span<const int32_t> targets) {
  const Nanos begin = Align(clock, rank.window_start);
  const Nanos end = Align(clock, rank.window_end);
  last_of_group_.assign(rank.comms.groups.size(), LastRows{-1, -1, -1, -1});
  meetings_.resize(2 * targets.size());
  Point* next = meetings_.data();
  for (size_t i = 0; i < targets.size(); ++i) {
    const CommInstance& instance = rank.comms.instances[i];
    const int32_t target = targets[i];
    const Nanos start = Align(clock, instance.start);
    Point arrival{start, 0, target, 0, MarkKind::kArrive};
    Follow(rank, clock, targets, i, &arrival);
    if (target < 0) continue;
    if (start >= begin && start <= end) *next++ = arrival;
    const Nanos resume = Align(clock, instance.exposed_end);
    if (instance.exposed == 0 || resume <= begin || resume > end || IsMessage(target)) continue;
    // A rank that went on before the last member came was not blocked in this operation: the time is its own. (A little
    // before is as good as after: rows begin when the call is recorded, a moment later than it takes effect.)
    const SegmentCollective& c = graph_.collectives[static_cast<size_t>(target)];
    if (resume + SlackOf(instance, clock) < c.latest_arrival) continue;
    *next++ = Resume(resume, instance.exposed, target);
  }
  meetings_.resize(static_cast<size_t>(next - meetings_.data()));
  if (!is_message_.empty()) {
    AddMessageResumes(rank, clock, targets);
    std::erase_if(meetings_,
                  [&](const Point& p) { return p.kind == MarkKind::kResume && (p.at <= begin || p.at > end); });
  }
  steps_.clear();
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    steps_.push_back({Align(clock, rank.steps[i].start), 0, static_cast<int32_t>(i), 0, MarkKind::kStep});
  }
  // Operations that follow one another are in order already.
  if (!std::is_sorted(meetings_.begin(), meetings_.end(), Before)) {
    std::sort(meetings_.begin(), meetings_.end(), Before);
  }
  if (!std::is_sorted(steps_.begin(), steps_.end(), Before)) std::sort(steps_.begin(), steps_.end(), Before);
  points_.resize(meetings_.size() + steps_.size());
  std::merge(meetings_.begin(), meetings_.end(), steps_.begin(), steps_.end(), points_.begin(), Before);
  points_.push_back({end, 0, -1, 0, MarkKind::kEnd});
}

std::span<Mark> ChainBuilder::Build(size_t rank) {
  const HostClock& clock = comms_.clocks[static_cast<size_t>(comms_.clock_of_rank[rank])];
  CollectPoints(ranks_[rank], clock, graph_.CollectivesOfRows(rank));
  marks_.clear();
  marks_.reserve(points_.size());
  Nanos before = Align(clock, ranks_[rank].window_start);
  for (const Point& point : points_) {
    Nanos own = std::max<Nanos>(0, point.at - before);
    before = std::max(before, point.at);
    // A resume takes its blocked time off the pieces that end with it, back as far as it reaches.
    Nanos blocked = point.exposed;
    const Nanos here = std::min(blocked, own);
    own -= here;
    blocked -= here;
    for (size_t i = marks_.size(); blocked > 0 && i > 0; --i) {
      Mark& mark = marks_[i - 1];
      const Nanos take = std::min(blocked, mark.Own());
      if (take == 0) continue;
      mark.time -= take;
      blocked -= take;
    }
    const bool resumes = point.kind == MarkKind::kResume;
    if (resumes && own > 0) marks_.push_back(MakeMark(MarkKind::kWork, rank, own));
    if (point.after >= 0) marks_.push_back(MakeMark(MarkKind::kFollow, rank, point.lag, point.after));
    marks_.push_back(MakeMark(point.kind, rank, resumes ? point.lag : own, point.target));
  }
  return marks_;
}

}  // namespace headway::graph
