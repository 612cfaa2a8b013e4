// SPDX-License-Identifier: Apache-2.0
// The outside of a .hwp file: header, directory, sections (docs/hwp-format.md has it byte for byte).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace headway::pattern {

// Whether a file that begins so is a .hwp file; eight bytes tell.
[[nodiscard]] bool IsHwp(std::string_view first_bytes);

namespace hwp {

// Of the format. A change that an older reader would misread raises it; one that it can skip is a new optional section
// or block.
inline constexpr uint32_t kVersion = 2;

using Tag = std::array<char, 4>;
inline constexpr Tag kTableTag = {'F', 'T', 'A', 'B'};
inline constexpr Tag kRankTag = {'R', 'A', 'N', 'K'};
// A reader skips a section whose tag begins with a small letter, and refuses a file with an unknown one that does not.
[[nodiscard]] constexpr bool IsOptional(const Tag& tag) { return tag[0] >= 'a' && tag[0] <= 'z'; }

struct Section {
  Tag tag{};
  RankId rank = -1;        // of a rank section; -1 also for a rank that does not know its number
  uint64_t checksum = 0;   // XXH64 of the bytes, seed 0
  std::string_view bytes;  // whole: of a cut file's directory only the sections that are there are listed

  [[nodiscard]] bool Intact() const;
};

// A file's sections in the order of the file.
struct Directory {
  std::vector<Section> sections;
  uint64_t missing_ranks = 0;   // rank sections that the directory lists and the file ends before
  std::vector<Error> problems;  // cut off, or something behind the last section
};

// Fails where nothing can be read: not a .hwp file, a newer format, a damaged or incomplete directory. Does not look
// into the sections. `name` is the file for error messages. Views into `bytes`.
[[nodiscard]] Result<Directory> ReadDirectory(std::string_view bytes, std::string_view name);

// The error that refuses a file with such a section; none for those this program knows or may skip.
[[nodiscard]] std::optional<Error> UnknownSection(const Section& section, std::string_view name);

// "run/rank3.hwp, byte 120"
[[nodiscard]] std::string Place(std::string_view name, uint64_t offset);

// A file of these sections: sorted by (tag, rank, checksum, bytes), of equal ones the first, so that the result does
// not depend on their order. Fails when two function tables that differ have the same checksum.
[[nodiscard]] Result<std::string> AssembleFile(std::vector<Section> sections);

[[nodiscard]] Section MakeSection(const Tag& tag, RankId rank, std::string_view bytes);

}  // namespace hwp
}  // namespace headway::pattern
