// SPDX-License-Identifier: Apache-2.0
// Bytes already in memory, given out in chunks of a chosen size.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/byte_source.h"

namespace headway {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes, const SourceOptions& options = {}, std::string name = "memory")
      : bytes_(std::move(bytes)), name_(std::move(name)), chunk_size_(std::max<size_t>(options.chunk_size, 1)) {}

  [[nodiscard]] Result<std::string_view> Next() override {
    const std::string_view chunk = std::string_view(bytes_).substr(position_, chunk_size_);
    position_ += chunk.size();
    return chunk;
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] int64_t compressed_position() const override { return static_cast<int64_t>(position_); }
  [[nodiscard]] int64_t compressed_size() const override { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::string bytes_;
  std::string name_;
  size_t chunk_size_;
  size_t position_ = 0;
};

}  // namespace headway
