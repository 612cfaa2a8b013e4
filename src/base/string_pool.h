// SPDX-License-Identifier: Apache-2.0
// Interned strings. Ids are dense from 0 in order of first appearance; id 0 is always the empty string.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headway {

class StringPool {
 public:
  using Id = uint32_t;

  StringPool() { Intern({}); }
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;
  StringPool(StringPool&&) noexcept = default;
  StringPool& operator=(StringPool&&) noexcept = default;

  // The id of `text`, added if new. O(length).
  Id Intern(std::string_view text) {
    if (auto it = index_.find(text); it != index_.end()) return it->second;
    const Id id = static_cast<Id>(strings_.size());
    strings_.emplace_back(text);
    bytes_ += text.size();
    index_.emplace(std::string_view(strings_.back()), id);
    return id;
  }

  [[nodiscard]] std::string_view Get(Id id) const { return strings_[id]; }
  [[nodiscard]] size_t size() const { return strings_.size(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }  // of text, without the index

 private:
  std::deque<std::string> strings_;                 // deque: views into it stay valid
  std::unordered_map<std::string_view, Id> index_;  // looked up only, never iterated
  size_t bytes_ = 0;
};

}  // namespace headway
