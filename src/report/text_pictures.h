// SPDX-License-Identifier: Apache-2.0
// Pictures in characters: waterfall, bars per rank, heat strip, timeline. Internal to the text renderer.
#pragma once

#include <string>

#include "report/report_doc.h"
#include "report/text_renderer.h"

namespace headway::report {

// Part, time, share and a bar that begins where the last one ended.
[[nodiscard]] std::string WaterfallText(const Waterfall& waterfall, const TextOptions& options);

// The ranks of longest own time, a column a class.
[[nodiscard]] std::string StackedBarsText(const ReportDoc& doc, const StackedBars& bars, const TextOptions& options);

// The first metric: a line a rank (those with the worst cells), a shade a step from " " (good) to "█" (worst).
[[nodiscard]] std::string HeatStripText(const ReportDoc& doc, const HeatStrip& strip, const TextOptions& options);

// A line a lane, each character the class that fills most of its stretch of time: C compute, m memory, t transfer,
// w waiting, h host, i input, "." idle.
[[nodiscard]] std::string TimelineText(const Timeline& timeline, const TextOptions& options);

}  // namespace headway::report
