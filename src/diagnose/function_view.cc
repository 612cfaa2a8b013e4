// SPDX-License-Identifier: Apache-2.0
#include "diagnose/function_view.h"

#include <algorithm>

#include "diagnose/step_selection.h"

namespace headway::diagnose {

const std::vector<FunctionView::Node>& FunctionView::MapOf(const std::shared_ptr<const pattern::FunctionTable>& table) {
  const auto [it, inserted] = maps_.try_emplace(table.get());
  if (!inserted) return it->second;
  std::vector<Node>& map = it->second;
  for (const pattern::FunctionName& function : *table) {
    Row row{function.parent < 0 ? -1 : map[static_cast<size_t>(function.parent)], function.name, function.work_class};
    const auto [at, fresh] = index_.try_emplace(row, static_cast<Node>(nodes_.size()));
    if (fresh) nodes_.push_back(row);
    map.push_back(at->second);
  }
  return map;
}

const std::vector<pattern::FunctionStep>& FunctionView::RowsOf(size_t rank) {
  const pattern::RankPattern& p = job_.ranks[rank];
  if (!p.function_steps.empty() || !job_.load_function_steps) return p.function_steps;
  const auto [it, fresh] = loaded_.try_emplace(rank);
  if (fresh) {
    it->second = job_.load_function_steps(p.meta.rank);
    KeepSelected(p, &it->second);
  }
  return it->second;
}

std::vector<FunctionView::Cell> FunctionView::Sum(size_t rank, std::span<const size_t> steps) {
  const std::vector<Node>& map = MapOf(job_.ranks[rank].function_table);
  std::vector<Cell> sums(nodes_.size());
  std::vector<int32_t> wanted;  // of the rank's own steps
  for (const size_t s : steps) {
    const int32_t i = job_.step_index[rank * job_.num_steps() + s];
    if (i >= 0) wanted.push_back(i);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  // Steps may be asked for one by one: their rows are looked up, not searched through.
  const std::vector<pattern::FunctionStep>& rows = RowsOf(rank);
  for (const int32_t step : wanted) {
    auto row = std::ranges::lower_bound(rows, step, {}, &pattern::FunctionStep::step);
    for (; row != rows.end() && row->step == step; ++row) {
      Cell& cell = sums[static_cast<size_t>(map[static_cast<size_t>(row->function)])];
      cell.own += row->own;
      cell.calls += row->calls;
    }
  }
  return sums;
}

std::vector<std::vector<FunctionView::Cell>> FunctionView::SumByStep(size_t rank) {
  const pattern::RankPattern& p = job_.ranks[rank];
  const std::vector<Node>& map = MapOf(p.function_table);
  std::vector<std::vector<Cell>> sums(job_.num_steps(), std::vector<Cell>(nodes_.size()));
  std::vector<size_t> axis_step(p.steps.size(), job_.num_steps());
  for (size_t s = 0; s < job_.num_steps(); ++s) {
    const int32_t i = job_.step_index[rank * job_.num_steps() + s];
    if (i >= 0) axis_step[static_cast<size_t>(i)] = s;
  }
  for (const pattern::FunctionStep& row : RowsOf(rank)) {
    const size_t s = axis_step[static_cast<size_t>(row.step)];
    if (s == job_.num_steps()) continue;
    Cell& cell = sums[s][static_cast<size_t>(map[static_cast<size_t>(row.function)])];
    cell.own += row.own;
    cell.calls += row.calls;
  }
  return sums;
}

std::vector<Nanos> FunctionView::Series(Node node, size_t rank) {
  std::vector<Nanos> series(job_.num_steps(), 0);
  const std::vector<std::vector<Cell>> by_step = SumByStep(rank);
  for (size_t s = 0; s < series.size(); ++s) {
    const std::vector<Cell>& sums = by_step[s];
    std::vector<bool> below(sums.size(), false);
    for (size_t n = 0; n < sums.size(); ++n) {  // parents come before their children
      const Node up = nodes_[n].parent;
      below[n] = static_cast<Node>(n) == node || (up >= 0 && below[static_cast<size_t>(up)]);
      if (below[n] && nodes_[n].work_class != pattern::WorkClass::kCommunication) series[s] += sums[n].own;
    }
  }
  return series;
}

std::string ShortFrame(const std::string& name) {
  for (const std::string_view prefix : {"<built-in function ", "<built-in method "}) {
    if (name.starts_with(prefix)) {
      const size_t from = prefix.size();
      const size_t to = name.find_first_of(" >", from);
      std::string function = name.substr(from, to == std::string::npos ? to : to - from);
      return function == "collect" ? "gc.collect" : function;  // the only built-in whose bare name says nothing
    }
  }
  const size_t colon = name.find("): ");
  if (colon != std::string::npos && name.find(".py(") < colon) return name.substr(colon + 3);
  return name;
}

std::string FunctionView::Path(Node node, int depth) const {
  std::vector<std::string> frames;
  for (; node >= 0 && static_cast<int>(frames.size()) < depth; node = parent(node)) {
    std::string frame = ShortFrame(name(node));
    if (frames.empty() || frames.back() != frame) frames.push_back(std::move(frame));
  }
  std::string path;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) path += (path.empty() ? "" : " > ") + *it;
  return path;
}

}  // namespace headway::diagnose
