// SPDX-License-Identifier: Apache-2.0
// Equality of patterns, field by field, for tests. Structs are taken apart whole: a new field stops this from compiling
// until it is compared.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pattern/pattern.h"

namespace headway::pattern::hwp {

inline bool Same(const trace::ProcessGroup& x, const trace::ProcessGroup& y) {
  const auto& [name, desc, backend, ranks] = x;
  return std::tie(name, desc, backend, ranks) == std::tie(y.name, y.desc, y.backend, y.ranks);
}

inline bool Same(const trace::Lane& x, const trace::Lane& y) {
  const auto& [is_device, device, pid, tid, name] = x;
  return std::tie(is_device, device, pid, tid, name) == std::tie(y.is_device, y.device, y.pid, y.tid, y.name);
}

inline bool Same(const trace::LocalGroup& x, const trace::LocalGroup& y) {
  const auto& [name, desc, ranks, size, lane, lane_tid, is_device, is_p2p] = x;
  return std::tie(name, desc, ranks, size, lane, lane_tid, is_device, is_p2p) ==
         std::tie(y.name, y.desc, y.ranks, y.size, y.lane, y.lane_tid, y.is_device, y.is_p2p);
}

inline bool Same(const trace::CommInstance& x, const trace::CommInstance& y) {
  const auto& [start, end, exposed, exposed_begin, exposed_end, bytes, seq, local_group, step, peer, op, chained] = x;
  return std::tie(start, end, exposed, exposed_begin, exposed_end, bytes, seq, local_group, step, peer, op, chained) ==
         std::tie(y.start, y.end, y.exposed, y.exposed_begin, y.exposed_end, y.bytes, y.seq, y.local_group, y.step,
                  y.peer, y.op, y.chained);
}

inline bool Same(const Step& x, const Step& y) {
  const auto& [number, start, end, marked_end, by_class, longest_stretch, longest_stretch_start,
               longest_stretch_function, host_stretch, host_stretch_function, launches, device_rows, syncs, sync_time,
               launch_delay, comm_overlapped, behind_host] = x;
  return std::tie(number, start, end, marked_end, by_class, longest_stretch, longest_stretch_start,
                  longest_stretch_function, host_stretch, host_stretch_function, launches, device_rows, syncs,
                  sync_time, launch_delay, comm_overlapped, behind_host) ==
         std::tie(y.number, y.start, y.end, y.marked_end, y.by_class, y.longest_stretch, y.longest_stretch_start,
                  y.longest_stretch_function, y.host_stretch, y.host_stretch_function, y.launches, y.device_rows,
                  y.syncs, y.sync_time, y.launch_delay, y.comm_overlapped, y.behind_host);
}

inline bool Same(const FunctionStep& x, const FunctionStep& y) {
  const auto& [step, function, own, calls] = x;
  return std::tie(step, function, own, calls) == std::tie(y.step, y.function, y.own, y.calls);
}

template <typename T>
bool Same(const std::vector<T>& x, const std::vector<T>& y) {
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Same(x[i], y[i])) return false;
  }
  return true;
}

inline bool Same(const trace::RankMeta& x, const trace::RankMeta& y) {
  const auto& [rank, rank_source, world_size, host, backend, source, trace_id, groups, lanes, devices, versions,
               profiler_messages, with_stack, record_shapes, time_resolution, time_base, categories] = x;
  return std::tie(rank, rank_source, world_size, host, backend, source, trace_id, devices, versions, profiler_messages,
                  with_stack, record_shapes, time_resolution, time_base,
                  categories) == std::tie(y.rank, y.rank_source, y.world_size, y.host, y.backend, y.source, y.trace_id,
                                          y.devices, y.versions, y.profiler_messages, y.with_stack, y.record_shapes,
                                          y.time_resolution, y.time_base, y.categories) &&
         Same(groups, y.groups) && Same(lanes, y.lanes);
}

inline bool Same(const trace::RankComms& x, const trace::RankComms& y) {
  const auto& [rank, host, host_known, declared, groups, runloop_tids, step_numbers, step_starts, instances] = x;
  return std::tie(rank, host, host_known, runloop_tids, step_numbers, step_starts) ==
             std::tie(y.rank, y.host, y.host_known, y.runloop_tids, y.step_numbers, y.step_starts) &&
         Same(declared, y.declared) && Same(groups, y.groups) && Same(instances, y.instances);
}

inline bool Same(const trace::ImportLog& x, const trace::ImportLog& y) {
  if (x.problems().size() != y.problems().size()) return false;
  for (auto a = x.problems().begin(), b = y.problems().begin(); a != x.problems().end(); ++a, ++b) {
    const auto& [kind, count, first_offset, example] = a->second;
    const trace::Problem& other = b->second;
    if (a->first != b->first || std::tie(kind, count, first_offset, example) !=
                                    std::tie(other.kind, other.count, other.first_offset, other.example)) {
      return false;
    }
  }
  return true;
}

// The name of the first member that differs; empty = equal.
inline std::string FirstDifference(const RankPattern& x, const RankPattern& y) {
  const auto& [meta, steps, unread_steps, step_splits, steps_marked, has_device, function_table, functions,
               function_steps, comms, window_start, window_end, events, device_all, device_linked, linked_only,
               unknown_name_time, overhead, thinned_instances, log] = x;
  if (!Same(meta, y.meta)) return "meta";
  if (!Same(steps, y.steps)) return "steps";
  if (!Same(unread_steps, y.unread_steps)) return "unread_steps";
  if (*function_table != *y.function_table) return "function_table";
  if (functions != y.functions) return "functions";
  if (!Same(function_steps, y.function_steps)) return "function_steps";
  if (!Same(comms, y.comms)) return "comms";
  if (device_all != y.device_all || device_linked != y.device_linked) return "device sums";
  if (!Same(log, y.log)) return "log";
  return std::tie(steps_marked, has_device, window_start, window_end, events, linked_only, unknown_name_time, overhead,
                  thinned_instances) == std::tie(y.steps_marked, y.has_device, y.window_start, y.window_end, y.events,
                                                 y.linked_only, y.unknown_name_time, y.overhead, y.thinned_instances)
             ? ""
             : "numbers";
}

}  // namespace headway::pattern::hwp
