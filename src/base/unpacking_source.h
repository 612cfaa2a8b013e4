// SPDX-License-Identifier: Apache-2.0
// What all sources that unpack another one share: the output buffer, chunks of the asked size, damage.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/byte_source.h"

namespace headway {

// Fits the second-level cache with room for what the reader of the bytes needs.
inline constexpr size_t kUnpackBuffer = size_t{256} << 10;

// The options with which to open the raw bytes under an unpacking source: packed bytes need no large chunks.
[[nodiscard]] SourceOptions PackedInputOptions(const SourceOptions& options);

// The end of a sentence about damage: what could be unpacked before it.
[[nodiscard]] std::string ReadBefore(int64_t bytes);

class UnpackingSource : public ByteSource {
 public:
  [[nodiscard]] Result<std::string_view> Next() final;
  [[nodiscard]] const std::string& name() const final { return raw_->name(); }
  [[nodiscard]] int64_t compressed_position() const final { return raw_->compressed_position(); }
  [[nodiscard]] int64_t compressed_size() const final { return raw_->compressed_size(); }
  [[nodiscard]] std::optional<Error> damage() const final;

 protected:
  UnpackingSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options);

  // Fills `out` as far as the packed data go; 0 = the end. Called again only after a non-zero answer. An I/O error that
  // comes after some bytes is kept back until these are delivered (Refill sees to that).
  virtual size_t Unpack(std::span<char> out) = 0;

  // Packed bytes not yet looked at; consume them with remove_prefix.
  std::string_view input_;
  // Makes input_ non-empty. False at the end of the packed data, or where they cannot be read.
  bool Refill();
  void SetDamage(std::string message, ErrorCode code = ErrorCode::kCorrupt);

  [[nodiscard]] bool chunk_used_up() const { return pending_.empty(); }
  // Bytes of the packed data that Refill() has fetched, less what is still in input_.
  [[nodiscard]] int64_t packed_consumed() const { return fetched_ - static_cast<int64_t>(input_.size()); }
  void set_packed_consumed(int64_t offset) { fetched_ = offset; }

 private:
  std::unique_ptr<ByteSource> raw_;
  size_t chunk_size_;
  std::unique_ptr<char[]> buffer_;
  std::string_view pending_;  // unpacked, not yet delivered
  int64_t fetched_ = 0;
  bool ended_ = false;
  std::optional<Error> io_error_;
  std::optional<Error> damage_;
};

}  // namespace headway
