// SPDX-License-Identifier: Apache-2.0
// A report for a terminal: the answer first, one screen, nothing wider than the width. Further sections on request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report_doc.h"

namespace headway::report {

struct TextOptions {
  int width = 100;          // of the terminal; used between 40 and 120
  bool colour = false;      // severity in colour: the caller has asked isatty and NO_COLOR
  bool ascii = false;       // the terminal cannot show UTF-8
  std::string section;      // empty: the first screen; "all": that and every section; else one section's name
  int32_t rows = -1;        // of long tables: -1 = as the table says, 0 = all
  std::string rows_option;  // how the user asks for more rows ("--rows"), for the line that says how many are left out
  int32_t findings = 5;     // shown in full on the first screen before "N more"; 0 = all
};

// Lines end in "\n". A section that the report does not have: kInvalidArgument, with the names it has.
[[nodiscard]] Result<std::string> RenderText(const ReportDoc& doc, const TextOptions& options);

// What TextOptions::section may be for this report, in order of appearance.
[[nodiscard]] std::vector<std::string> SectionNames(const ReportDoc& doc);

}  // namespace headway::report
