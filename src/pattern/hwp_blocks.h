// SPDX-License-Identifier: Apache-2.0
// Blocks: what the payload of a section of a .hwp file is made of (docs/hwp-format.md, "Blocks").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pattern/hwp_budget.h"
#include "pattern/hwp_zstd.h"

namespace headway::pattern::hwp {

enum class BlockId : uint8_t {
  kTable = 1,   // of a function table section
  kRecord = 2,  // of a rank section, this and the following
  kSequences = 3,
  kWidths = 4,
  kHeads = 5,
  kTops = 6,
  kBits = 7,
  kPadding = 0x80,
  kSlices = 0x81,  // of a rank section
};
// A reader skips a block with this bit that it does not know, and refuses one without it.
inline constexpr uint8_t kOptionalBlock = 0x80;

// Appends `bytes` as a block: through zstd where that makes it smaller. Level 0 = as it is.
void AppendBlock(BlockId id, std::string_view bytes, int level, std::string* out);

// The blocks of one section, unpacked. The views hold until the next call of Unpack.
class BlockUnpacker {
 public:
  // Fails in one sentence without a place: damaged, or made by a newer program. Blocks without compression are views
  // into `section`. `budget` is charged for what is unpacked.
  [[nodiscard]] Result<void> Unpack(std::string_view section, DecodeBudget* budget);

  // Empty where the section has no such block.
  [[nodiscard]] std::string_view Get(BlockId id) const { return blocks_[SlotOf(static_cast<uint8_t>(id))]; }

 private:
  static constexpr size_t kKnown = 9;
  static constexpr uint8_t kNeeded = 8;  // ids below it are slots
  // kKnown: of no block whose bytes are needed.
  [[nodiscard]] static constexpr size_t SlotOf(uint8_t id) {
    return id < kNeeded ? id : id == static_cast<uint8_t>(BlockId::kSlices) ? kNeeded : kKnown;
  }

  BlockDecompressor zstd_;
  std::array<std::string, kKnown> buffers_;
  std::array<std::string_view, kKnown> blocks_;
};

}  // namespace headway::pattern::hwp
