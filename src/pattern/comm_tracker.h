// SPDX-License-Identifier: Apache-2.0
// The communication operations of one rank while its trace is folded: which are open, and to which of them the rank's
// exposed time belongs.
#pragma once

#include <map>
#include <vector>

#include "base/string_pool.h"
#include "trace/comm.h"
#include "trace/event.h"

namespace headway::pattern {

class CommTracker {
 public:
  static constexpr int kNone = -1;

  CommTracker(const StringPool& names, const trace::RankMeta& meta, size_t max_instances)
      : names_(names), meta_(meta), max_instances_(max_instances) {}

  // A communication kernel or the work of a host backend begins. `blocking`: it runs on a driving thread (gloo send and
  // recv). Returns a handle for End().
  int Start(const trace::Event& event, const trace::CommDetail& detail, bool blocking, bool chained, int32_t step);
  void End(int handle);

  // The open operation that ends first: exposed time up to then is its. kNone if none is open.
  [[nodiscard]] int EarliestEnding() const { return open_.empty() ? kNone : open_.front(); }
  [[nodiscard]] Nanos EndOf(int handle) const { return instances_[static_cast<size_t>(handle)].end; }
  // Nothing of a higher class ran in [from, to). `handle` kNone: the rank waits for an operation that has not begun
  // (the time goes to the next one that starts) or whose end it has not noticed yet (DropPending gives it to the last).
  void AddExposed(int handle, Nanos from, Nanos to);
  // The wait ended without another operation beginning.
  void DropPending();

  // Moves instances (by start) and local groups into `out`; times shifted by `time_base`, cut to whole ticks.
  void Export(Nanos time_base, trace::RankComms* out);
  [[nodiscard]] int64_t thinned() const { return thinned_; }

 private:
  int32_t LocalGroup(const trace::Event& event, const trace::CommDetail& detail, bool blocking);
  void Expose(trace::CommInstance* instance, Nanos from, Nanos to);

  const StringPool& names_;
  const trace::RankMeta& meta_;
  size_t max_instances_;
  std::vector<trace::CommInstance> instances_;
  std::vector<int> open_;  // handles, by (end, handle)
  std::vector<trace::LocalGroup> groups_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int32_t>, int32_t> group_index_;
  int last_ = kNone;
  Nanos pending_begin_ = 0;
  Nanos pending_end_ = 0;
  Nanos pending_ = 0;
  int64_t thinned_ = 0;
};

}  // namespace headway::pattern
