// SPDX-License-Identifier: Apache-2.0
// Looking at the first bytes of a source without losing them, and unpacking by what they say.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"

namespace headway {

struct Peeked {
  std::string first;                   // the first bytes: as many as asked for, fewer only where the source is shorter
  std::unique_ptr<ByteSource> source;  // delivers everything from the start, those bytes included
};

// Reads ahead until `count` bytes are known. An I/O error that comes before is not an answer here: the source returned
// gives what could be read and then that error.
[[nodiscard]] Peeked PeekFirst(std::unique_ptr<ByteSource> source, size_t count);

// The bytes of `raw` unpacked, if their first bytes say gzip or zstd; else as they are. One level only: what is inside
// is not looked at. Never goes by the name.
[[nodiscard]] std::unique_ptr<ByteSource> Unpacked(std::unique_ptr<ByteSource> raw, const SourceOptions& options = {});

}  // namespace headway
