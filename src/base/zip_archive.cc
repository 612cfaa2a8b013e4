// SPDX-License-Identifier: Apache-2.0
#include "base/zip_archive.h"

#include <algorithm>
#include <utility>

#include "base/file_source.h"
#include "base/little_endian.h"
#include "base/random_access_file.h"
#include "base/unpacking_source.h"
#include "base/zip_member_source.h"
#include "base/zstd_source.h"

namespace headway {
namespace {

constexpr int64_t kEndSize = 22;  // end of central directory record, without its comment
constexpr int64_t kMaxComment = 65535;
constexpr int64_t kLocatorSize = 20;  // zip64 end of central directory locator
constexpr int64_t kEnd64Size = 56;    // zip64 end of central directory record
constexpr int64_t kEntrySize = 46;    // one directory entry, without its strings
constexpr int64_t kLocalHeaderSize = 30;
constexpr int64_t kMaxDirectory = int64_t{256} << 20;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kZstd = 93;

uint16_t U16(std::string_view s, size_t at) { return LoadLittleEndian<uint16_t>(s.substr(at)); }
uint32_t U32(std::string_view s, size_t at) { return LoadLittleEndian<uint32_t>(s.substr(at)); }
uint64_t U64(std::string_view s, size_t at) { return LoadLittleEndian<uint64_t>(s.substr(at)); }

std::unexpected<Error> Damaged(std::string what, const std::string& name) {
  return MakeError(ErrorCode::kCorrupt,
                   "the zip archive's directory " + std::move(what) +
                       "; is the archive complete? `zip -FF` may rescue what is in it",
                   name);
}

// Where the directory lies. Offsets inside the archive count from `base`: more than 0 where something was put before
// it.
struct DirectoryPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t base = 0;
};

Result<DirectoryPlace> CheckPlace(uint64_t offset, uint64_t size, uint64_t end, const std::string& name) {
  // Info-ZIP's `zip -` leaves the placeholder without the zip64 record that should replace it.
  if (offset == 0xffffffff && size <= end && end - size < offset) offset = end - size;
  if (size > end || offset > end - size) return Damaged("lies outside the file", name);
  if (size > static_cast<uint64_t>(kMaxDirectory)) {
    return MakeError(ErrorCode::kTooLarge, "the zip archive's directory is larger than 256 MB", name);
  }
  return DirectoryPlace{.offset = end - size, .size = size, .base = end - size - offset};
}

Result<DirectoryPlace> FindDirectory(const RandomAccessFile& file) {
  const int64_t tail_size = std::min(file.size(), kEndSize + kMaxComment);
  const int64_t tail_offset = file.size() - tail_size;
  const auto tail = file.Read(tail_offset, tail_size);
  if (!tail) return std::unexpected(tail.error());
  const std::string_view bytes = *tail;
  size_t at = bytes.rfind("PK\x05\x06");
  // The signature may occur inside the comment: then the comment's length does not fit.
  while (at != std::string_view::npos && bytes.size() - at < static_cast<size_t>(kEndSize)) {
    at = at == 0 ? std::string_view::npos : bytes.rfind("PK\x05\x06", at - 1);
  }
  if (at == std::string_view::npos) return Damaged("is missing", file.name());
  const auto end = static_cast<uint64_t>(tail_offset) + at;
  const std::string_view record = bytes.substr(at, kEndSize);

  const std::string_view before = bytes.substr(0, at);
  if (before.size() >= static_cast<size_t>(kLocatorSize)) {
    const std::string_view locator = before.substr(before.size() - kLocatorSize);
    if (locator.starts_with("PK\x06\x07")) {
      const uint64_t claimed = U64(locator, 8);
      if (claimed > end || end - claimed < static_cast<uint64_t>(kEnd64Size)) {
        return Damaged("lies outside the file", file.name());
      }
      const auto record64 = file.Read(static_cast<int64_t>(claimed), kEnd64Size);
      if (!record64) return std::unexpected(record64.error());
      if (!record64->starts_with("PK\x06\x06")) return Damaged("is damaged (zip64 record)", file.name());
      return CheckPlace(U64(*record64, 48), U64(*record64, 40), claimed, file.name());
    }
  }
  return CheckPlace(U32(record, 16), U32(record, 12), end, file.name());
}

// Replaces the 32-bit placeholders by the values of the zip64 extra field (header id 1).
bool ApplyZip64(std::string_view extra, uint64_t* size, uint64_t* packed, uint64_t* offset) {
  const bool wanted = *size == 0xffffffff || *packed == 0xffffffff || *offset == 0xffffffff;
  while (extra.size() >= 4) {
    const uint16_t id = U16(extra, 0);
    const uint16_t length = U16(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return !wanted;
    if (id == 1) {
      std::string_view field = extra.substr(0, length);
      for (uint64_t* value : {size, packed, offset}) {
        if (*value != 0xffffffff) continue;
        if (field.size() < 8) return false;
        *value = U64(field, 0);
        field.remove_prefix(8);
      }
      return true;
    }
    extra.remove_prefix(length);
  }
  return !wanted;
}

}  // namespace

Result<std::vector<ZipMember>> ListZip(const std::string& path, const std::string& name) {
  const auto file = RandomAccessFile::Open(path, name);
  if (!file) return std::unexpected(file.error());
  const auto place = FindDirectory(*file);
  if (!place) return std::unexpected(place.error());
  const auto directory = file->Read(static_cast<int64_t>(place->offset), static_cast<int64_t>(place->size));
  if (!directory) return std::unexpected(directory.error());

  std::vector<ZipMember> members;
  std::string_view rest = *directory;
  while (rest.size() >= static_cast<size_t>(kEntrySize) && rest.starts_with("PK\x01\x02")) {
    const size_t name_size = U16(rest, 28);
    const size_t extra_size = U16(rest, 30);
    const size_t entry_size = static_cast<size_t>(kEntrySize) + name_size + extra_size + U16(rest, 32);
    if (entry_size > rest.size()) return Damaged("is damaged", name);
    uint64_t packed = U32(rest, 20);
    uint64_t size = U32(rest, 24);
    uint64_t offset = U32(rest, 42);
    const std::string_view member_name = rest.substr(kEntrySize, name_size);
    const bool fits = ApplyZip64(rest.substr(kEntrySize + name_size, extra_size), &size, &packed, &offset);
    offset += place->base;
    const auto file_size = static_cast<uint64_t>(file->size());
    if (!fits || offset > file_size || packed > file_size) return Damaged("is damaged (sizes)", name);
    if (!member_name.ends_with('/')) {
      members.push_back(ZipMember{.name = std::string(member_name),
                                  .method = U16(rest, 10),
                                  .flags = U16(rest, 8),
                                  .crc = U32(rest, 16),
                                  .packed_size = static_cast<int64_t>(packed),
                                  .size = static_cast<int64_t>(std::min<uint64_t>(size, INT64_MAX)),
                                  .header_offset = static_cast<int64_t>(offset)});
    }
    rest.remove_prefix(entry_size);
  }
  if (!rest.empty() && !rest.starts_with("PK\x05\x05")) return Damaged("is damaged", name);
  return members;
}

Result<std::unique_ptr<ByteSource>> OpenZipMember(const std::string& path, std::string name, const ZipMember& member,
                                                  const SourceOptions& options) {
  if ((member.flags & kEncrypted) != 0) {
    return MakeError(ErrorCode::kUnsupported, "this archive member is encrypted; unpack the archive first", name);
  }
  if (member.method != kStored && member.method != kDeflated && member.method != kZstd) {
    return MakeError(ErrorCode::kUnsupported,
                     "this archive member is packed with a method we cannot read (zip method " +
                         std::to_string(member.method) + "); unpack the archive first",
                     name);
  }
  const auto file = RandomAccessFile::Open(path, name);
  if (!file) return std::unexpected(file.error());
  const auto header = file->Read(member.header_offset, kLocalHeaderSize);
  if (!header) return std::unexpected(header.error());
  if (header->size() < static_cast<size_t>(kLocalHeaderSize) || !header->starts_with("PK\x03\x04")) {
    return MakeError(ErrorCode::kCorrupt, "the archive is damaged where this member should begin", name);
  }
  const int64_t start = member.header_offset + kLocalHeaderSize + U16(*header, 26) + U16(*header, 28);
  auto raw = FileSource::OpenRange(path, std::move(name), start, member.packed_size, PackedInputOptions(options));
  if (!raw) return std::unexpected(raw.error());
  if (member.method == kZstd) return std::make_unique<ZstdSource>(std::move(*raw), options);
  return std::make_unique<ZipMemberSource>(std::move(*raw), member.method == kDeflated, member.crc, options);
}

}  // namespace headway
