// SPDX-License-Identifier: Apache-2.0
// What readers did about each of the problems that they name.
#pragma once

#include <string>
#include <string_view>

#include "trace/import_log.h"

namespace headway::trace {

// "skipped", "read as the number": of a problem's stable name, for the report. Empty where this version knows no such
// problem (a pattern file made by a newer one).
[[nodiscard]] std::string_view WhatWasDone(std::string_view problem);

// "repaired: a space in names; elsewhere of no consequence".
[[nodiscard]] std::string KindAndWhatWasDone(std::string_view name, const Problem& problem);

}  // namespace headway::trace
