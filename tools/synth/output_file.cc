// SPDX-License-Identifier: Apache-2.0
#include "synth/output_file.h"

#include <isa-l/igzip_lib.h>

#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

namespace headway::synth {

struct OutputFile::Deflater {
  isal_zstream stream;
  std::vector<uint8_t> level_buffer = std::vector<uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<uint8_t> out = std::vector<uint8_t>(1 << 18);
};

OutputFile::OutputFile(std::FILE* file, std::string path, bool gzip) : file_(file), path_(std::move(path)) {
  if (!gzip) return;
  deflater_ = std::make_unique<Deflater>();
  isal_deflate_init(&deflater_->stream);
  deflater_->stream.gzip_flag = IGZIP_GZIP;
  deflater_->stream.level = 1;
  deflater_->stream.level_buf = deflater_->level_buffer.data();
  deflater_->stream.level_buf_size = static_cast<uint32_t>(deflater_->level_buffer.size());
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      path_(std::move(other.path_)),
      buffer_(std::move(other.buffer_)),
      bytes_(other.bytes_),
      failed_(other.failed_),
      deflater_(std::move(other.deflater_)) {}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<OutputFile> OutputFile::Create(const std::string& path, bool gzip) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    return MakeError(ErrorCode::kIo, std::string("cannot be written: ") + std::strerror(errno), path);
  return OutputFile(file, path, gzip);
}

void OutputFile::Flush(bool last) {
  bytes_ += static_cast<int64_t>(buffer_.size());
  if (deflater_ == nullptr) {
    failed_ |= std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size();
  } else {
    isal_zstream& z = deflater_->stream;
    z.next_in = reinterpret_cast<uint8_t*>(buffer_.data());
    z.avail_in = static_cast<uint32_t>(buffer_.size());
    z.end_of_stream = last ? 1 : 0;
    do {
      z.next_out = deflater_->out.data();
      z.avail_out = static_cast<uint32_t>(deflater_->out.size());
      failed_ |= isal_deflate(&z) != COMP_OK;
      const size_t made = deflater_->out.size() - z.avail_out;
      failed_ |= std::fwrite(deflater_->out.data(), 1, made, file_) != made;
    } while (z.avail_out == 0);
  }
  buffer_.clear();
}

Result<void> OutputFile::Close() {
  Flush(true);
  failed_ |= std::fclose(std::exchange(file_, nullptr)) != 0;
  if (failed_) return MakeError(ErrorCode::kIo, "could not be written completely", path_);
  return {};
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendInt(std::string& out, int64_t value) {
  char text[24];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  out.append(text, end);
}

void AppendMicros(std::string& out, int64_t ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  AppendInt(out, ns / 1000);
  const auto part = static_cast<unsigned>(ns % 1000);
  const char text[4] = {'.', static_cast<char>('0' + part / 100), static_cast<char>('0' + part / 10 % 10),
                        static_cast<char>('0' + part % 10)};
  out.append(text, 4);
}

}  // namespace headway::synth
