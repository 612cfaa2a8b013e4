// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_format.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "base/checksum.h"
#include "base/little_endian.h"

namespace headway::pattern {
namespace {

// As of a PNG file: a byte that is no text, and the line ends that a transfer as text would change.
constexpr std::string_view kMagic = "\x89HWP\r\n\x1a\n";

}  // namespace

bool IsHwp(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

namespace hwp {
namespace {

constexpr size_t kHeaderSize = 24;  // magic, version, flags, section count, 0
constexpr size_t kEntrySize = 24;   // tag, rank, length, checksum
constexpr size_t kChecksumSize = 8;

std::unexpected<Error> Refused(ErrorCode code, std::string what, std::string_view name) {
  return MakeError(code, std::move(what), std::string(name));
}

Result<uint32_t> SectionCount(std::string_view bytes, std::string_view name) {
  if (!IsHwp(bytes)) return Refused(ErrorCode::kCorrupt, "this is not a .hwp file", name);
  if (bytes.size() < kHeaderSize) return Refused(ErrorCode::kCorrupt, "the file is cut off within its header", name);
  const auto version = LoadLittleEndian<uint32_t>(bytes.substr(8));
  if (version > kVersion) {
    return Refused(ErrorCode::kUnsupported,
                   "written by a newer headway (format version " + std::to_string(version) +
                       ", this program reads up to " + std::to_string(kVersion) + "): update headway",
                   name);
  }
  if (version > 0 && version < kVersion) {
    return Refused(ErrorCode::kUnsupported,
                   "written by an older headway (format version " + std::to_string(version) +
                       ", this program reads version " + std::to_string(kVersion) + "): make it again from the trace",
                   name);
  }
  const auto flags = LoadLittleEndian<uint32_t>(bytes.substr(12));
  const auto reserved = LoadLittleEndian<uint32_t>(bytes.substr(20));
  if (version == 0 || flags != 0 || reserved != 0) return Refused(ErrorCode::kCorrupt, "the header is damaged", name);
  return LoadLittleEndian<uint32_t>(bytes.substr(16));
}

void AppendEntry(const Section& section, std::string* out) {
  out->append(section.tag.data(), section.tag.size());
  AppendLittleEndian(out, static_cast<uint32_t>(section.rank));
  AppendLittleEndian(out, static_cast<uint64_t>(section.bytes.size()));
  AppendLittleEndian(out, section.checksum);
}

bool SameBytes(const Section& a, const Section& b) {
  return a.tag == b.tag && a.rank == b.rank && a.checksum == b.checksum && a.bytes == b.bytes;
}

}  // namespace

bool Section::Intact() const { return XxHash64(bytes) == checksum; }

std::string Place(std::string_view name, uint64_t offset) {
  return std::string(name) + ", byte " + std::to_string(offset);
}

std::optional<Error> UnknownSection(const Section& section, std::string_view name) {
  if (section.tag == kTableTag || section.tag == kRankTag || IsOptional(section.tag)) return std::nullopt;
  std::string tag;
  for (const char c : section.tag) tag += c >= ' ' && c <= '~' ? c : '?';
  return Error{
      ErrorCode::kUnsupported,
      "written by a newer headway (it needs section \"" + tag + "\", which this program does not know): update headway",
      std::string(name)};
}

Section MakeSection(const Tag& tag, RankId rank, std::string_view bytes) { return {tag, rank, XxHash64(bytes), bytes}; }

Result<Directory> ReadDirectory(std::string_view bytes, std::string_view name) {
  const Result<uint32_t> count = SectionCount(bytes, name);
  if (!count) return std::unexpected(count.error());
  const uint64_t end = kHeaderSize + uint64_t{*count} * kEntrySize;
  if (bytes.size() < end + kChecksumSize) {
    return Refused(ErrorCode::kCorrupt, "the file is cut off within its directory, or its header is damaged", name);
  }
  if (LoadLittleEndian<uint64_t>(bytes.substr(end)) != XxHash64(bytes.substr(0, end))) {
    return Refused(ErrorCode::kCorrupt, "the directory is damaged (its checksum does not match)", name);
  }
  Directory directory;
  directory.sections.reserve(*count);
  std::string_view rest = bytes.substr(end + kChecksumSize);
  uint64_t ranks = 0;
  bool cut = false;
  for (uint32_t i = 0; i < *count; ++i) {
    const std::string_view entry = bytes.substr(kHeaderSize + size_t{i} * kEntrySize, kEntrySize);
    Section section;
    std::copy_n(entry.begin(), section.tag.size(), section.tag.begin());
    section.rank = static_cast<RankId>(LoadLittleEndian<uint32_t>(entry.substr(4)));
    const auto length = LoadLittleEndian<uint64_t>(entry.substr(8));
    section.checksum = LoadLittleEndian<uint64_t>(entry.substr(16));
    const bool is_rank = section.tag == kRankTag;
    ranks += is_rank ? 1 : 0;
    cut = cut || length > rest.size();
    if (cut) {
      directory.missing_ranks += is_rank ? 1 : 0;
      continue;
    }
    section.bytes = rest.substr(0, length);
    rest.remove_prefix(length);
    directory.sections.push_back(section);
  }
  if (cut) {
    directory.problems.push_back({ErrorCode::kCorrupt,
                                  "the file is cut off: " + std::to_string(ranks - directory.missing_ranks) + " of " +
                                      std::to_string(ranks) + " ranks are whole",
                                  Place(name, bytes.size())});
  } else if (!rest.empty()) {
    directory.problems.push_back({ErrorCode::kCorrupt,
                                  std::to_string(rest.size()) + " bytes follow the last section and were left out",
                                  Place(name, bytes.size() - rest.size())});
  }
  return directory;
}

Result<std::string> AssembleFile(std::vector<Section> sections) {
  std::sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) {
    return std::tie(a.tag, a.rank, a.checksum, a.bytes) < std::tie(b.tag, b.rank, b.checksum, b.bytes);
  });
  sections.erase(std::unique(sections.begin(), sections.end(), SameBytes), sections.end());
  uint64_t payload = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    payload += sections[i].bytes.size();
    if (i > 0 && sections[i].tag == kTableTag && sections[i - 1].tag == kTableTag &&
        sections[i].checksum == sections[i - 1].checksum) {
      return MakeError(ErrorCode::kCorrupt, "two function tables that differ have the same checksum");
    }
  }
  std::string file;
  file.reserve(kHeaderSize + kChecksumSize + sections.size() * kEntrySize + payload);
  file += kMagic;
  AppendLittleEndian(&file, kVersion);
  AppendLittleEndian(&file, uint32_t{0});
  AppendLittleEndian(&file, static_cast<uint32_t>(sections.size()));
  AppendLittleEndian(&file, uint32_t{0});
  for (const Section& section : sections) AppendEntry(section, &file);
  AppendLittleEndian(&file, XxHash64(file));
  for (const Section& section : sections) file += section.bytes;
  return file;
}

}  // namespace hwp
}  // namespace headway::pattern
