// SPDX-License-Identifier: Apache-2.0
// Ranks of a job have equal function tables: decoded once, held once, whatever number of files they come in.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pattern/pattern.h"

namespace headway::pattern {

// Any number of threads may use one cache.
class FunctionTableCache {
 public:
  // The table decoded from exactly these section bytes, or null.
  [[nodiscard]] std::shared_ptr<const FunctionTable> Find(uint64_t checksum, std::string_view section) const;

  // Keeps `table`, or gives the one that another thread was faster to add for the same bytes.
  [[nodiscard]] std::shared_ptr<const FunctionTable> Add(uint64_t checksum, std::string_view section,
                                                         FunctionTable table);

  [[nodiscard]] size_t size() const;  // distinct tables

 private:
  struct Entry {
    std::string section;
    std::shared_ptr<const FunctionTable> table;
  };

  [[nodiscard]] const Entry* FindLocked(uint64_t checksum, std::string_view section) const;

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Entry>> entries_;  // by checksum; looked up only
};

}  // namespace headway::pattern
