// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace headway::pattern::hwp {

// XXH64 with seed 0, as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md defines it.
[[nodiscard]] uint64_t Xxh64(std::string_view bytes);

}  // namespace headway::pattern::hwp
