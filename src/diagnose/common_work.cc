// SPDX-License-Identifier: Apache-2.0
#include "diagnose/common_work.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

struct Sum {
  Nanos time = 0;
  int64_t calls = 0;
};

// With its caller's: a kernel's launch shape is one under the kernel, and other kernels have it, too.
using Name = std::pair<std::string_view, std::string_view>;

std::map<Name, Sum> ComputeOf(const pattern::RankPattern& rank) {
  std::map<Name, Sum> out;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    // What small functions are summed up to, "(other)", is another sum on each rank.
    if (name.work_class != pattern::WorkClass::kCompute || name.name.front() == '(') continue;
    const bool has_caller = name.parent >= 0;
    const auto caller =
        has_caller ? std::string_view((*rank.function_table)[static_cast<size_t>(name.parent)].name) : "";
    Sum& sum = out[{caller, name.name}];
    sum.time += rank.functions[f].total;
    sum.calls += rank.functions[f].calls;
  }
  return out;
}

}  // namespace

MoreCalls CallsBeyond(const Job& job, size_t rank, std::span<const size_t> others) {
  MoreCalls out;
  std::vector<std::map<Name, Sum>> theirs;
  for (const size_t r : others) theirs.push_back(ComputeOf(job.ranks[r]));
  Nanos all = 0, most = 0;
  for (const auto& [name, mine] : ComputeOf(job.ranks[rank])) {
    std::vector<Nanos> calls;  // the type of Median
    for (const auto& other : theirs) {
      if (const auto it = other.find(name); it != other.end() && it->second.calls > 0)
        calls.push_back(it->second.calls);
    }
    if (calls.size() < theirs.size() || mine.calls == 0) continue;
    const int64_t usual = Median(std::move(calls));
    const auto more = static_cast<double>(mine.calls - usual) / static_cast<double>(mine.calls);
    const auto time = static_cast<Nanos>(more * static_cast<double>(mine.time));
    all += time;
    if (time <= most) continue;
    most = time;
    out.function = name.second;
    out.calls = mine.calls;
    out.usual = usual;
  }
  out.per_step = all / static_cast<Nanos>(std::max<size_t>(1, job.ranks[rank].steps.size()));
  return out;
}

std::vector<Nanos> ComputeByCalls(const Job& job, FunctionView* view, size_t rank) {
  std::vector<std::vector<FunctionView::Cell>> steps;
  std::vector<FunctionView::Cell> all;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const size_t step[] = {s};
    steps.push_back(view->Sum(rank, step));
    all.resize(std::max(all.size(), steps.back().size()));
    for (size_t n = 0; n < steps.back().size(); ++n) {
      all[n].own += steps.back()[n].own;
      all[n].calls += steps.back()[n].calls;
    }
  }
  std::vector<Nanos> out(job.num_steps(), 0);
  for (size_t n = 0; n < all.size(); ++n) {
    const auto node = static_cast<FunctionView::Node>(n);
    if (all[n].calls == 0 || view->work_class(node) != pattern::WorkClass::kCompute) continue;
    const double mean = static_cast<double>(all[n].own) / static_cast<double>(all[n].calls);
    for (size_t s = 0; s < steps.size(); ++s) {
      if (n < steps[s].size()) out[s] += static_cast<Nanos>(mean * static_cast<double>(steps[s][n].calls));
    }
  }
  return out;
}

}  // namespace headway::diagnose
