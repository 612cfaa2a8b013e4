// SPDX-License-Identifier: Apache-2.0
// zstd for many small blocks whose sizes are known and whose sections carry a checksum: without a checksum in the
// frame, and with a context that is kept. base/zstd_block.h is for single blocks of unknown size; its new context and
// buffer for each of them would double the time to read a rank.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headway::pattern::hwp {

// The same bytes for the same input, level and version of the library.
[[nodiscard]] std::string CompressBlock(std::string_view bytes, int level);

// One for each thread.
class BlockDecompressor {
 public:
  BlockDecompressor();
  ~BlockDecompressor();
  BlockDecompressor(BlockDecompressor&&) noexcept;

  // False unless `packed` is one whole frame that fills `out` exactly.
  [[nodiscard]] bool Decompress(std::string_view packed, std::span<char> out);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace headway::pattern::hwp
