// SPDX-License-Identifier: Apache-2.0
// Members of a zip archive (PKWARE APPNOTE 6.3, with zip64), read in place as streams. Stored, deflated and zstd
// members; not encrypted ones, not archives split over several files. Names are labels only, never paths to write to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"

namespace headway {

[[nodiscard]] inline bool LooksLikeZip(std::string_view first_bytes) {
  return first_bytes.starts_with("PK\x03\x04") || first_bytes.starts_with("PK\x05\x06");
}

struct ZipMember {
  std::string name;  // as written: any bytes at all
  uint16_t method = 0;
  uint16_t flags = 0;
  uint32_t crc = 0;
  int64_t packed_size = 0;
  int64_t size = 0;
  int64_t header_offset = 0;  // of the local header, in the file
};

// The members in the order of the archive's directory; folders are left out. kCorrupt where the directory is missing
// (archive cut off) or damaged. `name` is how errors call the file.
[[nodiscard]] Result<std::vector<ZipMember>> ListZip(const std::string& path, const std::string& name);

// The unpacked bytes of one member; `name` is how the source and errors call it. A wrong checksum is damage.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> OpenZipMember(const std::string& path, std::string name,
                                                                const ZipMember& member,
                                                                const SourceOptions& options = {});

}  // namespace headway
