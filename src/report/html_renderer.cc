// SPDX-License-Identifier: Apache-2.0
#include "report/html_renderer.h"

#include "base/text.h"
#include "base/utf8.h"
#include "report/embedded_page.h"
#include "report/gzip.h"
#include "report/page_json.h"

namespace headway::report {
namespace {

constexpr std::string_view kHole = "@@HEADWAY_";
constexpr std::string_view kHoleEnd = "@@";

std::string Filling(std::string_view name, const ReportDoc& doc) {
  if (name == "TITLE") return EscapeHtml(Printable(doc.title));
  if (name == "SENTENCE") return EscapeHtml(Printable(doc.headline.sentence));
  if (name == "REPORT") return Base64(Gzip(PageJson(doc)));
  return std::string(kHole).append(name).append(kHoleEnd);
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    text.remove_prefix(step.length);
    switch (step.code) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: {
        const bool control = (step.code < 0x20 && step.code != '\t' && step.code != '\n') || step.code == 0x7f;
        AppendUtf8(&out, control ? kReplacement : step.code);
      }
    }
  }
  return out;
}

std::string FillPage(std::string_view page, const ReportDoc& doc) {
  std::string out;
  while (true) {
    const size_t start = page.find(kHole);
    const size_t end = start == std::string_view::npos ? start : page.find(kHoleEnd, start + kHole.size());
    if (end == std::string_view::npos) return out.append(page);
    out.append(page.substr(0, start));
    out.append(Filling(page.substr(start + kHole.size(), end - start - kHole.size()), doc));
    page.remove_prefix(end + kHoleEnd.size());
  }
}

Result<std::string> RenderHtml(const ReportDoc& doc) {
  if (EmbeddedPage().empty()) {
    return MakeError(ErrorCode::kUnsupported,
                     "this headway was built without the report's page: " + std::string(EmbeddedPageProblem()) +
                         "; mend that and build again, the text and JSON forms work meanwhile");
  }
  return FillPage(EmbeddedPage(), doc);
}

}  // namespace headway::report
