// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_merge.h"

#include <utility>
#include <vector>

#include "pattern/hwp_format.h"

namespace headway::pattern {

Result<std::string> MergeHwp(std::span<const HwpBytes> files) {
  std::vector<hwp::Section> sections;
  for (const HwpBytes& file : files) {
    Result<hwp::Directory> directory = hwp::ReadDirectory(file.bytes, file.name);
    if (!directory) return std::unexpected(std::move(directory.error()));
    if (!directory->problems.empty()) return std::unexpected(std::move(directory->problems.front()));
    for (const hwp::Section& section : directory->sections) {
      if (const auto unknown = hwp::UnknownSection(section, file.name)) return std::unexpected(*unknown);
      if (!section.Intact()) {
        return MakeError(ErrorCode::kCorrupt, "a section is damaged (its checksum does not match)",
                         hwp::Place(file.name, static_cast<uint64_t>(section.bytes.data() - file.bytes.data())));
      }
      sections.push_back(section);
    }
  }
  return hwp::AssembleFile(std::move(sections));
}

}  // namespace headway::pattern
