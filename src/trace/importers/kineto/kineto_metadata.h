// SPDX-License-Identifier: Apache-2.0
// The members of the outer object besides traceEvents: rank, groups, time base, devices, versions, messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/import_log.h"

namespace headway::trace::kineto {

class KinetoMetadata {
 public:
  explicit KinetoMetadata(ImportLog* log) : log_(log) {}

  // One member, `value` as it stands in the text. Order does not matter.
  void OnMember(std::string_view key, std::string_view value, int64_t offset);
  // Moves what was found into `meta`. Rank and world size of distributedInfo win over those of other metadata.
  void Export(RankMeta* meta);

  [[nodiscard]] bool saw_distributed_info() const { return saw_distributed_info_; }

 private:
  void DistributedInfo(std::string_view value, int64_t offset);
  void OtherObject(std::string_view value, int64_t offset);
  void Devices(std::string_view value);
  void Messages(std::string_view value);
  void AddGroups(std::vector<ProcessGroup> groups);
  void Scalar(std::string_view key, std::string_view value);

  ImportLog* log_;
  bool saw_distributed_info_ = false;
  RankMeta found_;
  int64_t other_rank_ = -1;  // "rank" of user metadata
  int64_t other_world_ = -1;
};

// Ranks of a list written as JSON ("[0, 1]") or as the profiler cuts it ("[0, 1, ...]"); *cut says which.
[[nodiscard]] std::vector<RankId> ParseRanks(std::string_view text, bool* cut);

}  // namespace headway::trace::kineto
