// SPDX-License-Identifier: Apache-2.0
#include "base/zstd_source.h"

#include <zstd.h>

#include <string>
#include <utility>

namespace headway {

struct ZstdSource::Decoder {
  struct Free {
    void operator()(ZSTD_DCtx* freed) const { ZSTD_freeDCtx(freed); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context{ZSTD_createDCtx()};
};

ZstdSource::ZstdSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options)
    : UnpackingSource(std::move(raw), options), decoder_(std::make_unique<Decoder>()) {}

ZstdSource::~ZstdSource() = default;

size_t ZstdSource::Unpack(std::span<char> out) {
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  while (output.pos < output.size && !damage()) {
    const bool more = Refill();
    ZSTD_inBuffer input{input_.data(), input_.size(), 0};
    const size_t before = output.pos;
    const size_t code = ZSTD_decompressStream(decoder_->context.get(), &output, &input);
    input_.remove_prefix(input.pos);
    const std::string so_far = ReadBefore(total_ + static_cast<int64_t>(output.pos));
    if (ZSTD_isError(code) != 0) {
      SetDamage("the zstd data are corrupt (" + std::string(ZSTD_getErrorName(code)) + ")" + so_far);
      break;
    }
    if (more || output.pos != before) inside_frame_ = code != 0;
    if (!more && output.pos == before) {
      if (inside_frame_) SetDamage("the zstd data are cut off" + so_far);
      break;
    }
  }
  total_ += static_cast<int64_t>(output.pos);
  return output.pos;
}

}  // namespace headway
