// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_writer.h"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file_io.h"
#include "pattern/hwp_format.h"
#include "pattern/hwp_rank.h"

namespace headway::pattern {

std::string WriteHwp(std::span<const RankPattern> ranks) {
  std::deque<std::string> payloads;  // views into them stay valid
  std::vector<hwp::Section> sections;
  std::map<const FunctionTable*, uint64_t> checksums;
  for (const RankPattern& rank : ranks) {
    const auto [it, fresh] = checksums.try_emplace(rank.function_table.get());
    if (fresh) {
      HEADWAY_CHECK(rank.function_table != nullptr);
      sections.push_back(
          hwp::MakeSection(hwp::kTableTag, -1, payloads.emplace_back(hwp::WriteTableSection(*it->first))));
      it->second = sections.back().checksum;
    }
    sections.push_back(hwp::MakeSection(hwp::kRankTag, rank.meta.rank,
                                        payloads.emplace_back(hwp::WriteRankSection(rank, it->second))));
  }
  Result<std::string> file = hwp::AssembleFile(std::move(sections));
  HEADWAY_CHECK(file.has_value());
  return std::move(*file);
}

Result<void> WriteHwpFile(const std::string& path, std::span<const RankPattern> ranks) {
  return WriteFileAtomically(path, WriteHwp(ranks));
}

}  // namespace headway::pattern
