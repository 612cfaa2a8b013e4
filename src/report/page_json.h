// SPDX-License-Identifier: Apache-2.0
// A report as the page reads it (web/src/doc.ts): not a contract, both sides are built together.
#pragma once

#include <string>

#include "report/report_doc.h"

namespace headway::report {

// Compact JSON. Integers beyond 2^53, which a page would round, are written as strings.
[[nodiscard]] std::string PageJson(const ReportDoc& doc);

}  // namespace headway::report
