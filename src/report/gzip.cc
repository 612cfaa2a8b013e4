// SPDX-License-Identifier: Apache-2.0
#include "report/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace headway::report {
namespace {

constexpr int kLevel = 6;
constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header and trailer
constexpr int kMemory = 8;

}  // namespace

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  HEADWAY_CHECK(deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::array<char, 1 << 16> room;
  int state = Z_OK;
  do {
    if (stream.avail_in == 0 && !bytes.empty()) {
      const size_t piece = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(piece);
      bytes.remove_prefix(piece);
    }
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    HEADWAY_CHECK(state != Z_STREAM_ERROR);
    out.append(room.data(), room.size() - stream.avail_out);
  } while (state != Z_STREAM_END);
  deflateEnd(&stream);
  return out;
}

std::string Base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t triple = 0;
    for (size_t k = 0; k < 3; ++k) triple = triple << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out.push_back(k <= n ? kDigits[(triple >> (18 - 6 * k)) & 63] : '=');
  }
  return out;
}

}  // namespace headway::report
