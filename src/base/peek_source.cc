// SPDX-License-Identifier: Apache-2.0
#include "base/peek_source.h"

#include <algorithm>
#include <utility>

#include "base/gzip_source.h"
#include "base/zstd_source.h"

namespace headway {
namespace {

// Gives back what was read ahead, then goes on with the source.
class PeekedSource final : public ByteSource {
 public:
  PeekedSource(std::unique_ptr<ByteSource> source, size_t count) : source_(std::move(source)) {
    while (ahead().size() < count && !io_error_) {
      auto chunk = source_->Next();
      if (!chunk) {
        io_error_ = std::move(chunk.error());
      } else if (chunk->empty()) {
        break;
      } else if (ahead().empty() && chunk->size() >= count) {
        borrowed_ = *chunk;  // valid until the source is asked again, which is after it was given out: no copy
      } else {
        owned_.append(*chunk);
      }
    }
  }

  [[nodiscard]] std::string_view ahead() const { return borrowed_.empty() ? std::string_view(owned_) : borrowed_; }

  [[nodiscard]] Result<std::string_view> Next() override {
    if (!given_) {
      given_ = true;
      if (!ahead().empty()) return ahead();
    }
    if (io_error_) return std::unexpected(*io_error_);
    if (!owned_.empty()) std::string().swap(owned_);
    return source_->Next();
  }
  [[nodiscard]] const std::string& name() const override { return source_->name(); }
  [[nodiscard]] int64_t compressed_position() const override { return source_->compressed_position(); }
  [[nodiscard]] int64_t compressed_size() const override { return source_->compressed_size(); }
  [[nodiscard]] std::optional<Error> damage() const override { return source_->damage(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string_view borrowed_;
  std::string owned_;
  std::optional<Error> io_error_;
  bool given_ = false;
};

}  // namespace

Peeked PeekFirst(std::unique_ptr<ByteSource> source, size_t count) {
  auto peeked = std::make_unique<PeekedSource>(std::move(source), count);
  return Peeked{.first = std::string(peeked->ahead().substr(0, count)), .source = std::move(peeked)};
}

std::unique_ptr<ByteSource> Unpacked(std::unique_ptr<ByteSource> raw, const SourceOptions& options) {
  Peeked peeked = PeekFirst(std::move(raw), 4);
  if (LooksLikeGzip(peeked.first)) return std::make_unique<GzipSource>(std::move(peeked.source), options);
  if (LooksLikeZstd(peeked.first)) return std::make_unique<ZstdSource>(std::move(peeked.source), options);
  return std::move(peeked.source);
}

}  // namespace headway
