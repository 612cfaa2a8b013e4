// SPDX-License-Identifier: Apache-2.0
#include "base/tar_header.h"

#include <algorithm>
#include <charconv>

namespace headway {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 60;  // larger claims are damage, and would overflow sums of offsets

// A field of fixed width, up to its first NUL.
std::string_view Text(std::string_view block, size_t offset, size_t width) {
  const std::string_view field = block.substr(offset, width);
  return field.substr(0, field.find('\0'));
}

// Octal digits between spaces and NULs, or GNU's base-256 with the first bit set.
std::optional<int64_t> Number(std::string_view block, size_t offset, size_t width) {
  std::string_view field = block.substr(offset, width);
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    uint64_t value = static_cast<unsigned char>(field[0]) & 0x7f;
    for (const char c : field.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<int64_t>(value);
  }
  field = field.substr(0, field.find('\0'));
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  field = field.substr(0, field.find(' '));
  int64_t value = 0;
  if (field.empty()) return value;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (error != std::errc() || end != field.data() + field.size() || value < 0) return std::nullopt;
  return value;
}

bool ChecksumHolds(std::string_view block) {
  const auto stored = Number(block, 148, 8);
  if (!stored) return false;
  int64_t sum = 0;
  int64_t signed_sum = 0;  // some old programs summed signed bytes
  for (size_t i = 0; i < kTarBlock; ++i) {
    const char c = i >= 148 && i < 156 ? ' ' : block[i];
    sum += static_cast<unsigned char>(c);
    signed_sum += static_cast<signed char>(c);
  }
  return *stored == sum || *stored == signed_sum;
}

}  // namespace

std::optional<TarHeader> ParseTarHeader(std::string_view block) {
  if (block.size() < kTarBlock || !ChecksumHolds(block)) return std::nullopt;
  const auto size = Number(block, 124, 12);
  if (!size || *size > kMaxSize) return std::nullopt;
  TarHeader header{.name = std::string(Text(block, 0, 100)), .size = *size, .type = block[156]};
  // The prefix field exists in ustar only; GNU's magic ("ustar  ") has other things there.
  if (block.substr(257, 6) == std::string_view("ustar\0", 6)) {
    if (const std::string_view prefix = Text(block, 345, 155); !prefix.empty()) {
      header.name = std::string(prefix) + "/" + header.name;
    }
  }
  if (header.type == '\0' || header.type == '7') header.type = '0';  // old and contiguous files
  if (header.type == '0' && header.name.ends_with('/')) header.type = '5';
  // Links, devices and folders carry no data, whatever their size field says.
  if (header.type >= '1' && header.type <= '6') header.size = 0;
  return header;
}

bool LooksLikeTar(std::string_view first_bytes) {
  if (first_bytes.size() < kTarBlock) return false;
  const std::string_view block = first_bytes.substr(0, kTarBlock);
  return block[0] != '\0' && ParseTarHeader(block).has_value();
}

PaxRecords ParsePax(std::string_view records) {
  PaxRecords result;
  while (!records.empty()) {
    size_t length = 0;  // of the whole record "<length> <key>=<value>\n"
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc() || length > records.size() || length < digits + 2 || records[digits] != ' ') break;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") {
      result.path = value;
    } else if (key == "size") {
      int64_t size = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), size).ec == std::errc() && size >= 0 &&
          size <= kMaxSize) {
        result.size = size;
      }
    } else if (key.starts_with("GNU.sparse.")) {
      result.sparse = true;
    }
    records.remove_prefix(length);
  }
  return result;
}

}  // namespace headway
