// SPDX-License-Identifier: Apache-2.0
#include "diagnose/last_step.h"

#include <algorithm>

#include "diagnose/job.h"

namespace headway::diagnose {
namespace {

using pattern::FunctionStep;
using pattern::RankPattern;
using pattern::Step;

void Add(const Step& tail, Step* step) {
  pattern::SliceSums behind_host(step->start, tail.end);
  for (const Step* part : {static_cast<const Step*>(step), &tail}) {
    behind_host.AddSlices(part->start, part->end, part->behind_host);
  }
  step->behind_host = behind_host.Shares();
  step->end = tail.end;
  for (size_t c = 0; c < step->by_class.size(); ++c) step->by_class[c] += tail.by_class[c];
  if (tail.longest_stretch > step->longest_stretch) {
    step->longest_stretch = tail.longest_stretch;
    step->longest_stretch_start = tail.longest_stretch_start;
    step->longest_stretch_function = tail.longest_stretch_function;
  }
  if (tail.host_stretch > step->host_stretch) {
    step->host_stretch = tail.host_stretch;
    step->host_stretch_function = tail.host_stretch_function;
  }
  step->launches += tail.launches;
  step->device_rows += tail.device_rows;
  step->syncs += tail.syncs;
  step->sync_time += tail.sync_time;
  step->launch_delay += tail.launch_delay;
  step->comm_overlapped += tail.comm_overlapped;
}

// Rows of the tail become rows of its step.
void AddRows(std::vector<FunctionStep>* rows, int32_t tail) {
  const auto of_step = std::find_if(rows->begin(), rows->end(), [&](const auto& row) { return row.step >= tail - 1; });
  for (auto it = of_step; it != rows->end(); ++it) it->step = tail - 1;
  std::stable_sort(of_step, rows->end(), [](const auto& a, const auto& b) { return a.function < b.function; });
  auto kept = of_step;
  for (auto it = of_step; it != rows->end(); ++it) {
    if (kept != of_step && std::prev(kept)->function == it->function) {
      std::prev(kept)->own += it->own;
      std::prev(kept)->calls += it->calls;
    } else {
      *kept++ = *it;
    }
  }
  rows->erase(kept, rows->end());
}

void JoinTail(RankPattern* rank) {
  const Step tail = rank->steps.back();
  rank->steps.pop_back();
  rank->unread_steps.push_back(tail);
  Add(tail, &rank->steps.back());
  AddRows(&rank->function_steps, static_cast<int32_t>(rank->steps.size()));
  // The operation that it begins with is in no step of a pattern.
  for (trace::CommInstance& row : rank->comms.instances) {
    if (row.step < 0 && row.start >= tail.start && row.start < tail.end) {
      row.step = static_cast<int32_t>(rank->steps.size()) - 1;
    }
  }
  rank->window_end = tail.end;
}

void DropTail(RankPattern* rank) {
  rank->unread_steps.push_back(rank->steps.back());
  rank->steps.pop_back();
  const auto last = static_cast<int32_t>(rank->steps.size());
  const Nanos begin = rank->unread_steps.back().start;
  for (trace::CommInstance& row : rank->comms.instances) {
    if (row.exposed_end <= begin || row.exposed == 0) continue;
    row.exposed = std::max<Nanos>(0, row.exposed - (row.exposed_end - std::max(row.exposed_begin, begin)));
    row.exposed_end = begin;
    row.exposed_begin = std::min(row.exposed_begin, begin);
    if (row.exposed == 0) row.exposed_begin = row.exposed_end = 0;
  }
  std::erase_if(rank->function_steps, [&](const FunctionStep& row) { return row.step == last; });
}

// Whether there are several ranks and all have a tail, none with a quarter more time of its own in it than another.
bool AreAlike(const std::vector<RankPattern>& ranks) {
  Nanos shortest = INT64_MAX, longest = 0;
  for (const RankPattern& rank : ranks) {
    const Nanos tail = HasTail(rank) ? OwnTime(rank.steps.back()) : 0;
    shortest = std::min(shortest, tail);
    longest = std::max(longest, tail);
  }
  return ranks.size() > 1 && (longest - shortest) * 4 <= shortest;
}

}  // namespace

void SettleLastSteps(std::vector<RankPattern>* ranks) {
  const bool join = AreAlike(*ranks);
  for (RankPattern& rank : *ranks) {
    if (HasTail(rank)) join ? JoinTail(&rank) : DropTail(&rank);
  }
}

}  // namespace headway::diagnose
