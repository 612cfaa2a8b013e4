// SPDX-License-Identifier: Apache-2.0
#include "report/finding.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace headway::report {

const char* ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kCritical: return "critical";
  }
  HEADWAY_CHECK(false);
}

const char* ToString(Confidence confidence) {
  switch (confidence) {
    case Confidence::kSuspected: return "suspected";
    case Confidence::kLikely: return "likely";
    case Confidence::kSure: return "sure";
  }
  HEADWAY_CHECK(false);
}

const char* ToString(WhenKind kind) {
  switch (kind) {
    case WhenKind::kPersistent: return "persistent";
    case WhenKind::kIntermittent: return "intermittent";
    case WhenKind::kOnce: return "once";
    case WhenKind::kOnset: return "onset";
  }
  HEADWAY_CHECK(false);
}

std::string LargeRemarks::InWords() const {
  return Counted(count, "remark") + (count == 1 ? " of " : " of up to ") + FormatDuration(largest);
}

LargeRemarks RemarksAbove(const std::vector<Finding>& findings, Nanos floor) {
  LargeRemarks out;
  for (const Finding& finding : findings) {
    const Nanos cost = finding.recoverable_per_step;
    // What reads the same as the floor does not contradict it.
    if (finding.severity != Severity::kInfo || cost <= floor || FormatDuration(cost) == FormatDuration(floor)) continue;
    ++out.count;
    out.largest = std::max(out.largest, cost);
  }
  return out;
}

}  // namespace headway::report
