// SPDX-License-Identifier: Apache-2.0
#include "base/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/file_source.h"
#include "base/system_error.h"
#include "base/text.h"

namespace headway {
namespace {

constexpr int kTries = 100;

std::unexpected<Error> Failed(std::string_view what, int errno_value, const std::string& path) {
  return std::unexpected(SystemError(what, errno_value, Printable(path)));
}

// A new file beside `target`, with the rights that any new file gets.
UniqueFd OpenBeside(const std::string& target, std::string* name) {
  for (int i = 0; i < kTries; ++i) {
    *name = target + ".tmp" + std::to_string(::getpid()) + "_" + std::to_string(i);
    UniqueFd fd(::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.valid() || errno != EEXIST) return fd;
  }
  return UniqueFd();
}

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, size_t max_size) {
  auto source = FileSource::Open(path, Printable(path));
  if (!source) return std::unexpected(source.error());
  std::string content;
  while (true) {
    const auto chunk = (*source)->Next();
    if (!chunk) return std::unexpected(chunk.error());
    if (chunk->empty()) return content;
    if (chunk->size() > max_size - content.size()) {
      return MakeError(ErrorCode::kTooLarge, "this file is larger than " + FormatBytes(static_cast<Bytes>(max_size)),
                       Printable(path));
    }
    content.append(*chunk);
  }
}

AtomicFile::AtomicFile(UniqueFd fd, std::string path, std::string target, std::string temporary)
    : fd_(std::move(fd)), path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return Failed("write it", EISDIR, path);
  if (exists && !S_ISREG(status.st_mode)) {
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return Failed("write it", errno, path);
    return AtomicFile(std::move(fd), path, path, {});
  }
  std::string target = path;
  if (exists) {
    const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    if (resolved != nullptr) target = resolved.get();
  }
  std::string temporary;
  UniqueFd fd = OpenBeside(target, &temporary);
  if (!fd.valid()) return Failed("write it", errno, path);
  if (exists) static_cast<void>(::fchmod(fd.get(), status.st_mode & 07777));
  return AtomicFile(std::move(fd), path, std::move(target), std::move(temporary));
}

Result<void> AtomicFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failed("write it", errno, path_);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return {};
}

Result<void> AtomicFile::Commit() {
  // Some file systems (NFS, quotas) report a full disk only here.
  if (::close(fd_.Release()) != 0) return Failed("write it", errno, path_);
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return Failed("write it", errno, path_);
  temporary_.clear();
  return {};
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view content) {
  auto file = AtomicFile::Create(path);
  if (!file) return std::unexpected(file.error());
  if (auto done = file->Write(content); !done) return done;
  return file->Commit();
}

Result<void> EnsureFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Failed("make this folder", error.value(), path);
  if (!std::filesystem::is_directory(path, error)) return Failed("make this folder", ENOTDIR, path);
  return {};
}

}  // namespace headway
