// SPDX-License-Identifier: Apache-2.0
// A vector whose resize leaves numbers and plain structs as they lie in memory. Filling a large array with zeros on one
// thread, only for several threads to write it, costs as much as writing it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace headway {

template <typename T>
class RawAllocator : public std::allocator<T> {
 public:
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);
  void construct(T* /*at*/) {}
  template <typename... Args>
  void construct(T* at, Args&&... args) {
    std::construct_at(at, std::forward<Args>(args)...);
  }
};

// After resize(n) the new elements hold anything: write each before reading it.
template <typename T>
using RawVector = std::vector<T, RawAllocator<T>>;

}  // namespace headway
