// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <variant>

#include "tests/web/sample_report.h"

namespace headway::sample {
namespace {

using report::ReportDoc;
using report::Section;

// Each tries another way out. tests/web/page_test.mjs knows that window.broken must stay unset and that a marker of
// each is found as text.
class Hostility {
 public:
  // A different one each time, with the old text kept so that the page stays recognisable.
  std::string operator()(const std::string& text) {
    static const std::string kWays[] = {
        "</script><script>window.broken=1</script>",
        "<img src=x onerror=\"window.broken=2\">",
        "\"><svg onload=window.broken=3>",
        "<!--<script>",
        "=HYPERLINK(\"http://evil.invalid/\",\"x\")",
        "${window.broken=4} {{window.broken=5}} @@HEADWAY_REPORT@@",
        std::string("nul\0tab\tbell\a esc\x1b[31m", 21),
        "left\u202eright \u2028 line \u2029 paragraph",
        "bad utf-8 \xff\xfe\xc0\x80 \xed\xa0\x80",
        "javascript:window.broken=6",
        "&lt;b&gt;&amp;",
    };
    constexpr size_t kCount = std::size(kWays);
    return text + " " + kWays[at_++ % kCount];
  }

  void Each(std::string* text) { *text = (*this)(*text); }

 private:
  size_t at_ = 0;
};

struct Spoil {
  Hostility* with;
  void operator()(report::Text& body) const {
    for (std::string& text : body.paragraphs) with->Each(&text);
  }
  void operator()(report::Facts& body) const {
    for (report::Fact& fact : body.facts) with->Each(&fact.label);
  }
  void operator()(report::Waterfall& body) const {
    for (auto& item : body.items) with->Each(&item.name);
  }
  void operator()(report::StackedBars& body) const {
    for (auto& series : body.series) with->Each(&series.name);
    with->Each(&body.bars.front().label);
  }
  void operator()(report::HeatStrip& body) const {
    for (auto& metric : body.metrics) with->Each(&metric.name);
    with->Each(&body.row_name);
  }
  void operator()(report::Timeline& body) const {
    for (std::string& name : body.names) with->Each(&name);
    for (auto& lane : body.lanes) lane.owner += " <b>";
  }
  void operator()(report::Table& body) const {
    for (auto& column : body.columns) with->Each(&column.title);
    for (auto& row : body.rows) {
      if (auto* text = std::get_if<std::string>(&row.cells.front())) with->Each(text);
    }
    body.rows.front().cells.front() = std::string(4096, 'k') + "<i>";
    for (std::string& note : body.notes) with->Each(&note);
  }
  void operator()(report::Chart& body) const { with->Each(&body.x_name); }
};

void SpoilFinding(report::Finding* finding, Hostility* with) {
  for (std::string* text : {&finding->confidence_reason, &finding->headline, &finding->sentence, &finding->suggestion,
                            &finding->edit, &finding->scope.function, &finding->scope.group}) {
    with->Each(text);
  }
  for (auto& row : finding->evidence) {
    for (std::string* text : {&row.metric, &row.value, &row.peers, &row.source}) with->Each(text);
  }
}

}  // namespace

ReportDoc Hostile() {
  ReportDoc doc = Diagnosis({});
  Hostility with;
  for (std::string* text :
       {&doc.title, &doc.headline.sentence, &doc.headline.now_label, &doc.data_quality.summary, &doc.version})
    with.Each(text);
  for (auto& line : doc.header) with.Each(&line.text);
  for (auto& place : doc.places) {
    place.host += "<u>";
    with.Each(&place.device);
  }
  for (auto& finding : doc.findings) SpoilFinding(&finding, &with);
  for (Section& section : doc.sections) {
    with.Each(&section.title);
    with.Each(&section.intro);
    std::visit(Spoil{&with}, section.body);
  }
  for (auto& entry : doc.not_checked) with.Each(&entry.why);
  for (auto& problem : doc.data_quality.problems) with.Each(&problem.where);
  for (auto& command : doc.commands) with.Each(&command.command);
  return doc;
}

}  // namespace headway::sample
