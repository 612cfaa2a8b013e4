// SPDX-License-Identifier: Apache-2.0
// .hwp files to patterns. Whatever bytes a file holds, reading it ends in patterns whose indices are in range, or in a
// sentence that says what is wrong and where; memory stays below 64 KB and 256 times the bytes of each section.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pattern/hwp_format.h"
#include "pattern/hwp_rank.h"
#include "pattern/hwp_table_cache.h"
#include "pattern/pattern.h"

namespace headway::pattern {

// A file as bytes in memory, its directory read. Must not outlive the bytes. Immutable: threads may share it.
class HwpFile {
 public:
  // Fails where no rank can be read: not a .hwp file, a newer format, a damaged directory. `name` is for error
  // messages.
  [[nodiscard]] static Result<HwpFile> Open(std::string_view bytes, std::string_view name);

  [[nodiscard]] size_t rank_count() const { return ranks_.size(); }  // whose sections are there
  // What is wrong with the file as a whole: cut off, bytes behind its end, a damaged optional section.
  [[nodiscard]] const std::vector<Error>& problems() const { return directory_.problems; }

 private:
  friend class HwpReader;

  [[nodiscard]] const hwp::Section* Table(uint64_t checksum) const;
  [[nodiscard]] std::string Place(const hwp::Section& section) const;

  hwp::Directory directory_;
  std::vector<const hwp::Section*> tables_;  // by checksum
  std::vector<const hwp::Section*> ranks_;   // in the order of the file: by rank
  std::string_view bytes_;
  std::string name_;
};

struct HwpContents {
  std::vector<RankPattern> ranks;  // those that could be read, by rank
  std::vector<Error> problems;     // each a sentence with its place: for the user to see, whatever was read
};

// Reads ranks; reuses its buffers, so keep one for each thread. 90 us of CPU time for a rank of 500 functions, 20 steps
// and 1,000 collectives (bench/bench_hwp).
class HwpReader {
 public:
  // `cache` gives equal function tables the same pointer and must outlive the reader.
  explicit HwpReader(FunctionTableCache* cache) : cache_(cache) {}

  [[nodiscard]] Result<RankPattern> Rank(const HwpFile& file, size_t index, Parts parts = Parts::kAll);

  // All ranks of a file. Fails only where none could be read.
  [[nodiscard]] Result<HwpContents> Read(std::string_view bytes, std::string_view name, Parts parts = Parts::kAll);
  [[nodiscard]] Result<HwpContents> ReadFile(const std::string& path, std::string_view name, Parts parts = Parts::kAll);

 private:
  [[nodiscard]] Result<std::shared_ptr<const FunctionTable>> Table(const HwpFile& file, uint64_t checksum);

  FunctionTableCache* cache_;
  hwp::SectionDecoder decoder_;
};

// For a single file.
[[nodiscard]] Result<HwpContents> ReadHwp(std::string_view bytes, std::string_view name);
[[nodiscard]] Result<HwpContents> ReadHwpFile(const std::string& path);

}  // namespace headway::pattern
