// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_block.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"

namespace headway {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

constexpr size_t kFirstGuess = size_t{64} << 10;

std::unexpected<Error> Corrupt(std::string_view why) {
  return MakeError(ErrorCode::kCorrupt, "a packed block is damaged (" + std::string(why) + ")");
}

}  // namespace

Result<std::string> CompressZstd(std::string_view bytes, int level) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), packed.data(), packed.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) {
    return MakeError(ErrorCode::kTooLarge, "cannot pack a block: " + std::string(ZSTD_getErrorName(size)));
  }
  packed.resize(size);
  return packed;
}

Result<std::string> DecompressZstd(std::string_view packed, size_t max_size) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  std::string bytes;
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  size_t wanted = 1;  // 0 once a frame is complete
  while (true) {
    const size_t before = bytes.size();
    // One byte more than allowed, so that "just fits" and "too large" differ. Grows with what really comes out.
    const size_t room = std::min(std::max(kFirstGuess, 2 * before), max_size + 1);
    bytes.resize(room);
    ZSTD_outBuffer output{bytes.data(), bytes.size(), before};
    wanted = ZSTD_decompressStream(context.get(), &output, &input);
    bytes.resize(output.pos);
    if (ZSTD_isError(wanted) != 0) return Corrupt(ZSTD_getErrorName(wanted));
    if (bytes.size() > max_size) {
      return MakeError(ErrorCode::kTooLarge, "a packed block holds more than " +
                                                 FormatBytes(static_cast<Bytes>(max_size)) +
                                                 "; it is not one this program wrote");
    }
    if (wanted == 0 && input.pos == input.size) return bytes;
    if (input.pos == input.size && bytes.size() == before) return Corrupt("cut off");
  }
}

}  // namespace headway
