// SPDX-License-Identifier: Apache-2.0
#include "diagnose/function_tables.h"

#include <algorithm>
#include <cmath>

#include "base/median.h"
#include "diagnose/function_rows.h"

namespace headway::diagnose {

using pattern::WorkClass;
using report::Table;
using report::Unit;

namespace {

constexpr double kLeastBeta = 0.01;

report::Value Utilisation(const FunctionRow& row, double value) {
  if (row.resource.empty()) return std::monostate{};
  return value;
}

Table::Row MakeRow(const Job& job, const FunctionRow& row, const FunctionSample& sample, Table::RowRole role,
                   int32_t pair) {
  const RankId rank = job.ranks[sample.rank].meta.rank;
  return {
      {row.path, int64_t{rank}, sample.beta, sample.mean_execution, sample.calls_per_step, Utilisation(row, sample.mu),
       Utilisation(row, sample.sigma), row.resource.empty() ? report::Value{} : report::Value{row.resource}},
      role,
      pair,
      rank};
}

void AddRows(const Job& job, const FunctionRow& row, int32_t* pair, Table* table) {
  std::vector<double> distance(job.num_ranks() - row.samples.size(), row.median_beta);
  for (const FunctionSample& sample : row.samples) distance.push_back(std::abs(sample.beta - row.median_beta));
  const double mad = UpperMedian(std::move(distance));
  const double limit = row.median_beta + 5 * std::max({mad, 0.02 * row.median_beta, 0.002});
  const FunctionSample* normal = nullptr;
  for (const FunctionSample& sample : row.samples) {
    if (normal == nullptr || std::abs(sample.beta - row.median_beta) < std::abs(normal->beta - row.median_beta)) {
      normal = &sample;
    }
  }
  bool any = false;
  for (const FunctionSample& sample : row.samples) {
    if (job.num_ranks() < 3 || sample.beta <= kLeastBeta || sample.beta <= limit || &sample == normal) continue;
    table->rows.push_back(MakeRow(job, row, sample, Table::RowRole::kAbnormal, *pair));
    any = true;
  }
  table->rows.push_back(
      MakeRow(job, row, *normal, any ? Table::RowRole::kNormal : Table::RowRole::kPlain, any ? (*pair)++ : -1));
}

}  // namespace

std::vector<report::Section> FunctionTables(const Job& job, int threads, size_t max_functions) {
  struct Spec {
    const char* name;
    const char* title;
    FunctionKind kind;
  };
  static constexpr Spec kSpecs[] = {
      {report::section::kComputeKernels, "Compute kernels", {WorkClass::kCompute, WorkClass::kCompute}},
      {report::section::kMemoryOperations, "Memory operations", {WorkClass::kMemory, WorkClass::kMemory}},
      {report::section::kCommunication, "Communication", {WorkClass::kCommunication, WorkClass::kCommunication}},
      {report::section::kCudaRuntime, "Runtime calls", {WorkClass::kRuntime, WorkClass::kRuntime, true}},
      {report::section::kPythonPaths, "Python and host call paths", {WorkClass::kHost, WorkClass::kInput}},
  };
  std::vector<FunctionKind> kinds;
  for (const Spec& spec : kSpecs) kinds.push_back(spec.kind);
  const auto rows_by_kind = CollectFunctionRows(job, kinds, kLeastBeta, threads);
  std::vector<report::Section> sections;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const Spec& spec = kSpecs[k];
    const std::vector<FunctionRow>& rows = rows_by_kind[k];
    if (rows.empty()) continue;
    Table table;
    table.columns = {{"function", Unit::kText, ""},     {"rank", Unit::kRank, ""},
                     {"beta", Unit::kShare, "beta"},    {"mean execution", Unit::kDuration, "mean-execution"},
                     {"calls/step", Unit::kNumber, ""}, {"mu", Unit::kNumber, "mu"},
                     {"sigma", Unit::kNumber, "sigma"}, {"resource", Unit::kText, "resource"}};
    table.sort_column = -1;
    int32_t pair = 0;
    for (size_t i = 0; i < rows.size() && i < max_functions; ++i) AddRows(job, rows[i], &pair, &table);
    if (rows.size() > max_functions) {
      table.notes.push_back(std::to_string(rows.size() - max_functions) + " more functions above 1 % are not listed");
    }
    report::Section section;
    section.name = spec.name;
    section.title = spec.title;
    section.intro =
        "Functions that hold at least 1 % of the window on some rank; a rank that differs stands beside a normal one.";
    section.body = std::move(table);
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace headway::diagnose
