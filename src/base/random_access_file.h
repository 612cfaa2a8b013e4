// SPDX-License-Identifier: Apache-2.0
// Reads anywhere in a regular file.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headway {

class RandomAccessFile {
 public:
  // Errors name the file as `name`.
  static Result<RandomAccessFile> Open(const std::string& path, std::string name);

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // The `count` bytes from `offset` on; fewer only where the file ends before. kIo where it cannot be read.
  [[nodiscard]] Result<std::string> Read(int64_t offset, int64_t count) const;

 private:
  RandomAccessFile(UniqueFd fd, int64_t size, std::string name);

  UniqueFd fd_;
  int64_t size_;
  std::string name_;
};

}  // namespace headway
