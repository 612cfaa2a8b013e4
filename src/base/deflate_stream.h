// SPDX-License-Identifier: Apache-2.0
// Streaming decoder of raw deflate data (RFC 1951): the adapter around isa-l, the only file that knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headway {

class DeflateStream {
 public:
  DeflateStream();
  ~DeflateStream();
  DeflateStream(DeflateStream&&) noexcept;
  DeflateStream& operator=(DeflateStream&&) noexcept;

  enum class State : uint8_t {
    kMore,     // give more input, or room for more output
    kEnd,      // the final block is complete and all of it was produced
    kCorrupt,  // not deflate data from here on; what was produced before is good
  };
  struct Step {
    size_t consumed = 0;
    size_t produced = 0;
    State state = State::kMore;
  };

  // Decodes until the input is used up, the output full, or the stream over. Give at least 64 KB of room: with less,
  // bytes decoded just before damage can be lost.
  Step Run(std::string_view in, std::span<char> out);

  // After kEnd: the bytes behind the stream's end that Run had already consumed (at most 8).
  [[nodiscard]] std::string Unused() const;

  void Reset();
  [[nodiscard]] DeflateStream Clone() const;  // an independent copy (~90 KB) that goes on from the same place

 private:
  struct Decoder;
  std::unique_ptr<Decoder> decoder_;
};

// CRC-32 as gzip and zip use it; start with 0.
[[nodiscard]] uint32_t Crc32(uint32_t crc, std::string_view bytes);

}  // namespace headway
