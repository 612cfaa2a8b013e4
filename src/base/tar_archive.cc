// SPDX-License-Identifier: Apache-2.0
#include "base/tar_archive.h"

#include <algorithm>
#include <utility>

#include "base/file_source.h"
#include "base/range_source.h"
#include "base/tar_header.h"
#include "base/zstd_source.h"

namespace headway {
namespace {

constexpr int64_t kMaxNameRecord = int64_t{1} << 20;  // pax records and long names are held in memory
constexpr size_t kMaxMembers = 1'000'000;
constexpr size_t kMaxCheckpoints = 64;
constexpr int64_t kFirstSpacing = int64_t{4} << 20;

int64_t Padded(int64_t size) { return (size + static_cast<int64_t>(kTarBlock) - 1) & ~int64_t{kTarBlock - 1}; }

}  // namespace

// Walks over the headers of one archive. Reads a plain archive's headers only and passes over the data between.
class TarArchive::Scanner {
 public:
  Scanner(TarArchive* archive, std::string name) : archive_(archive), name_(std::move(name)) {}

  Result<void> Run(const SourceOptions& options) {
    auto raw = FileSource::Open(archive_->path_, name_, PackedInputOptions(options));
    if (!raw) return std::unexpected(raw.error());
    if (archive_->packing_ == Packing::kGzip) {
      auto gzip = std::make_unique<GzipSource>(std::move(*raw));
      gzip_ = gzip.get();
      source_ = std::move(gzip);
    } else if (archive_->packing_ == Packing::kZstd) {
      source_ = std::make_unique<ZstdSource>(std::move(*raw));
    } else {
      file_ = raw->get();
      source_ = std::move(*raw);
    }
    while (ReadMember()) {
    }
    if (io_error_) return std::unexpected(*io_error_);
    if (const auto damage = source_->damage(); damage && !archive_->damage_) archive_->damage_ = damage;
    return {};
  }

 private:
  // False at the end of the archive or at damage.
  bool ReadMember() {
    const std::string block = Take(kTarBlock);
    if (block.size() < kTarBlock) {
      // Well-made archives end in two blocks of zeroes; many programs forgive their absence, and so do we.
      return block.empty() ? false : Damage("the tar archive is cut off inside a header");
    }
    if (block.find_first_not_of('\0') == std::string::npos) return false;
    auto header = ParseTarHeader(block);
    if (!header) return Damage("the tar archive is damaged: a member's header is not one");
    if (header->type == 'L' || header->type == 'x' || header->type == 'g' || header->type == 'K') {
      return ReadNameRecord(*header);
    }
    AddMember(std::move(*header));
    return true;
  }

  bool ReadNameRecord(const TarHeader& header) {
    if (header.size > kMaxNameRecord) return Damage("the tar archive is damaged: a name of more than 1 MB");
    std::string record = Take(Padded(header.size));
    if (static_cast<int64_t>(record.size()) < header.size) return Damage("the tar archive is cut off inside a header");
    record.resize(static_cast<size_t>(header.size));
    if (header.type == 'L') {
      long_name_ = record.substr(0, record.find('\0'));
    } else if (header.type == 'x') {
      pax_ = ParsePax(record);
    }
    return true;  // global records and long link names hold nothing we use
  }

  void AddMember(TarHeader header) {
    if (long_name_) header.name = std::move(*long_name_);
    if (pax_.path) header.name = std::move(*pax_.path);
    if (pax_.size && header.type == '0') header.size = *pax_.size;
    const bool sparse = pax_.sparse || header.type == 'S';
    long_name_.reset();
    pax_ = {};
    archive_->sparse_members_ += sparse ? 1 : 0;
    if (header.type == '0' && !sparse && archive_->members_.size() < kMaxMembers) {
      archive_->members_.push_back(TarMember{.name = header.name, .offset = offset_, .size = header.size});
    }
    if (Skip(Padded(header.size)) < header.size) Damage("the tar archive is cut off inside its last member");
  }

  bool Damage(std::string message) {
    if (!archive_->damage_) archive_->damage_ = Error{ErrorCode::kCorrupt, std::move(message), name_};
    return false;
  }

  bool Refill() {
    if (!rest_.empty()) return true;
    if (io_error_) return false;
    if (gzip_ != nullptr) SaveCheckpoint();
    auto chunk = source_->Next();
    if (!chunk) {
      io_error_ = std::move(chunk.error());
      return false;
    }
    rest_ = *chunk;
    return !rest_.empty();
  }

  void SaveCheckpoint() {
    auto& kept = archive_->checkpoints_;
    if (offset_ < (kept.empty() ? spacing_ : kept.back()->unpacked_offset + spacing_)) return;
    if (auto checkpoint = gzip_->Save()) kept.push_back(std::move(checkpoint));
    if (kept.size() < kMaxCheckpoints) return;
    for (size_t i = 0; 2 * i + 1 < kept.size(); ++i) kept[i] = std::move(kept[2 * i + 1]);
    kept.resize(kept.size() / 2);
    spacing_ *= 2;
  }

  // Up to `count` bytes; fewer at the end.
  std::string Take(int64_t count) {
    std::string bytes;
    while (static_cast<int64_t>(bytes.size()) < count && Refill()) {
      const size_t part = std::min(rest_.size(), static_cast<size_t>(count) - bytes.size());
      bytes.append(rest_.substr(0, part));
      Consume(part);
    }
    return bytes;
  }

  int64_t Skip(int64_t count) {
    int64_t left = count;
    while (left > 0) {
      if (rest_.empty() && file_ != nullptr) {
        const int64_t skipped = file_->SkipAhead(left);
        offset_ += skipped;
        left -= skipped;
        break;
      }
      if (!Refill()) break;
      const auto part = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(rest_.size())));
      Consume(part);
      left -= static_cast<int64_t>(part);
    }
    return count - left;
  }

  void Consume(size_t count) {
    rest_.remove_prefix(count);
    offset_ += static_cast<int64_t>(count);
  }

  TarArchive* archive_;
  std::string name_;
  std::unique_ptr<ByteSource> source_;
  FileSource* file_ = nullptr;  // set for a plain archive
  GzipSource* gzip_ = nullptr;  // set for a gzip archive
  std::string_view rest_;       // of the current chunk
  int64_t offset_ = 0;          // in the unpacked archive
  int64_t spacing_ = kFirstSpacing;
  std::optional<std::string> long_name_;
  PaxRecords pax_;
  std::optional<Error> io_error_;
};

Result<std::shared_ptr<const TarArchive>> TarArchive::List(const std::string& path, const std::string& name,
                                                           Packing packing, const SourceOptions& options) {
  auto archive = std::make_shared<TarArchive>();
  archive->path_ = path;
  archive->packing_ = packing;
  if (auto done = Scanner(archive.get(), name).Run(options); !done) return std::unexpected(done.error());
  return archive;
}

Result<std::unique_ptr<ByteSource>> TarArchive::Open(const TarMember& member, std::string name,
                                                     const SourceOptions& options) const {
  if (packing_ == Packing::kNone)
    return FileSource::OpenRange(path_, std::move(name), member.offset, member.size, options);

  // The last checkpoint at or before the member.
  auto after = std::upper_bound(checkpoints_.begin(), checkpoints_.end(), member.offset,
                                [](int64_t offset, const auto& point) { return offset < point->unpacked_offset; });
  const GzipSource::Checkpoint* checkpoint = after == checkpoints_.begin() ? nullptr : std::prev(after)->get();
  const int64_t packed_offset = checkpoint == nullptr ? 0 : checkpoint->packed_offset;
  auto raw = FileSource::Open(path_, name, PackedInputOptions(options));
  if (!raw) return std::unexpected(raw.error());
  if (static_cast<int64_t>(packed_offset) != (*raw)->SkipAhead(packed_offset)) {
    return MakeError(ErrorCode::kIo, "the archive became shorter while it was being read", std::move(name));
  }
  std::unique_ptr<ByteSource> unpacked;
  if (packing_ == Packing::kZstd) {
    unpacked = std::make_unique<ZstdSource>(std::move(*raw), options);
  } else if (checkpoint != nullptr) {
    unpacked = std::make_unique<GzipSource>(std::move(*raw), *checkpoint, options);
  } else {
    unpacked = std::make_unique<GzipSource>(std::move(*raw), options);
  }
  const int64_t skip = member.offset - (checkpoint == nullptr ? 0 : checkpoint->unpacked_offset);
  return std::make_unique<RangeSource>(std::move(unpacked), std::move(name), skip, member.size);
}

}  // namespace headway
