// SPDX-License-Identifier: Apache-2.0
// findings.json: the contract of docs/findings.schema.json.
#pragma once

#include <string>

#include "report/findings_document.h"

namespace headway::report {

// Indented by two spaces, one line a short list; ends in a newline. The same document gives the same bytes.
[[nodiscard]] std::string RenderFindingsJson(const FindingsDocument& document);

}  // namespace headway::report
