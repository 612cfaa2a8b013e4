// SPDX-License-Identifier: Apache-2.0
#include "base/unpacking_source.h"

#include <algorithm>
#include <utility>

namespace headway {

SourceOptions PackedInputOptions(const SourceOptions& options) {
  return SourceOptions{.chunk_size = std::min<size_t>(options.chunk_size, size_t{128} << 10)};
}

std::string ReadBefore(int64_t bytes) {
  if (bytes == 0) return "; nothing in them could be read";
  return "; the first " + std::to_string(bytes) + " unpacked bytes were read";
}

UnpackingSource::UnpackingSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options)
    : raw_(std::move(raw)), chunk_size_(std::max<size_t>(options.chunk_size, 1)) {}

Result<std::string_view> UnpackingSource::Next() {
  if (pending_.empty() && !ended_) {
    if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kUnpackBuffer);
    const size_t size = Unpack({buffer_.get(), kUnpackBuffer});
    pending_ = std::string_view(buffer_.get(), size);
    ended_ = size == 0;
  }
  if (pending_.empty() && io_error_) return std::unexpected(*io_error_);
  const std::string_view chunk = pending_.substr(0, chunk_size_);
  pending_.remove_prefix(chunk.size());
  return chunk;
}

bool UnpackingSource::Refill() {
  if (!input_.empty()) return true;
  if (io_error_) return false;
  auto chunk = raw_->Next();
  if (!chunk) {
    io_error_ = std::move(chunk.error());
    return false;
  }
  input_ = *chunk;
  fetched_ += static_cast<int64_t>(input_.size());
  return !input_.empty();
}

void UnpackingSource::SetDamage(std::string message, ErrorCode code) {
  // An unreadable disk is not damage of the data: Next() reports it.
  if (!damage_ && !io_error_) damage_ = Error{code, std::move(message), name()};
}

std::optional<Error> UnpackingSource::damage() const {
  // Packed data that are cut off come out as damage of the packing too: the outer sentence says more.
  if (damage_) return damage_;
  return raw_->damage();
}

}  // namespace headway
