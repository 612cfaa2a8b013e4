// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file that works from disk: the page of web/ with the report packed into it. Nothing in it is
// fetched or sent, and its policy lets no other script than the page's own run, whatever a trace's strings say.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report_doc.h"

namespace headway::report {

// kUnsupported where headway was built without the page; the message says what was missing.
[[nodiscard]] Result<std::string> RenderHtml(const ReportDoc& doc);

// `page` with its holes filled; RenderHtml uses the embedded one. Marks that no hole is for stay as they are.
[[nodiscard]] std::string FillPage(std::string_view page, const ReportDoc& doc);

// Text for an element or a quoted attribute; invalid UTF-8 becomes U+FFFD, control characters but tab and newline too.
[[nodiscard]] std::string EscapeHtml(std::string_view text);

}  // namespace headway::report
