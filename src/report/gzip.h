// SPDX-License-Identifier: Apache-2.0
// Adapter to zlib, chosen because its output does not depend on the instruction set of the machine.
#pragma once

#include <string>
#include <string_view>

namespace headway::report {

// A gzip member of `bytes` without name or time: the same bytes give the same result.
[[nodiscard]] std::string Gzip(std::string_view bytes);

// RFC 4648 with padding, no line breaks.
[[nodiscard]] std::string Base64(std::string_view bytes);

}  // namespace headway::report
