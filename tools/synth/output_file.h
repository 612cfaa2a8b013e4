// SPDX-License-Identifier: Apache-2.0
// A file written through a buffer, gzipped on request.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headway::synth {

class OutputFile {
 public:
  // gzip: fast compression (ISA-L level 1), one member.
  [[nodiscard]] static Result<OutputFile> Create(const std::string& path, bool gzip);
  OutputFile(OutputFile&&) noexcept;
  ~OutputFile();

  // Text may be added to the buffer in place; Text() flushes when the buffer is large.
  std::string& Text() {
    if (buffer_.size() >= kFlushBytes) Flush(false);
    return buffer_;
  }
  // Writes what is left. Errors of all writes are reported here.
  [[nodiscard]] Result<void> Close();
  // Uncompressed bytes so far.
  int64_t bytes() const { return bytes_ + static_cast<int64_t>(buffer_.size()); }

 private:
  static constexpr size_t kFlushBytes = 1 << 19;
  struct Deflater;
  OutputFile(std::FILE* file, std::string path, bool gzip);
  void Flush(bool last);

  std::FILE* file_;
  std::string path_;
  std::string buffer_;
  int64_t bytes_ = 0;
  bool failed_ = false;
  std::unique_ptr<Deflater> deflater_;
};

// Appends a JSON string with its quotes.
void AppendJsonString(std::string& out, std::string_view text);
void AppendInt(std::string& out, int64_t value);
// ns as us with three decimals.
void AppendMicros(std::string& out, int64_t ns);

}  // namespace headway::synth
