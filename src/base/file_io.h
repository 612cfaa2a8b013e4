// SPDX-License-Identifier: Apache-2.0
// Whole small files, and files that appear complete or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headway {

// The content of a file of at most `max_size` bytes; kTooLarge above that, kNotFound or kIo naming `path`.
[[nodiscard]] Result<std::string> ReadSmallFile(const std::string& path, size_t max_size = size_t{64} << 20);

// The file at `path` holds exactly `content` afterwards, or, where that fails (full disk), what it held before: the
// content goes to a new file beside it, which then takes its place. Links are followed; rights of an existing file are
// kept. Devices and pipes are written to directly.
[[nodiscard]] Result<void> WriteFileAtomically(const std::string& path, std::string_view content);

// The same for content that comes piece by piece.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // without Commit: leaves no trace

  // After a failure nothing but destruction makes sense.
  [[nodiscard]] Result<void> Write(std::string_view bytes);
  [[nodiscard]] Result<void> Commit();

 private:
  AtomicFile(UniqueFd fd, std::string path, std::string target, std::string temporary);

  UniqueFd fd_;
  std::string path_;       // as given, for messages
  std::string target_;     // with links resolved
  std::string temporary_;  // empty = written to directly, or already committed
};

// Makes the folder and those above it where they are missing.
[[nodiscard]] Result<void> EnsureFolder(const std::string& path);

}  // namespace headway
