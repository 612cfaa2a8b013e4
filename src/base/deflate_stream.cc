// SPDX-License-Identifier: Apache-2.0
#include "base/deflate_stream.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

namespace headway {

namespace {

DeflateStream::Step RunOnce(inflate_state* state, std::string_view in, std::span<char> out) {
  constexpr size_t kLimit = std::numeric_limits<uint32_t>::max() / 2;
  const auto in_size = static_cast<uint32_t>(std::min(in.size(), kLimit));
  const auto out_size = static_cast<uint32_t>(std::min(out.size(), kLimit));
  // The library's interface lacks const; it only reads the input.
  state->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in.data()));
  state->avail_in = in_size;
  state->next_out = reinterpret_cast<uint8_t*>(out.data());
  state->avail_out = out_size;
  const int code = isal_inflate(state);
  DeflateStream::Step step{.consumed = in_size - state->avail_in, .produced = out_size - state->avail_out};
  if (code < 0) {
    step.state = DeflateStream::State::kCorrupt;
  } else if (state->block_state == ISAL_BLOCK_FINISH) {
    step.state = DeflateStream::State::kEnd;
  }
  return step;
}

}  // namespace

struct DeflateStream::Decoder {
  inflate_state state;
  std::unique_ptr<inflate_state> before;  // as it was when Run began
};

// The library leaves its tables unset until a block needs them; zeroes keep copies of the state well-defined.
DeflateStream::DeflateStream() : decoder_(std::make_unique<Decoder>()) { Reset(); }
DeflateStream::~DeflateStream() = default;
DeflateStream::DeflateStream(DeflateStream&&) noexcept = default;
DeflateStream& DeflateStream::operator=(DeflateStream&&) noexcept = default;

void DeflateStream::Reset() {
  isal_inflate_init(&decoder_->state);
  decoder_->state.crc_flag = ISAL_DEFLATE;
}

// The library's fast loop writes some bytes too many before it notices damage, how many depends on where its input
// began. Its slow path, which it takes near the end of its input, does not: so damage is looked for again byte by byte.
DeflateStream::Step DeflateStream::Run(std::string_view in, std::span<char> out) {
  if (in.size() > 1) {  // 90 KB, some microseconds
    if (!decoder_->before) decoder_->before = std::make_unique<inflate_state>();
    *decoder_->before = decoder_->state;
  }
  const Step fast = RunOnce(&decoder_->state, in, out);
  if (fast.state != State::kCorrupt || in.size() <= 1) return fast;
  decoder_->state = *decoder_->before;
  Step total;
  while (total.state == State::kMore && total.consumed < in.size() && total.produced < out.size()) {
    const Step step = RunOnce(&decoder_->state, in.substr(total.consumed, 1), out.subspan(total.produced));
    total = {total.consumed + step.consumed, total.produced + step.produced, step.state};
  }
  return total;
}

std::string DeflateStream::Unused() const {
  const inflate_state& state = decoder_->state;
  std::string bytes;
  // Deflate data end inside a byte; what follows begins at the next one.
  uint64_t bits = state.read_in >> (state.read_in_length % 8);
  for (int32_t left = state.read_in_length / 8; left > 0; --left, bits >>= 8) {
    bytes.push_back(static_cast<char>(bits & 0xff));
  }
  return bytes;
}

DeflateStream DeflateStream::Clone() const {
  DeflateStream copy;
  copy.decoder_->state = decoder_->state;
  return copy;
}

uint32_t Crc32(uint32_t crc, std::string_view bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

}  // namespace headway
