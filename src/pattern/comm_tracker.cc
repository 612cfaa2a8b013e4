// SPDX-License-Identifier: Apache-2.0
#include "pattern/comm_tracker.h"

#include <algorithm>
#include <tuple>

#include "pattern/rank_list.h"
#include "trace/comm_sequence.h"

namespace headway::pattern {

using trace::CommInstance;

int32_t CommTracker::LocalGroup(const trace::Event& event, const trace::CommDetail& detail, bool blocking) {
  const bool named = detail.pg_name != 0 || detail.pg_ranks != 0 || detail.pg_desc != 0;
  const auto key = named ? std::make_tuple(detail.pg_name, detail.pg_desc, detail.pg_ranks, int32_t{-1})
                         : std::make_tuple(0U, 0U, 0U, static_cast<int32_t>(event.lane));
  if (auto it = group_index_.find(key); it != group_index_.end()) return it->second;
  trace::LocalGroup group;
  const bool is_device = event.kind == trace::EventKind::kCommKernel;
  group.is_device = is_device;
  group.is_p2p = blocking;
  group.lane = event.lane;
  if (event.lane < meta_.lanes.size()) group.lane_tid = meta_.lanes[event.lane].tid;
  if (named) {
    group.name = names_.Get(detail.pg_name);
    group.desc = names_.Get(detail.pg_desc);
    const trace::ProcessGroup* declared = nullptr;
    for (const trace::ProcessGroup& pg : meta_.groups) {
      if (!group.name.empty() && pg.name == group.name) declared = &pg;
    }
    bool cut = false;
    group.ranks = ParseRankList(names_.Get(detail.pg_ranks), &cut);
    if (declared != nullptr && (cut || group.ranks.empty())) group.ranks = declared->ranks;
    if (declared == nullptr && cut) group.ranks.clear();  // a cut list is not the group
    if (declared != nullptr && group.desc.empty()) group.desc = declared->desc;
  }
  const auto id = static_cast<int32_t>(groups_.size());
  groups_.push_back(std::move(group));
  group_index_.emplace(key, id);
  return id;
}

int CommTracker::Start(const trace::Event& event, const trace::CommDetail& detail, bool blocking, bool chained,
                       int32_t step) {
  CommInstance instance;
  instance.start = event.start;
  instance.end = event.end();
  instance.exposed_begin = instance.exposed_end = event.start;
  instance.bytes = detail.bytes;
  instance.seq = detail.seq;
  instance.local_group = LocalGroup(event, detail, blocking);
  instance.step = step;
  instance.peer = detail.peer;
  instance.op = detail.op;
  instance.chained = chained;
  const int handle = static_cast<int>(instances_.size());
  instances_.push_back(instance);
  const auto before = [this](int a, int b) {
    const Nanos ea = instances_[static_cast<size_t>(a)].end;
    const Nanos eb = instances_[static_cast<size_t>(b)].end;
    return ea != eb ? ea < eb : a < b;
  };
  open_.insert(std::upper_bound(open_.begin(), open_.end(), handle, before), handle);
  return handle;
}

void CommTracker::End(int handle) {
  open_.erase(std::find(open_.begin(), open_.end(), handle));
  last_ = handle;
}

void CommTracker::AddExposed(int handle, Nanos from, Nanos to) {
  CommInstance& instance = instances_[static_cast<size_t>(handle)];
  if (instance.exposed == 0) instance.exposed_begin = from;
  instance.exposed_end = to;
  instance.exposed += to - from;
}

// Of a group with more rows than that every k-th collective stays, k a power of two. Nothing but the number of rows in
// the group decides, so that all members keep the same ones; seq keeps the true ordinal. Messages all stay: what would
// be left of two directions does not pair.
void CommTracker::Thin() {
  const auto is_message = [](const CommInstance& i) { return trace::IsOneWay(i.op) || trace::NamesNoPeer(i.op); };
  std::vector<size_t> rows(groups_.size(), 0);
  for (const CommInstance& i : instances_) rows[static_cast<size_t>(i.local_group)] += is_message(i) ? 0 : 1;
  std::vector<int64_t> stride(groups_.size(), 1), seen(groups_.size(), 0);
  for (size_t g = 0; g < rows.size(); ++g) {
    while (rows[g] / static_cast<size_t>(stride[g]) > max_of_group_) stride[g] *= 2;
  }
  const auto is_thinned = [&](const CommInstance& i) {
    return stride[static_cast<size_t>(i.local_group)] > 1 && !is_message(i);
  };
  for (CommInstance& instance : instances_) {
    if (!is_thinned(instance)) continue;
    const int64_t ordinal = seen[static_cast<size_t>(instance.local_group)]++;
    if (instance.seq < 0) instance.seq = ordinal;
  }
  thinned_ = static_cast<int64_t>(std::erase_if(instances_, [&](const CommInstance& i) {
    return is_thinned(i) && i.seq % stride[static_cast<size_t>(i.local_group)] != 0;
  }));
}

void CommTracker::Export(Nanos time_base, Nanos origin, trace::RankComms* out) {
  const auto tick = [](Nanos t) {  // floor, also for negative times
    const Nanos r = t % trace::kCommTick;
    return t - (r < 0 ? r + trace::kCommTick : r);
  };
  const auto instant = [&](Nanos t) { return tick(t - origin) + origin + time_base; };
  Thin();
  for (CommInstance& instance : instances_) {
    instance.start = instant(instance.start);
    instance.end = std::max(instance.start, instant(instance.end));
    instance.exposed_begin = instant(instance.exposed_begin);
    instance.exposed_end = std::max(instance.exposed_begin, instant(instance.exposed_end));
    instance.exposed = std::min(tick(instance.exposed), instance.exposed_end - instance.exposed_begin);
  }
  out->instances = std::move(instances_);
  out->groups = std::move(groups_);
}

}  // namespace headway::pattern
