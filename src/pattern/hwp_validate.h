// SPDX-License-Identifier: Apache-2.0
// What pattern.h and comm.h promise about the indices of a pattern, and that its utilisations are finite, checked in
// one place: a writer that is handed something else is called by a bug, a file that holds something else is damaged or
// hostile.
#pragma once

#include "pattern/pattern.h"

namespace headway::pattern::hwp {

// Names the first promise that is broken ("a function's parent is not before it"); nullptr = all kept. O(n).
[[nodiscard]] const char* BrokenPromise(const FunctionTable& table);
// Of everything but the table's own.
[[nodiscard]] const char* BrokenPromise(const RankPattern& pattern);
// Only of what the columns do not keep by the way they are decoded.
[[nodiscard]] const char* BrokenReference(const RankPattern& pattern);

}  // namespace headway::pattern::hwp
