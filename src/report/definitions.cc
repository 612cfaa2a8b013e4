// SPDX-License-Identifier: Apache-2.0
#include "report/definitions.h"

#include <algorithm>
#include <array>
#include <set>

#include "report/text_layout.h"

namespace headway::report {
namespace {

constexpr int kMarkdownWidth = 120;

constexpr auto kDefinitions = std::to_array<Definition>({
#include "report/data/definitions.inc"
});

static_assert(std::ranges::is_sorted(kDefinitions, {}, &Definition::term));

using Terms = std::set<std::string_view>;

void Collect(const std::vector<Fact>& facts, Terms* terms) {
  for (const Fact& fact : facts) terms->insert(fact.term);
}

// Gathers the `term` fields of each kind of section.
struct TermsOf {
  Terms* terms;
  void operator()(const Text& /*body*/) const {}
  void operator()(const Facts& body) const { Collect(body.facts, terms); }
  void operator()(const Waterfall& body) const {
    for (const Waterfall::Item& item : body.items) terms->insert(item.term);
  }
  void operator()(const StackedBars& body) const {
    for (const StackedBars::Series& series : body.series) terms->insert(series.term);
    terms->insert("own-time");
  }
  void operator()(const HeatStrip& body) const {
    for (const HeatStrip::Metric& metric : body.metrics) terms->insert(metric.term);
  }
  void operator()(const Timeline& body) const {
    if (body.clock_residual > 0) terms->insert("clock-residual");
  }
  void operator()(const Table& body) const {
    for (const Table::Column& column : body.columns) terms->insert(column.term);
  }
  void operator()(const Chart& /*body*/) const {}
};

}  // namespace

std::span<const Definition> Definitions() { return kDefinitions; }

const Definition* FindDefinition(std::string_view term) {
  const auto at = std::ranges::lower_bound(kDefinitions, term, {}, &Definition::term);
  return at != kDefinitions.end() && at->term == term ? &*at : nullptr;
}

std::vector<Definition> DefinitionsFor(const ReportDoc& doc) {
  Terms terms;
  Collect(doc.key_facts, &terms);
  Collect(doc.data_quality.facts, &terms);
  for (const Section& section : doc.sections) std::visit(TermsOf{&terms}, section.body);
  if (!doc.findings.empty()) {
    terms.insert({"recoverable-time", "confidence", "severity", "victim", "culprit", "peers", "worst-step"});
  }
  if (doc.headline.attainable) terms.insert({"attainable", "recoverable-time"});
  std::vector<Definition> found;
  for (const Definition& definition : kDefinitions) {
    if (terms.contains(definition.term)) found.push_back(definition);
  }
  return found;
}

std::string DefinitionsMarkdown() {
  std::string text;
  for (const Definition& definition : kDefinitions) {
    const std::string entry = "**" + std::string(definition.title) + "**: " + std::string(definition.text);
    for (const std::string& line : WrapWords(entry, kMarkdownWidth)) text.append(line).append("\n");
    text.append("\n");
  }
  return text;
}

}  // namespace headway::report
