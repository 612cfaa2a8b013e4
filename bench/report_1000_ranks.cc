// SPDX-License-Identifier: Apache-2.0
// How long a report of 1,000 ranks and 20 steps takes to write, and how large it is:
// build/<preset>/bench/report_1000_ranks. How fast the page is then there is measured in tests/web/page_test.mjs.
#include <benchmark/benchmark.h>

#include "report/html_renderer.h"
#include "report/page_json.h"
#include "report/text_renderer.h"
#include "tests/web/sample_report.h"

namespace {

const headway::report::ReportDoc& Thousand() {
  static const auto* doc = new headway::report::ReportDoc(headway::sample::Diagnosis({.ranks = 1000, .steps = 20}));
  return *doc;
}

void Text(benchmark::State& state) {
  size_t bytes = 0;
  for (auto _ : state) bytes = headway::report::RenderText(Thousand(), {.section = "all"})->size();
  state.counters["bytes"] = static_cast<double>(bytes);
}

void Json(benchmark::State& state) {
  size_t bytes = 0;
  for (auto _ : state) bytes = headway::report::PageJson(Thousand()).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}

void Page(benchmark::State& state) {
  size_t bytes = 0;
  for (auto _ : state) {
    const auto page = headway::report::RenderHtml(Thousand());
    if (!page) {
      state.SkipWithError(page.error().message.c_str());
      return;
    }
    bytes = page->size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

BENCHMARK(Text)->Unit(benchmark::kMillisecond);
BENCHMARK(Json)->Unit(benchmark::kMillisecond);
BENCHMARK(Page)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
