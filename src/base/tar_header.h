// SPDX-License-Identifier: Apache-2.0
// One 512-byte block of a tar archive (POSIX.1-1988 ustar, POSIX.1-2001 pax, GNU tar).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway {

inline constexpr size_t kTarBlock = 512;

struct TarHeader {
  std::string name;  // prefix and name joined
  int64_t size = 0;  // of the data that follow, without padding
  char type = '0';   // '0' file, '5' folder, 'x' and 'g' pax records, 'L' long name, …
};

// Nothing where the block's checksum does not hold or a number is not one. `block` is 512 bytes.
[[nodiscard]] std::optional<TarHeader> ParseTarHeader(std::string_view block);

// Whether these first bytes (at least 512) begin a tar archive: a header whose checksum holds.
[[nodiscard]] bool LooksLikeTar(std::string_view first_bytes);

// What the records of a pax header say; "size=…" and "path=…" override the header after it.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
  bool sparse = false;  // a file with holes (GNU.sparse.*): its data are not its content
};
[[nodiscard]] PaxRecords ParsePax(std::string_view records);

}  // namespace headway
