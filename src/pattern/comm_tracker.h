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

  CommTracker(const StringPool& names, const trace::RankMeta& meta, size_t max_of_group)
      : names_(names), meta_(meta), max_of_group_(max_of_group) {}

  // A communication kernel or the work of a host backend begins. `blocking`: it runs on a driving thread (gloo send and
  // recv). Returns a handle for End().
  int Start(const trace::Event& event, const trace::CommDetail& detail, bool blocking, bool chained, int32_t step);
  void End(int handle);

  // The open operation that ends first: exposed time up to then is its. kNone if none is open.
  [[nodiscard]] int EarliestEnding() const { return open_.empty() ? kNone : open_.front(); }
  [[nodiscard]] Nanos EndOf(int handle) const { return instances_[static_cast<size_t>(handle)].end; }
  // The operation that ended last, at `since` or later; else the one that will end first; kNone if there is neither.
  [[nodiscard]] int LastEndedSince(Nanos since) const {
    if (last_ != kNone && EndOf(last_) >= since) return last_;
    return EarliestEnding() != kNone ? EarliestEnding() : last_;
  }
  // The rank was blocked in the operation during [from, to); calls in time order.
  void AddExposed(int handle, Nanos from, Nanos to);

  // Moves instances (by start) and local groups into `out`; times shifted by `time_base`, cut to whole ticks from
  // `origin` (before the shift): an instant of the rank's own, so that a clock set differently changes nothing.
  void Export(Nanos time_base, Nanos origin, trace::RankComms* out);
  [[nodiscard]] int64_t thinned() const { return thinned_; }

 private:
  void Thin();
  int32_t LocalGroup(const trace::Event& event, const trace::CommDetail& detail, bool blocking);

  const StringPool& names_;
  const trace::RankMeta& meta_;
  size_t max_of_group_;
  std::vector<trace::CommInstance> instances_;
  std::vector<int> open_;  // handles, by (end, handle)
  std::vector<trace::LocalGroup> groups_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int32_t>, int32_t> group_index_;
  int last_ = kNone;
  int64_t thinned_ = 0;
};

}  // namespace headway::pattern
