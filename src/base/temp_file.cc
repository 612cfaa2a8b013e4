// SPDX-License-Identifier: Apache-2.0
#include "base/temp_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace headway {
namespace {

std::string Reason(int errno_value) { return std::generic_category().message(errno_value); }

}  // namespace

std::string DefaultTempFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

TempFile::TempFile(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}

Result<TempFile> TempFile::Create(const std::string& folder) {
  std::string where = folder.empty() ? DefaultTempFolder() : folder;
  UniqueFd fd;
#ifdef O_TMPFILE
  fd = UniqueFd(::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
#endif
  if (!fd.valid()) {  // file systems without nameless files
    std::string name = where + "/headway_XXXXXX";
    fd = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (fd.valid()) ::unlink(name.c_str());
  }
  if (!fd.valid()) {
    return MakeError(ErrorCode::kIo, "cannot make a temporary file in " + Printable(where) + " (" + Reason(errno) +
                                         "); set TMPDIR to a folder that can be written to");
  }
  return TempFile(std::move(fd), std::move(where));
}

Result<void> TempFile::Append(const void* bytes, size_t size) {
  const char* from = static_cast<const char*>(bytes);
  size_t left = size;
  while (left > 0) {
    const ssize_t done = ::pwrite(fd_.get(), from, left, size_);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      return MakeError(ErrorCode::kIo, "cannot write temporary data to " + Printable(folder_) + " (" +
                                           Reason(done < 0 ? errno : ENOSPC) + "): " + FormatBytes(size_) +
                                           " were written and more are needed; set TMPDIR to a folder with more room");
    }
    from += done;
    left -= static_cast<size_t>(done);
    size_ += done;
  }
  return {};
}

Result<void> TempFile::Read(int64_t offset, void* bytes, size_t size) const {
  char* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::pread(fd_.get(), to, size, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      return MakeError(ErrorCode::kIo,
                       "cannot read back temporary data from " + Printable(folder_) + " (" +
                           (done < 0 ? Reason(errno) : std::string("the file is shorter than written")) +
                           "); check that disk, or set TMPDIR to another");
    }
    to += done;
    size -= static_cast<size_t>(done);
    offset += done;
  }
  return {};
}

void TempFile::WillRead(int64_t offset, int64_t size) const {
  static_cast<void>(::posix_fadvise(fd_.get(), offset, size, POSIX_FADV_WILLNEED));
}

void TempFile::Forget(int64_t offset, int64_t size) const {
#ifdef FALLOC_FL_PUNCH_HOLE
  static_cast<void>(::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size));
#endif
}

}  // namespace headway
