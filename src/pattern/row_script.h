// SPDX-License-Identifier: Apache-2.0
// Test support: writes a rank's rows by hand, in microseconds, and folds them.
#pragma once

#include <string>
#include <vector>

#include "pattern/pattern_builder.h"

namespace headway::pattern {

class RowScript {
 public:
  RowScript() { meta_.rank = 0; }

  // Lanes come into being when first named; a name that starts with "stream" is a device lane.
  RowScript& Row(const std::string& lane, trace::EventKind kind, const std::string& name, int64_t start_us,
                 int64_t duration_us, uint32_t correlation = 0, uint8_t flags = 0) {
    trace::Event event;
    event.lane = Lane(lane);
    event.kind = kind;
    event.name = names_.Intern(name);
    event.start = start_us * kMicrosecond;
    event.duration = duration_us * kMicrosecond;
    event.correlation = correlation;
    event.flags = flags;
    event.sequence = static_cast<uint32_t>(events_.size());
    events_.push_back(event);
    comm_.emplace_back();
    return *this;
  }
  RowScript& Step(int number, int64_t start_us, int64_t duration_us) {
    return Row("main", trace::EventKind::kStep, "ProfilerStep#" + std::to_string(number), start_us, duration_us);
  }
  RowScript& Collective(const std::string& lane, trace::CommOp op, int64_t start_us, int64_t duration_us,
                        uint32_t correlation = 0) {
    const bool device = lane.starts_with("stream");
    Row(lane, device ? trace::EventKind::kCommKernel : trace::EventKind::kCommHost, trace::ToString(op), start_us,
        duration_us, correlation);
    comm_.back().op = op;
    return *this;
  }

  // The call that hands a message in.
  RowScript& Message(const std::string& call, trace::CommOp op, int32_t peer, int64_t start_us, int64_t duration_us) {
    Row("main", trace::EventKind::kCommIssue, call, start_us, duration_us);
    comm_.back().op = op;
    comm_.back().peer = peer;
    return *this;
  }

  [[nodiscard]] RankPattern Fold(const FoldOptions& options = {}) const {
    PatternBuilder builder(options);
    for (size_t i = 0; i < events_.size(); ++i) {
      trace::Event event = events_[i];
      if (comm_[i].op != trace::CommOp::kUnknown) event.detail = builder.OnComm(comm_[i]) + 1;
      builder.OnEvent(event);
    }
    return builder.Finish(meta_, names_, {}).value();
  }

  trace::RankMeta& meta() { return meta_; }

 private:
  trace::LaneId Lane(const std::string& name) {
    for (size_t i = 0; i < meta_.lanes.size(); ++i) {
      if (meta_.lanes[i].name == name) return static_cast<trace::LaneId>(i);
    }
    trace::Lane lane;
    lane.name = name;
    lane.is_device = name.starts_with("stream");
    lane.pid = 1;
    lane.tid = static_cast<int64_t>(meta_.lanes.size());
    meta_.lanes.push_back(lane);
    return static_cast<trace::LaneId>(meta_.lanes.size() - 1);
  }

  trace::RankMeta meta_;
  StringPool names_;
  std::vector<trace::Event> events_;
  std::vector<trace::CommDetail> comm_;
};

}  // namespace headway::pattern
