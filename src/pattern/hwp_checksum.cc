// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_checksum.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace headway::pattern::hwp {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;
constexpr size_t kStripe = 32;

template <typename T>
T Load(const char* from) {
  T value = 0;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
  return value;
}

uint64_t Round(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }
uint64_t MergeLane(uint64_t hash, uint64_t lane) { return (hash ^ Round(0, lane)) * kPrime1 + kPrime4; }

uint64_t Stripes(const char** at, const char* end) {
  std::array<uint64_t, 4> lanes = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  for (; static_cast<size_t>(end - *at) >= kStripe; *at += kStripe) {
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = Round(lanes[i], Load<uint64_t>(*at + 8 * i));
  }
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) hash = MergeLane(hash, lane);
  return hash;
}

}  // namespace

uint64_t Xxh64(std::string_view bytes) {
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  uint64_t hash = (bytes.size() >= kStripe ? Stripes(&at, end) : kPrime5) + bytes.size();
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ Round(0, Load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  for (; end - at >= 4; at += 4) hash = std::rotl(hash ^ Load<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
  for (; at < end; ++at) hash = std::rotl(hash ^ static_cast<unsigned char>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace headway::pattern::hwp
