// SPDX-License-Identifier: Apache-2.0
// Device time by the set of kinds that run at once, in whole ns, while rows pass in time order.
#pragma once

#include "pattern/pattern.h"
#include "trace/event.h"

namespace headway::pattern {

class DeviceSumsSweep {
 public:
  // 0 = the row does not count.
  [[nodiscard]] static int Kind(const trace::Event& event) {
    using trace::EventKind;
    switch (event.kind) {
      case EventKind::kKernel: return RankPattern::DeviceSums::kCompute;
      case EventKind::kCommKernel: return RankPattern::DeviceSums::kCommunication;
      case EventKind::kMemcpy: return RankPattern::DeviceSums::kCopy;
      case EventKind::kMemset: return RankPattern::DeviceSums::kSet;
      default: return 0;
    }
  }

  // Starts and ends must come in time order; at equal times in any order.
  void Start(Nanos at, int kind) {
    if (sums_.rows++ == 0) sums_.first = last_change_ = at;
    Advance(at);
    Change(kind, +1);
  }
  void End(Nanos at, int kind) {
    Advance(at);
    Change(kind, -1);
    sums_.last = at;
  }

  // Times shifted by `time_base`.
  [[nodiscard]] RankPattern::DeviceSums Finish(Nanos time_base) const {
    RankPattern::DeviceSums out = sums_;
    if (out.rows > 0) {
      out.first += time_base;
      out.last += time_base;
    }
    return out;
  }

 private:
  void Advance(Nanos at) {
    sums_.by_kinds[static_cast<size_t>(mask_)] += at - last_change_;
    last_change_ = at;
  }
  void Change(int kind, int by) {
    int& count = running_[kind == 1 ? 0 : kind == 2 ? 1 : kind == 4 ? 2 : 3];
    count += by;
    mask_ = count > 0 ? mask_ | kind : mask_ & ~kind;
  }

  RankPattern::DeviceSums sums_;
  int running_[4] = {};
  int mask_ = 0;
  Nanos last_change_ = 0;
};

}  // namespace headway::pattern
