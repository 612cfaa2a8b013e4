// SPDX-License-Identifier: Apache-2.0
// Errors of the operating system in the user's terms.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace headway {

// "cannot <what>: <reason of errno_value>", with a hint where one helps. ENOENT gives kNotFound, all others kIo.
[[nodiscard]] Error SystemError(std::string_view what, int errno_value, std::string where);

}  // namespace headway
