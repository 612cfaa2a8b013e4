// SPDX-License-Identifier: Apache-2.0
#include "base/gzip_source.h"

#include <array>
#include <utility>

namespace headway {
namespace {

// Less room than this is not given to the decoder (see DeflateStream::Run).
constexpr size_t kLeastRoom = kUnpackBuffer / 2;

constexpr int kMethodDeflate = 8;
constexpr int kFlagHeaderCrc = 2;
constexpr int kFlagExtra = 4;
constexpr int kFlagName = 8;
constexpr int kFlagComment = 16;
constexpr int kReservedFlags = 0xe0;

}  // namespace

GzipSource::GzipSource(std::unique_ptr<ByteSource> raw, const SourceOptions& options)
    : UnpackingSource(std::move(raw), options) {}

GzipSource::GzipSource(std::unique_ptr<ByteSource> raw, const Checkpoint& checkpoint, const SourceOptions& options)
    : UnpackingSource(std::move(raw), options),
      deflate_(checkpoint.deflate.Clone()),
      phase_(checkpoint.phase),
      put_back_(checkpoint.put_back),
      crc_(checkpoint.crc),
      length_(checkpoint.length),
      total_(checkpoint.unpacked_offset) {
  set_packed_consumed(checkpoint.packed_offset);
}

std::shared_ptr<const GzipSource::Checkpoint> GzipSource::Save() const {
  if (!chunk_used_up()) return nullptr;
  return std::make_shared<const Checkpoint>(Checkpoint{.packed_offset = packed_consumed(),
                                                       .unpacked_offset = total_,
                                                       .deflate = deflate_.Clone(),
                                                       .phase = phase_,
                                                       .put_back = put_back_,
                                                       .crc = crc_,
                                                       .length = length_});
}

size_t GzipSource::Unpack(std::span<char> out) {
  size_t produced = 0;
  while (phase_ != Phase::kDone && out.size() - produced >= kLeastRoom) {
    switch (phase_) {
      case Phase::kHeader: phase_ = ReadHeader() ? Phase::kBody : Phase::kDone; break;
      case Phase::kBody: produced += RunBody(out.subspan(produced)); break;
      case Phase::kTrailer: ReadTrailer(); break;
      case Phase::kBetween: FindNextMember(); break;
      case Phase::kDone: break;
    }
  }
  return produced;
}

int GzipSource::NextByte() {
  if (!put_back_.empty()) {
    const auto byte = static_cast<unsigned char>(put_back_.front());
    put_back_.erase(0, 1);
    return byte;
  }
  if (!Refill()) return -1;
  const auto byte = static_cast<unsigned char>(input_.front());
  input_.remove_prefix(1);
  return byte;
}

bool GzipSource::Stop(std::string_view what_is_wrong) {
  SetDamage("the gzip data " + std::string(what_is_wrong) + ReadBefore(total_));
  phase_ = Phase::kDone;
  return false;
}

bool GzipSource::SkipBytes(int64_t count) {
  for (; count > 0; --count) {
    if (NextByte() < 0) return false;
  }
  return true;
}

bool GzipSource::SkipHeaderText() {
  int byte = 0;
  do {
    byte = NextByte();
  } while (byte > 0);
  return byte == 0;
}

bool GzipSource::ReadHeader() {
  std::array<int, 10> header{};
  for (int& byte : header) {
    byte = NextByte();
    if (byte < 0) return Stop("are cut off");
  }
  if (header[0] != 0x1f || header[1] != 0x8b || header[2] != kMethodDeflate || (header[3] & kReservedFlags) != 0) {
    return Stop("have a damaged header");
  }
  const int flags = header[3];
  bool complete = true;
  if ((flags & kFlagExtra) != 0) {
    const int low = NextByte();
    const int high = NextByte();
    complete = high >= 0 && SkipBytes(low + 256 * high);
  }
  if ((flags & kFlagName) != 0) complete = complete && SkipHeaderText();
  if ((flags & kFlagComment) != 0) complete = complete && SkipHeaderText();
  if ((flags & kFlagHeaderCrc) != 0) complete = complete && SkipBytes(2);
  if (!complete) return Stop("are cut off");
  deflate_.Reset();
  crc_ = 0;
  length_ = 0;
  return true;
}

size_t GzipSource::RunBody(std::span<char> out) {
  Refill();  // without input the decoder may still hold output
  const DeflateStream::Step step = deflate_.Run(input_, out);
  const std::string_view bytes(out.data(), step.produced);
  input_.remove_prefix(step.consumed);
  crc_ = Crc32(crc_, bytes);
  length_ += static_cast<uint32_t>(bytes.size());
  total_ += static_cast<int64_t>(bytes.size());
  if (step.state == DeflateStream::State::kCorrupt) {
    Stop("are corrupt");
  } else if (step.state == DeflateStream::State::kEnd) {
    put_back_ = deflate_.Unused();
    phase_ = Phase::kTrailer;
  } else if (step.produced == 0 && input_.empty() && !Refill()) {
    Stop("are cut off");
  }
  return bytes.size();
}

void GzipSource::ReadTrailer() {
  std::array<uint32_t, 2> stored{};  // checksum, length
  for (uint32_t& word : stored) {
    for (int shift = 0; shift < 32; shift += 8) {
      const int byte = NextByte();
      if (byte < 0) {
        Stop("are cut off");
        return;
      }
      word |= static_cast<uint32_t>(byte) << shift;
    }
  }
  if (stored[0] != crc_ || stored[1] != length_) {
    SetDamage("the gzip data do not match their checksum: some of them may be wrong");
  }
  phase_ = Phase::kBetween;
}

void GzipSource::FindNextMember() {
  int byte = NextByte();
  if (byte == 0x1f) {
    put_back_.insert(0, 1, '\x1f');
    phase_ = Phase::kHeader;
    return;
  }
  while (byte == 0) byte = NextByte();  // tapes and block devices pad with zeroes
  if (byte >= 0) {
    SetDamage("something that is not gzip data follows the gzip data; it was ignored");
  }
  phase_ = Phase::kDone;
}

}  // namespace headway
