// SPDX-License-Identifier: Apache-2.0
// Units of the whole project: time is int64 nanoseconds, size int64 bytes, rates bytes per second (double).
// Absolute times are Unix nanoseconds on the clock of the host that wrote them, unless a name says otherwise.
#pragma once

#include <cstdint>

namespace headway {

using Nanos = int64_t;
using Bytes = int64_t;
using RankId = int32_t;  // global rank of the job, 0-based; -1 = unknown

inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

}  // namespace headway
