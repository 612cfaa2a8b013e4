// SPDX-License-Identifier: Apache-2.0
// Unpacks gzip data (RFC 1952), also of several members, as it streams. Zero padding behind the last member is silent;
// anything else there, a wrong checksum, corrupt or missing data are damage().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/deflate_stream.h"
#include "base/unpacking_source.h"

namespace headway {

[[nodiscard]] inline bool LooksLikeGzip(std::string_view first_bytes) { return first_bytes.starts_with("\x1f\x8b"); }

class GzipSource final : public UnpackingSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options = {});

  // Everything needed to go on from a place between two chunks, without what came before. ~100 KB.
  struct Checkpoint;
  // Null while a delivered chunk is only a part of what was unpacked (small chunk sizes); else a checkpoint of here.
  [[nodiscard]] std::shared_ptr<const Checkpoint> Save() const;
  // `raw` must stand at checkpoint.packed_offset of the same data.
  GzipSource(std::unique_ptr<ByteSource> raw, const Checkpoint& checkpoint, const SourceOptions& options = {});

 private:
  enum class Phase : uint8_t { kHeader, kBody, kTrailer, kBetween, kDone };

  size_t Unpack(std::span<char> out) override;
  bool ReadHeader();
  bool SkipHeaderText();
  bool SkipBytes(int64_t count);
  size_t RunBody(std::span<char> out);
  void ReadTrailer();
  void FindNextMember();
  int NextByte();  // -1 at the end
  bool Stop(std::string_view what_is_wrong);

  DeflateStream deflate_;
  Phase phase_ = Phase::kHeader;
  std::string put_back_;  // bytes behind the deflate data that the decoder had already taken
  uint32_t crc_ = 0;
  uint32_t length_ = 0;  // of this member, modulo 2^32 as in the trailer
  int64_t total_ = 0;    // unpacked bytes of all members
};

struct GzipSource::Checkpoint {
  int64_t packed_offset = 0;
  int64_t unpacked_offset = 0;
  DeflateStream deflate;
  Phase phase = Phase::kHeader;
  std::string put_back;
  uint32_t crc = 0;
  uint32_t length = 0;
};

}  // namespace headway
