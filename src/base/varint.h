// SPDX-License-Identifier: Apache-2.0
// Variable-length integers: LEB128 (7 bits a byte, low ones first, as in protobuf and DWARF), and zigzag for signed
// ones (0, -1, 1, -2 … -> 0, 1, 2, 3 …).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway {

inline constexpr size_t kMaxVarintBytes = 10;

inline void AppendVarint(std::string* out, uint64_t value) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

[[nodiscard]] constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
[[nodiscard]] constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline void AppendSignedVarint(std::string* out, int64_t value) { AppendVarint(out, ZigZag(value)); }

// Reads from the front of untrusted bytes. A read that would leave them, or a number of more than 64 bits, gives 0 and
// makes ok() false for good: check once at the end of a record.
class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] uint64_t Varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes_.size() && i < kMaxVarintBytes; ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[i]);
      if (i + 1 == kMaxVarintBytes && byte > 1) break;  // bits beyond the 64th
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        bytes_.remove_prefix(i + 1);
        return value;
      }
    }
    Fail();
    return 0;
  }
  [[nodiscard]] int64_t SignedVarint() { return UnZigZag(Varint()); }

  // The next `count` bytes themselves; empty (and not ok) where there are fewer.
  [[nodiscard]] std::string_view Bytes(uint64_t count) {
    if (count > bytes_.size()) {
      Fail();
      return {};
    }
    const std::string_view taken = bytes_.substr(0, static_cast<size_t>(count));
    bytes_.remove_prefix(static_cast<size_t>(count));
    return taken;
  }

  // For sizes read from the bytes: whether that many things of at least `least_bytes` each can still follow. Makes ok()
  // false where they cannot, so that a claimed count allocates nothing.
  [[nodiscard]] bool CanHold(uint64_t count, size_t least_bytes = 1) {
    if (count <= bytes_.size() / least_bytes) return true;
    Fail();
    return false;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] size_t left() const { return bytes_.size(); }

 private:
  void Fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace headway
