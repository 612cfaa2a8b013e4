// SPDX-License-Identifier: Apache-2.0
// Raw bytes of a file, a part of a file, or standard input; nothing is unpacked here.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/unique_fd.h"

namespace headway {

class FileSource final : public ByteSource {
 public:
  // Opens `path` for reading. kNotFound (also for a pipe that nobody writes to), kIo, or kInvalidArgument for a folder,
  // naming `name`.
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path, std::string name,
                                                  const SourceOptions& options = {});
  // The `size` bytes from `offset` on (a member of an archive). If the file ends before, what is there is given and
  // damage() says so.
  static Result<std::unique_ptr<FileSource>> OpenRange(const std::string& path, std::string name, int64_t offset,
                                                       int64_t size, const SourceOptions& options = {});
  // Standard input; the descriptor stays open.
  static std::unique_ptr<FileSource> StandardInput(const SourceOptions& options = {});

  [[nodiscard]] Result<std::string_view> Next() override;
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] int64_t compressed_position() const override { return position_; }
  [[nodiscard]] int64_t compressed_size() const override { return size_; }
  [[nodiscard]] std::optional<Error> damage() const override { return damage_; }

  // Passes over the next `count` bytes without reading them and returns how many there were. Regular files only.
  [[nodiscard]] int64_t SkipAhead(int64_t count);

  ~FileSource() override;

 private:
  FileSource(UniqueFd fd, std::string name, const SourceOptions& options);

  UniqueFd fd_;
  std::string name_;
  size_t chunk_size_;
  std::string ahead_;  // bytes of a pipe that came while it was looked at
  std::unique_ptr<char[]> buffer_;
  int64_t position_ = 0;   // relative to the start of the range
  int64_t size_ = -1;      // of the range, or of a regular file; -1 = unknown (a pipe)
  bool is_range_ = false;  // a shorter file is damage
  std::optional<Error> damage_;
};

}  // namespace headway
