// SPDX-License-Identifier: Apache-2.0
// The glossary of data/definitions.inc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/report_doc.h"

namespace headway::report {

struct Definition {
  std::string_view term;   // key: what the `term` fields of a report hold
  std::string_view title;  // how the word is written
  std::string_view text;
};

// All of them, sorted by key.
[[nodiscard]] std::span<const Definition> Definitions();

// The one with that key, or nullptr. O(log n).
[[nodiscard]] const Definition* FindDefinition(std::string_view term);

// Those that the report refers to or its findings need, in order of key.
[[nodiscard]] std::vector<Definition> DefinitionsFor(const ReportDoc& doc);

// The glossary as it stands in docs/reading-the-report.md.
[[nodiscard]] std::string DefinitionsMarkdown();

}  // namespace headway::report
