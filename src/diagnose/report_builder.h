// SPDX-License-Identifier: Apache-2.0
// A diagnosis as a report: the same facts as text, page and JSON.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "report/findings_document.h"
#include "report/report_doc.h"

namespace headway::diagnose {

struct ReportOptions {
  std::string title;    // what the user named: "run-17/"
  std::string version;  // of headway
  int threads = 1;      // the report does not depend on them
};

[[nodiscard]] report::ReportDoc BuildReport(const Diagnosis& diagnosis, const ReportOptions& options);
[[nodiscard]] report::FindingsDocument BuildFindings(const Diagnosis& diagnosis);

}  // namespace headway::diagnose
