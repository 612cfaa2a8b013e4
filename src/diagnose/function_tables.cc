// SPDX-License-Identifier: Apache-2.0
#include "diagnose/function_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnose/function_view.h"

namespace headway::diagnose {

using pattern::WorkClass;
using report::Table;
using report::Unit;

namespace {

struct Sample {  // one function on one rank
  size_t rank = 0;
  double beta = 0, mu = 0, sigma = 0;
  Nanos mean_execution = 0;
  double calls_per_step = 0;
};

struct Row {
  std::string path;
  std::string resource;
  std::vector<Sample> samples;  // by rank
  double median_beta = 0;
};

double MedianOf(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// Paths of a table's functions, once per distinct table.
std::string PathOf(const pattern::FunctionTable& table, pattern::FunctionId id, bool whole) {
  std::vector<std::string> frames;
  for (; id >= 0; id = table[static_cast<size_t>(id)].parent) {
    frames.push_back(whole ? table[static_cast<size_t>(id)].name : ShortFrame(table[static_cast<size_t>(id)].name));
  }
  std::string path;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) path += (path.empty() ? "" : " | ") + *it;
  return path;
}

// Functions of the classes in question over all ranks; runtime calls are summed by name, whatever called them.
std::vector<Row> Collect(const Job& job, WorkClass a, WorkClass b, bool by_name) {
  std::map<std::string, Row> rows;
  std::map<const pattern::FunctionTable*, std::vector<std::string>> keys;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const pattern::RankPattern& rank = job.ranks[r];
    const auto window = static_cast<double>(rank.window_end - rank.window_start);
    if (window <= 0 || rank.steps.empty()) continue;
    auto [it, fresh] = keys.try_emplace(rank.function_table.get());
    if (fresh) {
      for (size_t f = 0; f < rank.function_table->size(); ++f) {
        const pattern::FunctionName& name = (*rank.function_table)[f];
        const bool wanted = name.work_class == a || name.work_class == b;
        it->second.push_back(!wanted   ? ""
                             : by_name ? name.name
                                       : PathOf(*rank.function_table, static_cast<int32_t>(f), true));
      }
    }
    for (size_t f = 0; f < rank.functions.size(); ++f) {
      const std::string& key = it->second[f];
      const pattern::FunctionTotals& totals = rank.functions[f];
      if (key.empty() || (totals.calls == 0 && totals.uncovered == 0)) continue;
      Row& row = rows[key];
      row.path = key;
      if (row.resource.empty()) row.resource = (*rank.function_table)[f].resource;
      if (row.samples.empty() || row.samples.back().rank != r) row.samples.push_back({r, 0, 0, 0, 0, 0});
      Sample& sample = row.samples.back();
      sample.beta += static_cast<double>(totals.uncovered) / window;
      sample.mu = totals.mu;
      sample.sigma = totals.sigma;
      if (totals.calls > 0) sample.mean_execution = totals.total / totals.calls;
      sample.calls_per_step += static_cast<double>(totals.calls) / static_cast<double>(rank.steps.size());
    }
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) {
    std::vector<double> beta(job.num_ranks() - row.samples.size(), 0.0);
    double most = 0;
    for (const Sample& sample : row.samples) {
      beta.push_back(sample.beta);
      most = std::max(most, sample.beta);
    }
    if (most < 0.01) continue;
    row.median_beta = MedianOf(std::move(beta));
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const Row& x, const Row& y) { return x.median_beta > y.median_beta; });
  return out;
}

report::Value Utilisation(const Row& row, double value) {
  if (row.resource.empty()) return std::monostate{};
  return value;
}

Table::Row MakeRow(const Job& job, const Row& row, const Sample& sample, Table::RowRole role, int32_t pair) {
  const RankId rank = job.ranks[sample.rank].meta.rank;
  return {
      {row.path, int64_t{rank}, sample.beta, sample.mean_execution, sample.calls_per_step, Utilisation(row, sample.mu),
       Utilisation(row, sample.sigma), row.resource.empty() ? report::Value{} : report::Value{row.resource}},
      role,
      pair,
      rank};
}

void AddRows(const Job& job, const Row& row, int32_t* pair, Table* table) {
  std::vector<double> distance(job.num_ranks() - row.samples.size(), row.median_beta);
  for (const Sample& sample : row.samples) distance.push_back(std::abs(sample.beta - row.median_beta));
  const double mad = MedianOf(std::move(distance));
  const double limit = row.median_beta + 5 * std::max({mad, 0.02 * row.median_beta, 0.002});
  const Sample* normal = nullptr;
  for (const Sample& sample : row.samples) {
    if (normal == nullptr || std::abs(sample.beta - row.median_beta) < std::abs(normal->beta - row.median_beta)) {
      normal = &sample;
    }
  }
  bool any = false;
  for (const Sample& sample : row.samples) {
    if (job.num_ranks() < 3 || sample.beta <= 0.01 || sample.beta <= limit || &sample == normal) continue;
    table->rows.push_back(MakeRow(job, row, sample, Table::RowRole::kAbnormal, *pair));
    any = true;
  }
  table->rows.push_back(
      MakeRow(job, row, *normal, any ? Table::RowRole::kNormal : Table::RowRole::kPlain, any ? (*pair)++ : -1));
}

}  // namespace

std::vector<report::Section> FunctionTables(const Job& job, size_t max_functions) {
  struct Spec {
    const char* name;
    const char* title;
    WorkClass a, b;
    bool by_name;
  };
  static constexpr Spec kSpecs[] = {
      {report::section::kComputeKernels, "Compute kernels", WorkClass::kCompute, WorkClass::kCompute, false},
      {report::section::kMemoryOperations, "Memory operations", WorkClass::kMemory, WorkClass::kMemory, false},
      {report::section::kCommunication, "Communication", WorkClass::kCommunication, WorkClass::kCommunication, false},
      {report::section::kCudaRuntime, "Runtime calls", WorkClass::kRuntime, WorkClass::kRuntime, true},
      {report::section::kPythonPaths, "Python and host call paths", WorkClass::kHost, WorkClass::kInput, false},
  };
  std::vector<report::Section> sections;
  for (const Spec& spec : kSpecs) {
    std::vector<Row> rows = Collect(job, spec.a, spec.b, spec.by_name);
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
