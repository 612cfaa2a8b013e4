// SPDX-License-Identifier: Apache-2.0
// A temporary file without a name: it vanishes with the process, whatever ends that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headway {

// $TMPDIR, or /tmp where that is not set.
[[nodiscard]] std::string DefaultTempFolder();

class TempFile {
 public:
  // In `folder`; empty = DefaultTempFolder(). Errors say which folder and what to do.
  static Result<TempFile> Create(const std::string& folder = {});

  // Writes all of it, or says that the disk is full, how much was already there, and what to do.
  [[nodiscard]] Result<void> Append(const void* bytes, size_t size);
  // Reads exactly `size` bytes that were written before.
  [[nodiscard]] Result<void> Read(int64_t offset, void* bytes, size_t size) const;
  // Tells the system that these bytes will be read soon, or never again (their space is given back if it can be).
  void WillRead(int64_t offset, int64_t size) const;
  void Forget(int64_t offset, int64_t size) const;

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  TempFile(UniqueFd fd, std::string folder);

  UniqueFd fd_;
  std::string folder_;
  int64_t size_ = 0;
};

}  // namespace headway
