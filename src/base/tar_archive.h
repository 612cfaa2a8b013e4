// SPDX-License-Identifier: Apache-2.0
// Members of a tar archive, plain or packed (gzip, zstd), read in place as streams. Regular files only; sparse files,
// links and devices are left out. Names are labels only, never paths to write to.
//
// A packed archive has no directory, so listing it unpacks it once. On the way checkpoints of the gzip decoder are kept
// (at most 64, ~100 KB each, evenly spread), so that opening a member does not unpack all that lies before it. A zstd
// archive is unpacked from its start for every member.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/gzip_source.h"

namespace headway {

struct TarMember {
  std::string name;    // as written: any bytes at all
  int64_t offset = 0;  // of its data, in the unpacked archive
  int64_t size = 0;
};

class TarArchive {
 public:
  enum class Packing : uint8_t { kNone, kGzip, kZstd };

  // Fails where the file cannot be read at all; a damaged archive gives the members before the damage.
  static Result<std::shared_ptr<const TarArchive>> List(const std::string& path, const std::string& name,
                                                        Packing packing, const SourceOptions& options = {});

  [[nodiscard]] const std::vector<TarMember>& members() const { return members_; }
  // What was wrong with the archive, and how many members were left out.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }
  [[nodiscard]] int64_t sparse_members() const { return sparse_members_; }

  // The bytes of a member as they stand in the archive. `name` is how the source and errors call it. Thread-safe.
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const TarMember& member, std::string name,
                                                         const SourceOptions& options = {}) const;

 private:
  class Scanner;

  std::string path_;
  Packing packing_ = Packing::kNone;
  std::vector<TarMember> members_;
  std::optional<Error> damage_;
  int64_t sparse_members_ = 0;
  std::vector<std::shared_ptr<const GzipSource::Checkpoint>> checkpoints_;  // ascending
};

}  // namespace headway
