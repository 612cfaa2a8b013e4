// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headway {

[[nodiscard]] std::string ZstdCompress(std::string_view bytes, int level);

class ZstdDecompressor {
 public:
  ZstdDecompressor();
  ~ZstdDecompressor();
  ZstdDecompressor(ZstdDecompressor&&) noexcept;
  [[nodiscard]] bool Decompress(std::string_view packed, std::span<char> out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace headway
