// SPDX-License-Identifier: Apache-2.0
// What a row is, told from its category and name by rules in a data file (src/trace/data/name_rules.yaml, built in;
// a user's own file of the same form is tried first).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/event.h"

namespace headway::trace {

// What a trace's own category says.
enum class RowClass : uint8_t {
  kOther,  // known and of no use, or unknown
  kKernel,
  kMemcpy,
  kMemset,
  kDeviceAnnotation,
  kDeviceSync,
  kRuntime,
  kOperator,
  kAnnotation,
  kPython,
  kOverhead,
  kInstant,
};

[[nodiscard]] constexpr bool IsOnDevice(RowClass row) {
  return row == RowClass::kKernel || row == RowClass::kMemcpy || row == RowClass::kMemset ||
         row == RowClass::kDeviceAnnotation || row == RowClass::kDeviceSync;
}

struct NameVerdict {
  EventKind kind = EventKind::kOther;
  uint8_t flags = 0;  // kFlagContainer, kFlagGraphLaunch, kFlagPageable, kFlagUnknownName
  CommOp op = CommOp::kUnknown;
  std::string algorithm;    // communication kernels: "RING_LL", "NVLS"; empty = not in the name
  std::string memory_kind;  // copies: "HtoD Pageable", "DtoD"
};

class NameRules {
 public:
  // The rules that come with the program. Parsed once by whoever needs them and shared: readers only look things up.
  [[nodiscard]] static std::shared_ptr<const NameRules> BuiltIn();
  // The built-in rules with those of a user's file before them. `where` names the file in an error.
  [[nodiscard]] static Result<std::shared_ptr<const NameRules>> WithExtra(std::string_view yaml, std::string where);

  // Row class of a category as written; *known tells a listed category from an unlisted one.
  [[nodiscard]] RowClass Category(std::string_view category, bool* known = nullptr) const;
  // O(rules x name length): remember the answer per (class, name).
  [[nodiscard]] NameVerdict Classify(RowClass row, std::string_view name) const;
  // Of a `Collective name` argument ("_allgather_base"), kUnknown if not listed.
  [[nodiscard]] CommOp Collective(std::string_view name) const;
  // True for collective names of rows that merely wait ("wait").
  [[nodiscard]] bool IsWait(std::string_view collective_name) const;
  // Bytes of one element of a data type as the profiler names it ("Float", "c10::Half"); 0 = unknown.
  [[nodiscard]] int ElementSize(std::string_view type) const;
  // "RING_LL" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)"; empty where the name does not tell.
  [[nodiscard]] std::string Algorithm(std::string_view kernel_name) const;

 private:
  friend class NameRulesFile;
  struct Rule {
    std::vector<std::string> globs;  // lower case
    EventKind kind = EventKind::kOther;
    bool keeps_kind = false;  // kind: default, only the flags are set
    uint8_t flags = 0;
    CommOp op = CommOp::kUnknown;
  };
  [[nodiscard]] const Rule* Find(const std::vector<Rule>& rules, std::string_view lower_name) const;

  std::map<std::string, RowClass, std::less<>> categories_;  // keys in lower case, here and below
  std::vector<Rule> kernels_;
  std::vector<Rule> runtime_;
  std::vector<Rule> host_;
  std::vector<Rule> python_;
  std::map<std::string, CommOp, std::less<>> collectives_;
  std::map<std::string, bool, std::less<>> waits_;
  std::map<std::string, int, std::less<>> element_sizes_;
  std::vector<std::string> algorithms_;  // upper case
  std::vector<std::string> protocols_;
};

// True if all of `text` fits `glob` (* and ?); both compared as they are. O(length x stars).
[[nodiscard]] bool MatchGlob(std::string_view glob, std::string_view text);

}  // namespace headway::trace
