// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_zstd.h"

#include <zstd.h>

#include "base/check.h"

namespace headway::pattern::hwp {

std::string CompressBlock(std::string_view bytes, int level) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  HEADWAY_CHECK(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

struct BlockDecompressor::Context {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~Context() { ZSTD_freeDCtx(zstd); }
};

BlockDecompressor::BlockDecompressor() : context_(std::make_unique<Context>()) {}
BlockDecompressor::~BlockDecompressor() = default;
BlockDecompressor::BlockDecompressor(BlockDecompressor&&) noexcept = default;

bool BlockDecompressor::Decompress(std::string_view packed, std::span<char> out) {
  const size_t size = ZSTD_decompressDCtx(context_->zstd, out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(size) == 0 && size == out.size();
}

}  // namespace headway::pattern::hwp
