// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_reader.h"

#include <algorithm>
#include <utility>

#include "base/random_access_file.h"

namespace headway::pattern {
namespace {

constexpr int64_t kMaxFile = int64_t{4} << 30;  // 100,000 ranks

std::string Speaking(const hwp::Section& section) {
  if (section.tag == hwp::kTableTag) return "a function table";
  return section.tag == hwp::kRankTag ? "the section of rank " + std::to_string(section.rank) : "an optional section";
}

Error Damaged(const hwp::Section& section, std::string place) {
  return {ErrorCode::kCorrupt, Speaking(section) + " is damaged (its checksum does not match)", std::move(place)};
}

}  // namespace

Result<HwpFile> HwpFile::Open(std::string_view bytes, std::string_view name) {
  Result<hwp::Directory> directory = hwp::ReadDirectory(bytes, name);
  if (!directory) return std::unexpected(std::move(directory.error()));
  HwpFile file;
  file.directory_ = std::move(*directory);
  file.bytes_ = bytes;
  file.name_ = name;
  for (const hwp::Section& section : file.directory_.sections) {
    if (auto unknown = hwp::UnknownSection(section, name)) return std::unexpected(std::move(*unknown));
    if (section.tag == hwp::kTableTag) {
      file.tables_.push_back(&section);
    } else if (section.tag == hwp::kRankTag) {
      file.ranks_.push_back(&section);
    } else if (!section.Intact()) {
      file.directory_.problems.push_back(Damaged(section, file.Place(section)));
    }
  }
  std::sort(file.tables_.begin(), file.tables_.end(), [](const auto* a, const auto* b) {
    return a->checksum != b->checksum ? a->checksum < b->checksum : a < b;
  });
  return file;
}

const hwp::Section* HwpFile::Table(uint64_t checksum) const {
  const auto it = std::lower_bound(tables_.begin(), tables_.end(), checksum,
                                   [](const hwp::Section* s, uint64_t c) { return s->checksum < c; });
  return it == tables_.end() || (*it)->checksum != checksum ? nullptr : *it;
}

std::string HwpFile::Place(const hwp::Section& section) const {
  return hwp::Place(name_, static_cast<uint64_t>(section.bytes.data() - bytes_.data()));
}

Result<std::shared_ptr<const FunctionTable>> HwpReader::Table(const HwpFile& file, uint64_t checksum) {
  const hwp::Section* section = file.Table(checksum);
  if (section == nullptr) return MakeError(ErrorCode::kCorrupt, "the function table of a rank is not in the file");
  if (auto known = cache_->Find(checksum, section->bytes)) return known;
  if (!section->Intact()) return std::unexpected(Damaged(*section, file.Place(*section)));
  hwp::DecodeBudget budget(hwp::DecodeBudget::Allowed(section->bytes.size()));
  Result<FunctionTable> table = decoder_.Table(section->bytes, &budget);
  if (!table) {
    table.error().where = file.Place(*section);
    return std::unexpected(std::move(table.error()));
  }
  return cache_->Add(checksum, section->bytes, std::move(*table));
}

Result<RankPattern> HwpReader::Rank(const HwpFile& file, size_t index, Parts parts) {
  const hwp::Section& section = *file.ranks_[index];
  if (!section.Intact()) return std::unexpected(Damaged(section, file.Place(section)));
  const auto placed = [&](Error error) {
    if (error.where.empty()) error.where = file.Place(section);
    return std::unexpected(std::move(error));
  };
  const Result<uint64_t> reference = hwp::SectionDecoder::TableOf(section.bytes);
  if (!reference) return placed(reference.error());
  auto table = Table(file, *reference);
  if (!table) return placed(table.error());
  hwp::DecodeBudget budget(hwp::DecodeBudget::Allowed(section.bytes.size()));
  Result<RankPattern> pattern = decoder_.Rank(section.bytes, std::move(*table), parts, &budget);
  if (!pattern) return placed(pattern.error());
  if (pattern->meta.rank != section.rank) {
    return placed({ErrorCode::kCorrupt, "a section holds another rank than the directory says", {}});
  }
  return pattern;
}

Result<HwpContents> HwpReader::Read(std::string_view bytes, std::string_view name, Parts parts) {
  const Result<HwpFile> file = HwpFile::Open(bytes, name);
  if (!file) return std::unexpected(file.error());
  HwpContents contents;
  contents.problems = file->problems();
  for (size_t i = 0; i < file->rank_count(); ++i) {
    Result<RankPattern> rank = Rank(*file, i, parts);
    if (rank) {
      contents.ranks.push_back(std::move(*rank));
    } else if (contents.problems.empty() || contents.problems.back().where != rank.error().where) {
      contents.problems.push_back(std::move(rank.error()));  // not again for a table that several ranks share
    }
  }
  if (contents.ranks.empty() && !contents.problems.empty())
    return std::unexpected(std::move(contents.problems.front()));
  return contents;
}

Result<HwpContents> HwpReader::ReadFile(const std::string& path, std::string_view name, Parts parts) {
  const Result<RandomAccessFile> file = RandomAccessFile::Open(path, std::string(name));
  if (!file) return std::unexpected(file.error());
  if (file->size() > kMaxFile) {
    return MakeError(ErrorCode::kTooLarge, "a .hwp file is read whole, and this one is larger than 4 GB",
                     std::string(name));
  }
  const Result<std::string> bytes = file->Read(0, file->size());
  if (!bytes) return std::unexpected(bytes.error());
  return Read(*bytes, name, parts);
}

Result<HwpContents> ReadHwp(std::string_view bytes, std::string_view name) {
  FunctionTableCache cache;
  return HwpReader(&cache).Read(bytes, name);
}

Result<HwpContents> ReadHwpFile(const std::string& path) {
  FunctionTableCache cache;
  return HwpReader(&cache).ReadFile(path, path);
}

}  // namespace headway::pattern
