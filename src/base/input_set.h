// SPDX-License-Identifier: Apache-2.0
// From the paths a user gives to the list of things to read: files, folders (searched), archives (looked into), "-".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace headway {

enum class InputKind : uint8_t {
  kFile,
  kZipMember,
  kTarMember,
  kPipe,           // a named pipe given by name: can be read once
  kStandardInput,  // "-": can be read once
};

struct InputItem {
  std::string display_name;  // printable: "run/rank0.json.gz", "run.zip:rank0.json", "standard input"
  InputKind kind = InputKind::kFile;
  std::string path;    // of the file, or of the archive that holds it, as the user wrote it; empty for standard input
  std::string member;  // its name inside the archive, else empty: a label, never a path to write to
  int64_t size = -1;   // the total for progress, in the unit of ByteSource::compressed_position; -1 = unknown

  // The bytes, unpacked where they are packed (gzip, zstd). Safe to call from several threads.
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const SourceOptions& options = {}) const {
    return open(options);
  }

  std::function<Result<std::unique_ptr<ByteSource>>(const SourceOptions&)> open;
};

struct InputSet {
  std::vector<InputItem> items;  // sorted by display_name, each once
  std::vector<Error> problems;   // one sentence each: unreadable, empty, damaged; sorted by place
};

// Looks at every path. Folders are searched with all folders below them, following links but never round in a loop;
// names that begin with a dot are passed over there and inside archives. No file is passed over for its name: what a
// file is shows in its content. Archives (zip; tar, plain or packed) are recognised by content and listed; nothing is
// written. One thing that cannot be read never hides the others. `threads` as resolved by ThreadCount.
[[nodiscard]] InputSet ListInputs(std::span<const std::string> paths, int threads = 1);

}  // namespace headway
