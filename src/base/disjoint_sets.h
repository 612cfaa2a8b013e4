// SPDX-License-Identifier: Apache-2.0
// Union-find: numbers that are tied together, directly or through others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace headway {

class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  // The set's lowest member. O(log size), nearly O(1) when asked again.
  [[nodiscard]] size_t Find(size_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void Unite(size_t a, size_t b) {
    if (parent_[a] == parent_[b]) return;
    const size_t of_a = Find(a), of_b = Find(b);
    parent_[std::max(of_a, of_b)] = std::min(of_a, of_b);
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace headway
