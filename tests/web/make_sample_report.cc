// SPDX-License-Identifier: Apache-2.0
// make_sample_report KIND OUT: writes a made-up report as OUT, whose ending says the form (.html, .txt, .json for the
// page's data). KIND: diagnosis, healthy, thousand, hostile, other; or findings, which writes findings.json, or
// definitions, which writes the glossary of docs/reading-the-report.md.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "report/definitions.h"
#include "report/html_renderer.h"
#include "report/json_renderer.h"
#include "report/page_json.h"
#include "report/text_renderer.h"
#include "tests/web/sample_report.h"

namespace {

using headway::Result;
using headway::report::ReportDoc;

ReportDoc Sample(const std::string& kind) {
  if (kind == "healthy") return headway::sample::Diagnosis({.healthy = true});
  if (kind == "thousand") return headway::sample::Diagnosis({.ranks = 1000, .steps = 20});
  if (kind == "hostile") return headway::sample::Hostile();
  if (kind == "other") return headway::sample::OtherCommands();
  return headway::sample::Diagnosis({});
}

Result<std::string> Render(const std::string& kind, const std::string& out) {
  if (kind == "findings") return headway::report::RenderFindingsJson(headway::sample::Findings({}));
  if (kind == "definitions") return headway::report::DefinitionsMarkdown();
  const ReportDoc doc = Sample(kind);
  if (out.ends_with(".html")) return headway::report::RenderHtml(doc);
  if (out.ends_with(".json")) return headway::report::PageJson(doc);
  return headway::report::RenderText(doc, {.section = out.ends_with(".all.txt") ? "all" : ""});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr
        << "usage: make_sample_report diagnosis|healthy|thousand|hostile|other OUT.html|OUT.txt|OUT.all.txt|OUT.json\n";
    return 2;
  }
  const Result<std::string> text = Render(argv[1], argv[2]);
  if (!text) {
    std::cerr << text.error().ToString() << "\n";
    return 3;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << *text;
  return file.flush() ? 0 : 3;
}
