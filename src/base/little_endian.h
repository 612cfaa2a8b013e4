// SPDX-License-Identifier: Apache-2.0
// Fixed-width little-endian integers at the start of a byte string, whatever the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway {

// The first sizeof(T) bytes of `bytes`, which must be there.
template <typename T>
[[nodiscard]] constexpr T LoadLittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return static_cast<T>(value);
}

template <typename T>
void AppendLittleEndian(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

}  // namespace headway
