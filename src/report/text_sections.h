// SPDX-License-Identifier: Apache-2.0
// The terminal form of each kind of section, and of findings. Internal to the text renderer.
#pragma once

#include <string>

#include "report/report_doc.h"
#include "report/text_renderer.h"

namespace headway::report {

// Title, intro and body.
[[nodiscard]] std::string SectionText(const ReportDoc& doc, const Section& section, const TextOptions& options);

// " 1  SLOW DEVICE   rank 19 …   81 ms/step   sure" and what belongs to it. `number` from 1.
[[nodiscard]] std::string FindingText(const ReportDoc& doc, size_t number, const TextOptions& options);
// The same with evidence, victims and the rest of what is known.
[[nodiscard]] std::string FindingInFull(const ReportDoc& doc, size_t number, const TextOptions& options);

[[nodiscard]] std::string FindingsText(const ReportDoc& doc, const TextOptions& options);
[[nodiscard]] std::string NotCheckedText(const ReportDoc& doc, const TextOptions& options);
[[nodiscard]] std::string DataQualityText(const ReportDoc& doc, const TextOptions& options);
[[nodiscard]] std::string DefinitionsText(const ReportDoc& doc, const TextOptions& options);

// "step time   compute 61 %  ████   exposed communication 27 % (of it waiting 22 %)": one line, or two when narrow.
[[nodiscard]] std::string BreakdownLine(const Waterfall& waterfall, int width);

// "12 more rows, not shown (--rows 0 shows all)" and a newline.
[[nodiscard]] std::string MoreLine(size_t left, const std::string& noun, const TextOptions& options);

// "rank 19 (n2, gpu 3)", or "rank 19" where its place is not known.
[[nodiscard]] std::string RankName(const ReportDoc& doc, RankId rank);

}  // namespace headway::report
