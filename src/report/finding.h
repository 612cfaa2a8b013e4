// SPDX-License-Identifier: Apache-2.0
// A finding as plain data: what an analysis concluded, about whom, what it costs, how sure it is, and why.
// The JSON form is the contract of docs/findings.schema.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace headway::report {

enum class Severity : uint8_t { kInfo, kWarning, kCritical };
enum class Confidence : uint8_t { kSuspected, kLikely, kSure };
enum class WhenKind : uint8_t { kPersistent, kIntermittent, kOnce, kOnset };

[[nodiscard]] const char* ToString(Severity severity);      // "info", "warning", "critical"
[[nodiscard]] const char* ToString(Confidence confidence);  // "suspected", "likely", "sure"
[[nodiscard]] const char* ToString(WhenKind kind);          // "persistent", "intermittent", "once", "onset"

struct Link {
  RankId from = -1;
  RankId to = -1;  // -1 = whoever it sends to
};

struct Scope {
  std::vector<RankId> ranks;  // sorted
  std::vector<std::string> hosts;
  std::vector<std::string> devices;
  std::vector<Link> links;
  int32_t stage = -1;    // pipeline stage; -1 = not about one
  std::string function;  // deepest function that explains it; empty = none
  std::string group;     // process group ("dp group 3 (mesh_dp)"); empty = none
};

struct When {
  WhenKind kind = WhenKind::kPersistent;
  std::vector<int64_t> steps;  // the steps struck (for onset: the first one)
};

// One row of proof. Values are already in the unit the name says ("own time, ms per step").
struct Evidence {
  std::string metric;
  std::string value;     // of the culprit
  std::string expected;  // what it should be, or empty
  std::string peers;     // what the peers have, or empty
  std::string source;    // where the number comes from ("12 steps, ranks 0-7 of dp group 3")
};

struct Finding {
  std::string id;     // "slow-device-19": cause + scope, unique in one report
  std::string cause;  // kebab-case name from docs/causes
  Severity severity = Severity::kInfo;
  Confidence confidence = Confidence::kSuspected;
  std::string confidence_reason;
  Scope scope;
  When when;
  std::vector<RankId> victims;      // sorted; who waits for it
  Nanos recoverable_per_step = 0;   // what fixing it brings, total over the window / steps
  Nanos worst_step = 0;             // its cost in its worst step
  std::vector<Nanos> cost_by_step;  // parallel to the report's steps: for the sparkline; may be empty
  std::string headline;             // "rank 19 (host n2, gpu 3)": who, in the words of the terminal's first line
  std::string sentence;             // what was seen, one or two sentences
  std::string suggestion;           // what to do
  std::string edit;                 // "remove-straggler:19": a what-if edit, or empty
  std::vector<Evidence> evidence;
};

// Findings of severity info that cost more than `floor` per step: a report of them cannot say that there is nothing so
// large.
struct LargeRemarks {
  int64_t count = 0;
  Nanos largest = 0;  // per step

  [[nodiscard]] std::string InWords() const;  // "1 remark of 34 ms", "2 remarks of up to 34 ms"
};
[[nodiscard]] LargeRemarks RemarksAbove(const std::vector<Finding>& findings, Nanos floor);

// An analysis that could not look, and why.
struct NotChecked {
  std::string what;
  std::string why;
};

}  // namespace headway::report
