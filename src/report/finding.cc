// SPDX-License-Identifier: Apache-2.0
#include "report/finding.h"

#include "base/check.h"

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

}  // namespace headway::report
