// SPDX-License-Identifier: Apache-2.0
// CHECK(condition): the program is wrong when it fails. User input must never reach one.
#pragma once

namespace headway {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace headway

#define HEADWAY_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::headway::CheckFailed(#condition, __FILE__, __LINE__))
