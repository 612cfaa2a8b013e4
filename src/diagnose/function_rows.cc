// SPDX-License-Identifier: Apache-2.0
#include "diagnose/function_rows.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/median.h"
#include "base/parallel.h"
#include "diagnose/function_view.h"

namespace headway::diagnose {

using pattern::FunctionTable;
using pattern::FunctionTotals;
using pattern::RankPattern;

namespace {

constexpr size_t kBlock = 64;  // ranks that share buffers

std::string PathOf(const FunctionTable& table, pattern::FunctionId id) {
  std::vector<const std::string*> frames;
  for (; id >= 0; id = table[static_cast<size_t>(id)].parent) frames.push_back(&table[static_cast<size_t>(id)].name);
  std::string path;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) path += (path.empty() ? "" : " | ") + **it;
  return path;
}

bool Counts(const FunctionTotals& totals) { return totals.calls != 0 || totals.uncovered != 0; }

class RowCollector {
 public:
  RowCollector(const Job& job, const std::vector<FunctionKind>& kinds, int threads)
      : job_(job), kinds_(kinds), threads_(threads) {
    for (const RankPattern& rank : job.ranks) AddTable(*rank.function_table);
  }

  std::vector<std::vector<FunctionRow>> Collect(double least_beta) {
    const std::vector<double> most = MostByRow();
    std::vector<std::vector<FunctionRow>> out(kinds_.size());
    std::vector<FunctionRow*> listed(numbers_.size(), nullptr);
    for (const auto& [key, row] : numbers_) {
      if (most[static_cast<size_t>(row)] >= least_beta) out[key.first].emplace_back().path = key.second;
    }
    std::vector<size_t> next(kinds_.size(), 0);  // only now no row moves any more
    for (const auto& [key, row] : numbers_) {
      if (most[static_cast<size_t>(row)] >= least_beta) {
        listed[static_cast<size_t>(row)] = &out[key.first][next[key.first]++];
      }
    }
    AddSamples(listed);
    for (std::vector<FunctionRow>& rows : out) {
      for (FunctionRow& row : rows) {
        std::vector<double> beta(job_.num_ranks() - row.samples.size(), 0.0);
        for (const FunctionSample& sample : row.samples) beta.push_back(sample.beta);
        row.median_beta = UpperMedian(std::move(beta));
      }
      std::stable_sort(rows.begin(), rows.end(),
                       [](const FunctionRow& x, const FunctionRow& y) { return x.median_beta > y.median_beta; });
    }
    return out;
  }

 private:
  // Numbers the rows that a table's functions belong to; -1 = to none.
  void AddTable(const FunctionTable& table) {
    const auto [rows, fresh] = rows_of_.try_emplace(&table);
    if (!fresh) return;
    for (size_t f = 0; f < table.size(); ++f) {
      const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const FunctionKind& k) {
        return table[f].work_class == k.a || table[f].work_class == k.b;
      });
      std::string path;
      if (kind != kinds_.end()) path = kind->by_name ? table[f].name : PathOf(table, static_cast<int32_t>(f));
      if (path.empty()) {
        rows->second.push_back(-1);
        continue;
      }
      const auto number = static_cast<int32_t>(numbers_.size());
      const std::pair key{static_cast<size_t>(kind - kinds_.begin()), std::move(path)};
      rows->second.push_back(numbers_.try_emplace(key, number).first->second);
    }
  }

  [[nodiscard]] static double WindowOf(const RankPattern& rank) {
    return rank.steps.empty() ? 0 : static_cast<double>(rank.window_end - rank.window_start);
  }

  // The largest beta of each row on any rank.
  [[nodiscard]] std::vector<double> MostByRow() const {
    std::vector<double> most(numbers_.size(), 0);
    std::mutex mutex;
    ParallelBlocks(job_.num_ranks(), kBlock, threads_, [&](size_t begin, size_t end) {
      std::vector<double> beta(most.size()), block_most(most.size(), 0);
      for (size_t r = begin; r < end; ++r) {
        const RankPattern& rank = job_.ranks[r];
        const double window = WindowOf(rank);
        if (window <= 0) continue;
        std::fill(beta.begin(), beta.end(), 0.0);
        const std::vector<int32_t>& rows = rows_of_.at(rank.function_table.get());
        for (size_t f = 0; f < rows.size(); ++f) {
          if (rows[f] >= 0)
            beta[static_cast<size_t>(rows[f])] += static_cast<double>(rank.functions[f].uncovered) / window;
        }
        for (size_t i = 0; i < beta.size(); ++i) block_most[i] = std::max(block_most[i], beta[i]);
      }
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], block_most[i]);
    });
    return most;
  }

  void AddSamples(const std::vector<FunctionRow*>& listed) const {
    for (size_t r = 0; r < job_.num_ranks(); ++r) {
      const RankPattern& rank = job_.ranks[r];
      const double window = WindowOf(rank);
      if (window <= 0) continue;
      const std::vector<int32_t>& rows = rows_of_.at(rank.function_table.get());
      for (size_t f = 0; f < rows.size(); ++f) {
        FunctionRow* row = rows[f] < 0 ? nullptr : listed[static_cast<size_t>(rows[f])];
        const FunctionTotals& totals = rank.functions[f];
        if (row == nullptr || !Counts(totals)) continue;
        if (row->resource.empty()) row->resource = (*rank.function_table)[f].resource;
        if (row->samples.empty() || row->samples.back().rank != r) row->samples.push_back({.rank = r});
        FunctionSample& sample = row->samples.back();
        sample.beta += static_cast<double>(totals.uncovered) / window;
        sample.mu = totals.mu;
        sample.sigma = totals.sigma;
        if (totals.calls > 0) sample.mean_execution = totals.total / totals.calls;
        sample.calls_per_step += static_cast<double>(totals.calls) / static_cast<double>(rank.steps.size());
      }
    }
  }

  const Job& job_;
  const std::vector<FunctionKind>& kinds_;
  int threads_;
  std::map<std::pair<size_t, std::string>, int32_t> numbers_;     // (kind, path) -> row
  std::map<const FunctionTable*, std::vector<int32_t>> rows_of_;  // by function; looked up only
};

}  // namespace

std::vector<std::vector<FunctionRow>> CollectFunctionRows(const Job& job, const std::vector<FunctionKind>& kinds,
                                                          double least_beta, int threads) {
  return RowCollector(job, kinds, threads).Collect(least_beta);
}

}  // namespace headway::diagnose
