// SPDX-License-Identifier: Apache-2.0
#include "base/input_set.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/file_source.h"
#include "base/folder_walk.h"
#include "base/parallel.h"
#include "base/peek_source.h"
#include "base/system_error.h"
#include "base/tar_archive.h"
#include "base/tar_header.h"
#include "base/text.h"
#include "base/zip_archive.h"
#include "base/zstd_source.h"

namespace headway {
namespace {

// A name that a search passes over: some part of it begins with a dot, or macOS put it there.
bool IsHidden(std::string_view member) {
  while (!member.empty()) {
    const size_t slash = member.find('/');
    const std::string_view part = member.substr(0, slash);
    if (part == "__MACOSX" || (part.starts_with('.') && part != "." && part != "..")) return true;
    member.remove_prefix(slash == std::string_view::npos ? member.size() : slash + 1);
  }
  return false;
}

std::string MemberName(const std::string& archive, std::string_view member) {
  while (member.starts_with("./")) member.remove_prefix(2);
  return Printable(archive + ":" + std::string(member));
}

InputItem FileItem(const std::string& path, int64_t size) {
  InputItem item{.display_name = Printable(path), .kind = InputKind::kFile, .path = path, .size = size};
  item.open = [path, name = item.display_name](const SourceOptions& options) -> Result<std::unique_ptr<ByteSource>> {
    auto raw = FileSource::Open(path, name, options);
    if (!raw) return std::unexpected(raw.error());
    return Unpacked(std::move(*raw), options);
  };
  return item;
}

// A stream can be read once only: archives, which need a first look, cannot be.
Result<std::unique_ptr<ByteSource>> OpenStream(std::unique_ptr<ByteSource> raw, const SourceOptions& options) {
  Peeked outside = PeekFirst(std::move(raw), 4);
  const bool is_zip = LooksLikeZip(outside.first);
  Peeked inside = PeekFirst(Unpacked(std::move(outside.source), options), kTarBlock);
  if (is_zip || LooksLikeTar(inside.first)) {
    return MakeError(ErrorCode::kUnsupported, "an archive cannot be read from a pipe; give the archive file itself",
                     inside.source->name());
  }
  return std::move(inside.source);
}

InputItem PipeItem(const std::string& path) {
  InputItem item{.display_name = Printable(path), .kind = InputKind::kPipe, .path = path};
  item.open = [path, name = item.display_name](const SourceOptions& options) -> Result<std::unique_ptr<ByteSource>> {
    auto raw = FileSource::Open(path, name, options);
    if (!raw) return std::unexpected(raw.error());
    return OpenStream(std::move(*raw), options);
  };
  return item;
}

InputItem StandardInputItem() {
  InputItem item{.display_name = "standard input", .kind = InputKind::kStandardInput};
  item.open = [](const SourceOptions& options) { return OpenStream(FileSource::StandardInput(options), options); };
  return item;
}

void AddZip(const std::string& path, InputSet* set) {
  const auto members = ListZip(path, Printable(path));
  if (!members) {
    set->problems.push_back(members.error());
    return;
  }
  if (members->empty()) set->problems.push_back(Error{ErrorCode::kNotFound, "this archive is empty", Printable(path)});
  for (const ZipMember& member : *members) {
    if (IsHidden(member.name)) continue;
    InputItem item{.display_name = MemberName(path, member.name),
                   .kind = InputKind::kZipMember,
                   .path = path,
                   .member = member.name,
                   .size = member.packed_size};
    item.open = [path, member,
                 name = item.display_name](const SourceOptions& options) -> Result<std::unique_ptr<ByteSource>> {
      auto raw = OpenZipMember(path, name, member, options);
      if (!raw) return raw;
      return Unpacked(std::move(*raw), options);
    };
    set->items.push_back(std::move(item));
  }
}

void AddTar(const std::string& path, TarArchive::Packing packing, InputSet* set) {
  const auto archive = TarArchive::List(path, Printable(path), packing);
  if (!archive) {
    set->problems.push_back(archive.error());
    return;
  }
  if ((*archive)->damage()) {
    set->problems.push_back(*(*archive)->damage());
  } else if ((*archive)->members().empty()) {
    set->problems.push_back(Error{ErrorCode::kNotFound, "this archive holds no files", Printable(path)});
  }
  if (const int64_t sparse = (*archive)->sparse_members(); sparse > 0) {
    set->problems.push_back(Error{ErrorCode::kUnsupported,
                                  Counted(sparse, "sparse file") + " in this archive cannot be read; unpack it first",
                                  Printable(path)});
  }
  for (const TarMember& member : (*archive)->members()) {
    if (IsHidden(member.name)) continue;
    InputItem item{.display_name = MemberName(path, member.name),
                   .kind = InputKind::kTarMember,
                   .path = path,
                   .member = member.name,
                   .size = member.size};
    item.open = [archive = *archive, member,
                 name = item.display_name](const SourceOptions& options) -> Result<std::unique_ptr<ByteSource>> {
      auto raw = archive->Open(member, name, options);
      if (!raw) return raw;
      return Unpacked(std::move(*raw), options);
    };
    set->items.push_back(std::move(item));
  }
}

// A regular file: one item, or the members of an archive.
InputSet LookInto(const std::string& path, int64_t size) {
  InputSet set;
  auto raw = FileSource::Open(path, Printable(path), SourceOptions{.chunk_size = 4096});
  if (!raw) {
    set.problems.push_back(raw.error());
    return set;
  }
  Peeked outside = PeekFirst(std::move(*raw), kTarBlock);
  if (LooksLikeZip(outside.first)) {
    AddZip(path, &set);
    return set;
  }
  const TarArchive::Packing packing = LooksLikeGzip(outside.first)   ? TarArchive::Packing::kGzip
                                      : LooksLikeZstd(outside.first) ? TarArchive::Packing::kZstd
                                                                     : TarArchive::Packing::kNone;
  const std::string first = packing == TarArchive::Packing::kNone
                                ? std::move(outside.first)
                                : PeekFirst(Unpacked(std::move(outside.source)), kTarBlock).first;
  if (LooksLikeTar(first)) {
    AddTar(path, packing, &set);
  } else {
    set.items.push_back(FileItem(path, size));
  }
  return set;
}

// What the user's paths lead to, before any file is opened.
struct Found {
  std::vector<FoundFile> files;
  InputSet set;
};

void AddPath(const std::string& given, Found* found) {
  if (given == "-") {
    found->set.items.push_back(StandardInputItem());
    return;
  }
  std::string path = given;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    found->set.problems.push_back(errno == ENOENT
                                      ? Error{ErrorCode::kNotFound, "there is no such file or folder", Printable(path)}
                                      : SystemError("look at it", errno, Printable(path)));
  } else if (S_ISREG(status.st_mode)) {
    found->files.push_back(FoundFile{.path = path, .size = status.st_size});
  } else if (S_ISDIR(status.st_mode)) {
    const size_t before = found->files.size() + found->set.problems.size();
    WalkFolder(path, &found->files, &found->set.problems);
    if (found->files.size() + found->set.problems.size() == before) {
      found->set.problems.push_back(Error{ErrorCode::kNotFound, "there are no files in this folder", Printable(path)});
    }
  } else if (S_ISFIFO(status.st_mode)) {
    found->set.items.push_back(PipeItem(path));
  } else {
    const char* what = S_ISSOCK(status.st_mode) ? "this is a socket, not a file" : "this is a device, not a file";
    found->set.problems.push_back(Error{ErrorCode::kNotFound, what, Printable(path)});
  }
}

// By name. Of equals the last stays: that is the one unpacking an archive would leave.
void SortItems(std::vector<InputItem>* items) {
  const auto key = [&](size_t i) {
    const InputItem& item = (*items)[i];
    return std::tie(item.display_name, item.path, item.member);
  };
  std::vector<size_t> order(items->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  std::vector<InputItem> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool replaced = i + 1 < order.size() && key(order[i]) == key(order[i + 1]);
    if (!replaced) sorted.push_back(std::move((*items)[order[i]]));
  }
  *items = std::move(sorted);
}

template <typename T>
void MoveAppend(std::vector<T>* to, std::vector<T>* from) {
  to->insert(to->end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
}

}  // namespace

InputSet ListInputs(std::span<const std::string> paths, int threads) {
  Found found;
  for (const std::string& path : paths) AddPath(path, &found);

  // A file reached twice (given itself and found in a folder) is read once.
  const auto by_path = [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; };
  const auto same_path = [](const FoundFile& a, const FoundFile& b) { return a.path == b.path; };
  std::sort(found.files.begin(), found.files.end(), by_path);
  found.files.erase(std::unique(found.files.begin(), found.files.end(), same_path), found.files.end());

  InputSet set = std::move(found.set);
  std::vector<InputSet> parts = ParallelMap(
      found.files.size(), threads, [&](size_t i) { return LookInto(found.files[i].path, found.files[i].size); });
  for (InputSet& part : parts) {
    MoveAppend(&set.items, &part.items);
    MoveAppend(&set.problems, &part.problems);
  }
  SortItems(&set.items);
  const auto by_place = [](const Error& a, const Error& b) {
    return a.where != b.where ? a.where < b.where : a.message < b.message;
  };
  const auto same_problem = [](const Error& a, const Error& b) { return a.where == b.where && a.message == b.message; };
  std::sort(set.problems.begin(), set.problems.end(), by_place);
  set.problems.erase(std::unique(set.problems.begin(), set.problems.end(), same_problem), set.problems.end());
  return set;
}

}  // namespace headway
