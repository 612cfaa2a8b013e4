// SPDX-License-Identifier: Apache-2.0
// What a diagnosis comes to in one line and one sentence.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/report_doc.h"

namespace headway::diagnose {

// "57 ms median (p95 60 ms); 12 ms of it can be won back". Where a few long steps hold much of the window the gain is
// told as a part of the mean step, of which it is one, and so does HeadlineOf.
[[nodiscard]] std::string StepLine(const Diagnosis& diagnosis);

[[nodiscard]] report::Headline HeadlineOf(const Diagnosis& diagnosis);

}  // namespace headway::diagnose
