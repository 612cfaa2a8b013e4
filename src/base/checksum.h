// SPDX-License-Identifier: Apache-2.0
// xxHash64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, version 0.2.0): a fast checksum, no protection against
// intent. The same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace headway {

[[nodiscard]] uint64_t XxHash64(std::string_view bytes, uint64_t seed = 0);

}  // namespace headway
