// SPDX-License-Identifier: Apache-2.0
#include "base/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system_error.h"

namespace headway {

RandomAccessFile::RandomAccessFile(UniqueFd fd, int64_t size, std::string name)
    : fd_(std::move(fd)), size_(size), name_(std::move(name)) {}

Result<RandomAccessFile> RandomAccessFile::Open(const std::string& path, std::string name) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::unexpected(SystemError("open it", errno, std::move(name)));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return std::unexpected(SystemError("look at it", errno, std::move(name)));
  if (!S_ISREG(status.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument, "this is not a regular file", std::move(name));
  }
  return RandomAccessFile(std::move(fd), status.st_size, std::move(name));
}

Result<std::string> RandomAccessFile::Read(int64_t offset, int64_t count) const {
  // Bounded by the file itself, so that a size claimed inside an archive cannot make us allocate it.
  if (offset < 0 || count <= 0 || offset >= size_) return std::string();
  std::string bytes(static_cast<size_t>(std::min(count, size_ - offset)), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd_.get(), bytes.data() + done, bytes.size() - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(SystemError("read it", errno, name_));
    if (got == 0) break;  // shrunk meanwhile
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace headway
