// SPDX-License-Identifier: Apache-2.0
#include "report/report_doc.h"

#include "base/check.h"

namespace headway::report {

const char* ToString(Unit unit) {
  switch (unit) {
    case Unit::kText: return "text";
    case Unit::kRank: return "rank";
    case Unit::kStep: return "step";
    case Unit::kCount: return "count";
    case Unit::kDuration: return "duration";
    case Unit::kBytes: return "bytes";
    case Unit::kShare: return "share";
    case Unit::kRatio: return "ratio";
    case Unit::kBytesPerSecond: return "bytes-per-second";
    case Unit::kNumber: return "number";
  }
  HEADWAY_CHECK(false);
}

const char* ToString(TimeClass time_class) {
  switch (time_class) {
    case TimeClass::kCompute: return "compute";
    case TimeClass::kMemory: return "memory";
    case TimeClass::kTransfer: return "transfer";
    case TimeClass::kWait: return "wait";
    case TimeClass::kHost: return "host";
    case TimeClass::kInput: return "input";
    case TimeClass::kIdle: return "idle";
    case TimeClass::kBubble: return "bubble";
    case TimeClass::kOwn: return "own";
    case TimeClass::kOther: return "other";
  }
  HEADWAY_CHECK(false);
}

const char* ToString(Mark mark) {
  switch (mark) {
    case Mark::kNone: return "none";
    case Mark::kCulprit: return "culprit";
    case Mark::kVictim: return "victim";
    case Mark::kPeer: return "peer";
  }
  HEADWAY_CHECK(false);
}

const char* KindOf(const SectionBody& body) {
  static constexpr const char* kKinds[] = {"text",       "facts",    "waterfall", "stacked-bars",
                                           "heat-strip", "timeline", "table",     "chart"};
  static_assert(std::variant_size_v<SectionBody> == std::size(kKinds));
  return kKinds[body.index()];
}

const Section* FindSection(const ReportDoc& doc, const std::string& name) {
  for (const Section& section : doc.sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

}  // namespace headway::report
