// SPDX-License-Identifier: Apache-2.0
// Unpacks zstd data (RFC 8878), also of several frames, as they stream. Windows up to 128 MB are accepted; memory is
// that of the window.
#pragma once

#include <memory>
#include <string_view>

#include "base/unpacking_source.h"

namespace headway {

[[nodiscard]] inline bool LooksLikeZstd(std::string_view first_bytes) {
  return first_bytes.starts_with("\x28\xb5\x2f\xfd");
}

class ZstdSource final : public UnpackingSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options = {});
  ~ZstdSource() override;

 private:
  struct Decoder;

  size_t Unpack(std::span<char> out) override;

  std::unique_ptr<Decoder> decoder_;
  bool inside_frame_ = true;
  int64_t total_ = 0;
};

}  // namespace headway
