// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_table_cache.h"

#include <cstddef>
#include <utility>

namespace headway::pattern {

const FunctionTableCache::Entry* FunctionTableCache::FindLocked(uint64_t checksum, std::string_view section) const {
  const auto it = entries_.find(checksum);
  if (it == entries_.end()) return nullptr;
  for (const Entry& entry : it->second) {
    if (entry.section == section) return &entry;
  }
  return nullptr;
}

std::shared_ptr<const FunctionTable> FunctionTableCache::Find(uint64_t checksum, std::string_view section) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = FindLocked(checksum, section);
  return entry == nullptr ? nullptr : entry->table;
}

std::shared_ptr<const FunctionTable> FunctionTableCache::Add(uint64_t checksum, std::string_view section,
                                                             FunctionTable table) {
  auto shared = std::make_shared<const FunctionTable>(std::move(table));
  const std::lock_guard lock(mutex_);
  if (const Entry* entry = FindLocked(checksum, section)) return entry->table;
  entries_[checksum].push_back({std::string(section), shared});
  return shared;
}

size_t FunctionTableCache::size() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [checksum, list] : entries_) count += list.size();
  return count;
}

}  // namespace headway::pattern
