// SPDX-License-Identifier: Apache-2.0
// Names seen in one file: interned, cleaned and classified once, then found by one look-up of their raw text.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "trace/event.h"
#include "trace/import_log.h"
#include "trace/name_rules.h"

namespace headway::trace::kineto {

struct NameLimits {
  size_t longest = 4096;                  // bytes; longer names keep their beginning and a hash
  size_t total_bytes = size_t{64} << 20;  // of distinct text; beyond it new names become kOtherNames
};

inline constexpr std::string_view kOtherNames = "(names beyond the limit)";

struct KnownName {
  NameId id = 0;
  NameId algorithm = 0;
  NameId memory_kind = 0;
  EventKind kind = EventKind::kOther;
  uint8_t flags = 0;
  CommOp op = CommOp::kUnknown;
  bool shortened = false;
};

class NameTable {
 public:
  NameTable(std::shared_ptr<const NameRules> rules, ImportLog* log, const NameLimits& limits);

  // The name of a row of class `row`, raw as between its quotes. Valid until the next call. O(length).
  const KnownName& Find(RowClass row, std::string_view raw, int64_t offset);
  // Interns text that is not a row's name (group names, geometry): raw too, cleaned and bounded the same way.
  NameId Intern(std::string_view raw, int64_t offset);

  [[nodiscard]] const NameRules& rules() const { return *rules_; }
  [[nodiscard]] const StringPool& pool() const { return pool_; }
  [[nodiscard]] StringPool TakePool() { return std::move(pool_); }

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t entry = 0;  // 1 + index; 0 = free
  };
  struct Entry {
    std::string_view raw;
    uint8_t use = 0;  // row class, or kText
    KnownName name;
  };
  static constexpr uint8_t kText = 255;

  const KnownName& Lookup(uint8_t use, std::string_view raw, int64_t offset);
  const KnownName& Add(uint8_t use, std::string_view raw, uint64_t hash, size_t slot, int64_t offset);
  KnownName Make(uint8_t use, std::string_view raw, int64_t offset);
  NameId InternClean(std::string_view text);
  void Grow();

  std::shared_ptr<const NameRules> rules_;
  ImportLog* log_;
  NameLimits limits_;
  StringPool pool_;
  size_t raw_bytes_ = 0;
  std::deque<std::string> raw_texts_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  KnownName uncached_;
};

// "<built-in method to of Tensor object at 0x7f12>" -> "<built-in method to of Tensor object>": addresses differ over
// ranks and runs, and would make every frame a name of its own.
[[nodiscard]] std::string WithoutAddresses(std::string_view name);

}  // namespace headway::trace::kineto
