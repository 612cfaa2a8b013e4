// SPDX-License-Identifier: Apache-2.0
// Bytes and varints of a .hwp block. The reader never leaves its bytes and remembers that it would have had to: hostile
// input costs one look at failed() at the end instead of a branch at every use.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway::pattern::hwp {

// Signed numbers with small magnitude become small unsigned ones: 0, -1, 1, -2, … -> 0, 1, 2, 3, …
[[nodiscard]] constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
[[nodiscard]] constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Sums and differences that wrap: the difference of any two int64 leads back.
[[nodiscard]] constexpr int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
[[nodiscard]] constexpr int64_t WrapSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
[[nodiscard]] constexpr int64_t WrapMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// LEB128: seven bits a byte, least significant first, the top bit says that more follow.
inline void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
[[nodiscard]] constexpr int VarintLength(uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] uint8_t Byte() {
    if (next_ == end_) return Fail();
    return static_cast<uint8_t>(*next_++);
  }
  // At most ten bytes, of the tenth only the lowest bit.
  [[nodiscard]] uint64_t Varint() {
    if (next_ != end_ && static_cast<uint8_t>(*next_) < 0x80) return static_cast<uint8_t>(*next_++);
    return LongVarint();
  }
  [[nodiscard]] int64_t Signed() { return UnZigZag(Varint()); }
  [[nodiscard]] std::string_view Bytes(uint64_t count) {
    if (count > remaining()) {
      Fail();
      return {};
    }
    const std::string_view bytes(next_, static_cast<size_t>(count));
    next_ += count;
    return bytes;
  }

  [[nodiscard]] uint64_t remaining() const { return static_cast<uint64_t>(end_ - next_); }
  [[nodiscard]] bool failed() const { return failed_; }
  // Nothing more can be read: every later call gives 0.
  uint8_t Fail() {
    failed_ = true;
    next_ = end_;
    return 0;
  }

 private:
  uint64_t LongVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (next_ == end_) return Fail();
      const auto byte = static_cast<uint8_t>(*next_++);
      if (shift == 63 && byte > 1) return Fail();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }

  const char* next_;
  const char* end_;
  bool failed_ = false;
};

}  // namespace headway::pattern::hwp
