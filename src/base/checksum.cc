// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/little_endian.h"

namespace headway {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

uint64_t Lane64(std::string_view bytes) { return LoadLittleEndian<uint64_t>(bytes); }

uint64_t Round(uint64_t accumulator, uint64_t lane) { return std::rotl(accumulator + lane * kPrime2, 31) * kPrime1; }

}  // namespace

uint64_t XxHash64(std::string_view bytes, uint64_t seed) {
  const uint64_t length = bytes.size();
  uint64_t hash = seed + kPrime5;
  if (bytes.size() >= 32) {
    std::array<uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; bytes.size() >= 32; bytes.remove_prefix(32)) {
      for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = Round(lanes[i], Lane64(bytes.substr(8 * i)));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += length;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    hash = std::rotl(hash ^ Round(0, Lane64(bytes)), 27) * kPrime1 + kPrime4;
  }
  if (bytes.size() >= 4) {
    hash = std::rotl(hash ^ LoadLittleEndian<uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
    bytes.remove_prefix(4);
  }
  for (const char byte : bytes) hash = std::rotl(hash ^ static_cast<unsigned char>(byte) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace headway
