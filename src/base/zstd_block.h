// SPDX-License-Identifier: Apache-2.0
// Whole blocks packed with zstd (RFC 8878), each with the library's content checksum.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headway {

// One frame. `level` 1 (fast) to 19 (small). The same bytes for the same input and version of the library.
[[nodiscard]] Result<std::string> CompressZstd(std::string_view bytes, int level = 3);

// Unpacks one frame or several. kTooLarge where more than `max_size` bytes would come out: a claimed size allocates
// nothing beyond that. kCorrupt for anything else that is wrong, bytes behind the frames included.
[[nodiscard]] Result<std::string> DecompressZstd(std::string_view packed, size_t max_size);

}  // namespace headway
