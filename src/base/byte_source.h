// SPDX-License-Identifier: Apache-2.0
// Where bytes come from: a file, a pipe, a member of an archive, memory. Packed data arrive unpacked, chunk by chunk,
// so that memory does not grow with the file. One thread at a time uses a source; different sources are independent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headway {

struct SourceOptions {
  // The largest chunk Next() gives; >= 1. What is read never depends on it. 256 KB stay in the second-level cache until
  // they are parsed; larger chunks were not faster.
  size_t chunk_size = size_t{256} << 10;
  // How long to wait for someone to open a named pipe for writing. Once it is open, as long as it takes.
  std::chrono::milliseconds pipe_patience{10'000};
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // The next unpacked chunk; empty at the end, and at every call after it. Valid until the next call or the end of the
  // source. Fails only where the operating system refuses to read (kIo); the bytes given before remain good.
  [[nodiscard]] virtual Result<std::string_view> Next() = 0;

  // How to speak of it to the user: "run/rank0.json.gz", "run.zip:rank0.json", "standard input".
  [[nodiscard]] virtual const std::string& name() const = 0;

  // For progress: bytes consumed of the packed data and their total, in one unit; -1 = unknown.
  [[nodiscard]] virtual int64_t compressed_position() const { return -1; }
  [[nodiscard]] virtual int64_t compressed_size() const { return -1; }

  // Set as soon as the packed data turn out cut off or corrupt. What could be unpacked before the damage is delivered
  // all the same, then the source ends; so look here at the end.
  [[nodiscard]] virtual std::optional<Error> damage() const { return std::nullopt; }
};

}  // namespace headway
