// SPDX-License-Identifier: Apache-2.0
#include "base/zip_member_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace headway {

ZipMemberSource::ZipMemberSource(std::unique_ptr<ByteSource> raw, bool deflated, uint32_t crc,
                                 const SourceOptions& options)
    : UnpackingSource(std::move(raw), options), deflated_(deflated), expected_crc_(crc) {}

size_t ZipMemberSource::Unpack(std::span<char> out) {
  if (ended_) return 0;
  const size_t size = deflated_ ? Inflate(out) : CopyStored(out);
  crc_ = Crc32(crc_, {out.data(), size});
  total_ += static_cast<int64_t>(size);
  if (ended_ && crc_ != expected_crc_) {
    SetDamage("this archive member does not match its checksum: some of it may be wrong or missing");
  }
  return size;
}

size_t ZipMemberSource::CopyStored(std::span<char> out) {
  size_t size = 0;
  while (size < out.size() && Refill()) {
    const size_t part = std::min(out.size() - size, input_.size());
    std::memcpy(out.data() + size, input_.data(), part);
    input_.remove_prefix(part);
    size += part;
  }
  ended_ = size < out.size();
  return size;
}

size_t ZipMemberSource::Inflate(std::span<char> out) {
  size_t size = 0;
  while (!ended_ && out.size() - size >= out.size() / 2) {
    Refill();
    const DeflateStream::Step step = deflate_.Run(input_, out.subspan(size));
    input_.remove_prefix(step.consumed);
    size += step.produced;
    const std::string so_far = ReadBefore(total_ + static_cast<int64_t>(size));
    if (step.state == DeflateStream::State::kCorrupt) {
      SetDamage("the packed data of this archive member are corrupt" + so_far);
      ended_ = true;
    } else if (step.state == DeflateStream::State::kEnd) {
      ended_ = true;
    } else if (step.produced == 0 && input_.empty() && !Refill()) {
      SetDamage("the packed data of this archive member are cut off" + so_far);
      ended_ = true;
    }
  }
  return size;
}

}  // namespace headway
