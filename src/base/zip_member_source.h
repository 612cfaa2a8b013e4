// SPDX-License-Identifier: Apache-2.0
// Unpacks the data of one stored or deflated zip member and checks them against the directory's checksum.
#pragma once

#include <memory>

#include "base/deflate_stream.h"
#include "base/unpacking_source.h"

namespace headway {

class ZipMemberSource final : public UnpackingSource {
 public:
  // `raw` holds exactly the member's packed data.
  ZipMemberSource(std::unique_ptr<ByteSource> raw, bool deflated, uint32_t crc, const SourceOptions& options = {});

 private:
  size_t Unpack(std::span<char> out) override;
  size_t CopyStored(std::span<char> out);
  size_t Inflate(std::span<char> out);

  bool deflated_;
  uint32_t expected_crc_;
  uint32_t crc_ = 0;
  int64_t total_ = 0;
  bool ended_ = false;
  DeflateStream deflate_;
};

}  // namespace headway
