// SPDX-License-Identifier: Apache-2.0
// What any reader of such files has to do at least: take chunks, find where events end, read the same fields of each
// with simdjson, keep nothing. The reader's time is compared with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace headway::bench {

struct FloorResult {
  int64_t events = 0;
  int64_t broken = 0;
  uint64_t checksum = 0;  // so that nothing read can be left out
};

// `next` gives the next chunk, empty at the end.
[[nodiscard]] FloorResult RunKinetoFloor(const std::function<std::string_view()>& next);

}  // namespace headway::bench
