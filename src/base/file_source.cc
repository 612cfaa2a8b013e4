// SPDX-License-Identifier: Apache-2.0
#include "base/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/pipe_wait.h"
#include "base/system_error.h"

namespace headway {

FileSource::FileSource(UniqueFd fd, std::string name, const SourceOptions& options)
    : fd_(std::move(fd)), name_(std::move(name)), chunk_size_(std::max<size_t>(options.chunk_size, 1)) {}

FileSource::~FileSource() {
  if (fd_.get() == STDIN_FILENO) static_cast<void>(fd_.Release());
}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path, std::string name,
                                                     const SourceOptions& options) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe without a writer must not block
  if (!fd.valid()) return std::unexpected(SystemError("open it", errno, std::move(name)));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return std::unexpected(SystemError("look at it", errno, std::move(name)));
  if (S_ISDIR(status.st_mode)) return MakeError(ErrorCode::kInvalidArgument, "this is a folder, not a file", name);
  std::string ahead;
  if (S_ISFIFO(status.st_mode) && !WaitForWriter(fd.get(), options.pipe_patience, &ahead)) {
    return MakeError(ErrorCode::kNotFound, "nobody writes to this pipe; start what writes to it together with headway",
                     name);
  }
  if (!S_ISREG(status.st_mode) && ::fcntl(fd.get(), F_SETFL, O_RDONLY) < 0) {  // from here on reading may wait
    return std::unexpected(SystemError("read it", errno, std::move(name)));
  }
  std::unique_ptr<FileSource> source(new FileSource(std::move(fd), std::move(name), options));
  source->ahead_ = std::move(ahead);
  if (S_ISREG(status.st_mode)) {
    source->size_ = status.st_size;
    // A small file needs no large buffer. (Files that the kernel makes up say they are empty.)
    constexpr int64_t kPage = 4096;
    if (status.st_size > 0) {
      const auto enough = static_cast<size_t>(std::max<int64_t>(status.st_size + 1, kPage));
      source->chunk_size_ = std::min(source->chunk_size_, enough);
    }
    static_cast<void>(::posix_fadvise(source->fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
  }
  return source;
}

Result<std::unique_ptr<FileSource>> FileSource::OpenRange(const std::string& path, std::string name, int64_t offset,
                                                          int64_t size, const SourceOptions& options) {
  HEADWAY_CHECK(offset >= 0 && size >= 0);
  auto source = Open(path, std::move(name), options);
  if (!source) return source;
  if (::lseek((*source)->fd_.get(), offset, SEEK_SET) < 0) {
    return std::unexpected(SystemError("move inside it", errno, (*source)->name_));
  }
  (*source)->size_ = size;
  (*source)->is_range_ = true;
  return source;
}

std::unique_ptr<FileSource> FileSource::StandardInput(const SourceOptions& options) {
  return std::unique_ptr<FileSource>(new FileSource(UniqueFd(STDIN_FILENO), "standard input", options));
}

Result<std::string_view> FileSource::Next() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(chunk_size_);
  size_t wanted = chunk_size_;
  if (is_range_) wanted = static_cast<size_t>(std::min<int64_t>(size_ - position_, static_cast<int64_t>(wanted)));
  if (wanted == 0) return std::string_view();
  if (!ahead_.empty()) {
    const size_t count = ahead_.copy(buffer_.get(), wanted);
    ahead_.erase(0, count);
    position_ += static_cast<int64_t>(count);
    return std::string_view(buffer_.get(), count);
  }
  ssize_t got = 0;
  do {
    got = ::read(fd_.get(), buffer_.get(), wanted);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return std::unexpected(SystemError("read it", errno, name_));
  if (got == 0 && is_range_ && !damage_) {
    damage_ = Error{ErrorCode::kCorrupt, "the archive is cut off inside this member", name_};
  }
  position_ += got;
  return std::string_view(buffer_.get(), static_cast<size_t>(got));
}

int64_t FileSource::SkipAhead(int64_t count) {
  struct stat status{};
  const int64_t here = ::lseek(fd_.get(), 0, SEEK_CUR);
  if (here < 0 || ::fstat(fd_.get(), &status) != 0) return 0;
  const int64_t skipped = std::clamp<int64_t>(status.st_size - here, 0, count);
  if (::lseek(fd_.get(), skipped, SEEK_CUR) < 0) return 0;
  position_ += skipped;
  return skipped;
}

}  // namespace headway
