// SPDX-License-Identifier: Apache-2.0
// Several .hwp files into one, without unpacking them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headway::pattern {

struct HwpBytes {
  std::string_view bytes;
  std::string_view name;  // for error messages
};

// The file that WriteHwp would have made of all the ranks: merging is associative and commutative, and merging a file
// with itself changes nothing. Every section's checksum is verified; a damaged, cut or newer file is refused.
[[nodiscard]] Result<std::string> MergeHwp(std::span<const HwpBytes> files);

}  // namespace headway::pattern
