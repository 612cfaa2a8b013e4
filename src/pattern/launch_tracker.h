// SPDX-License-Identifier: Apache-2.0
// Launch call -> device row, by correlation, in memory that does not grow with the trace.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace headway::pattern {

struct Launch {
  Nanos end = 0;             // of the launch call
  uint32_t comm_detail = 0;  // of the collective call around it; 0 = none
  bool is_graph = false;
};

class LaunchTracker {
 public:
  // Keeps the newest `capacity` launches: a device queue holds about a thousand, so older ones have long run.
  explicit LaunchTracker(size_t capacity = 1 << 16) : capacity_(capacity) {}

  void OnLaunch(uint32_t correlation, const Launch& launch) {
    if (correlation == 0) return;
    if (launches_.insert_or_assign(correlation, launch).second) order_.push_back(correlation);
    if (order_.size() > capacity_) {
      launches_.erase(order_.front());
      order_.pop_front();
    }
  }
  // A graph's launch serves many rows, so nothing is removed. nullptr = not seen (yet).
  [[nodiscard]] const Launch* Find(uint32_t correlation) const {
    const auto it = launches_.find(correlation);
    return it == launches_.end() ? nullptr : &it->second;
  }

 private:
  size_t capacity_;
  std::unordered_map<uint32_t, Launch> launches_;  // looked up only
  std::deque<uint32_t> order_;
};

// The set of correlations whose launch is in the file, wherever it stands. Ids are dense within pages of 64 Ki, so a
// trace of ten million launches takes a few MB.
class CorrelationSet {
 public:
  void Add(uint32_t correlation) {
    auto& page = pages_[correlation >> 16];
    if (!page) page = std::make_unique<std::vector<uint64_t>>(1024);
    (*page)[(correlation & 0xFFFF) >> 6] |= uint64_t{1} << (correlation & 63);
  }
  [[nodiscard]] bool Contains(uint32_t correlation) const {
    const auto it = pages_.find(correlation >> 16);
    return it != pages_.end() && ((*it->second)[(correlation & 0xFFFF) >> 6] >> (correlation & 63) & 1) != 0;
  }

 private:
  std::unordered_map<uint32_t, std::unique_ptr<std::vector<uint64_t>>> pages_;  // looked up only
};

}  // namespace headway::pattern
