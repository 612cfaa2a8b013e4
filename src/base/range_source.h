// SPDX-License-Identifier: Apache-2.0
// A part of what another source gives: a member of a packed archive.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/byte_source.h"

namespace headway {

class RangeSource final : public ByteSource {
 public:
  // Passes over `skip` bytes of `source`, then gives `size`. Fewer there = damage().
  RangeSource(std::unique_ptr<ByteSource> source, std::string name, int64_t skip, int64_t size)
      : source_(std::move(source)), name_(std::move(name)), skip_(skip), size_(size) {}

  [[nodiscard]] Result<std::string_view> Next() override {
    while (position_ < size_) {
      auto chunk = source_->Next();
      if (!chunk) return chunk;
      if (chunk->empty()) {
        short_ = true;
        return chunk;
      }
      const auto passed = static_cast<size_t>(std::min<int64_t>(skip_, static_cast<int64_t>(chunk->size())));
      skip_ -= static_cast<int64_t>(passed);
      const std::string_view part = chunk->substr(passed).substr(0, static_cast<size_t>(size_ - position_));
      position_ += static_cast<int64_t>(part.size());
      if (!part.empty()) return part;
    }
    return std::string_view();
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] int64_t compressed_position() const override { return position_; }
  [[nodiscard]] int64_t compressed_size() const override { return size_; }
  [[nodiscard]] std::optional<Error> damage() const override {
    if (!short_) return std::nullopt;
    return Error{ErrorCode::kCorrupt, "the archive is cut off or corrupt inside this member", name_};
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  int64_t skip_;
  int64_t size_;
  int64_t position_ = 0;
  bool short_ = false;
};

}  // namespace headway
