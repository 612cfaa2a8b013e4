// SPDX-License-Identifier: Apache-2.0
#include "diagnose/host_speed.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/median.h"
#include "diagnose/excess.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;
using Node = FunctionView::Node;

constexpr size_t kMostRanks = 256;
constexpr size_t kLeastFunctions = 8;
constexpr double kSlow = 0.08;  // longer; hosts wander by a few per cent

// What three quarters of the values reach.
double LowerQuarter(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// What a rank calls, by step.
struct CallsByStep {
  std::vector<std::vector<FunctionView::Cell>> cells;  // [axis step][node]; later nodes are not called

  [[nodiscard]] FunctionView::Cell At(size_t s, size_t node) const {
    return node < cells[s].size() ? cells[s][node] : FunctionView::Cell{};
  }
};

CallsByStep CallsOf(FunctionView* view, size_t rank) { return {view->SumByStep(rank)}; }

// Mean time of a call over these steps; 0 where it is not called in them.
double CallTime(const CallsByStep& calls, const std::vector<size_t>& steps, size_t node) {
  Nanos own = 0;
  int64_t count = 0;
  for (const size_t s : steps) {
    own += calls.At(s, node).own;
    count += calls.At(s, node).calls;
  }
  return count > 0 ? static_cast<double>(own) / static_cast<double>(count) : 0;
}

// Functions called in every step that hold half a per cent of the rank's time or more.
std::vector<size_t> Telling(const Job& job, const FunctionView& view, const CallsByStep& calls) {
  std::vector<size_t> out;
  std::vector<Nanos> own(view.size(), 0);
  Nanos all = 0;
  for (size_t n = 0; n < own.size(); ++n) {
    const WorkClass c = view.work_class(static_cast<Node>(n));
    if (c == WorkClass::kCommunication || c == WorkClass::kIdle) continue;
    bool always = true;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      own[n] += calls.At(s, n).own;
      always = always && calls.At(s, n).calls > 0;
    }
    all += own[n];
    if (always) out.push_back(n);
  }
  std::erase_if(out, [&](size_t n) { return own[n] * 200 < all; });
  return out;
}

// What a series usually is where up to `share` of its values may stand out.
double UsualOf(std::vector<double> series, double share) {
  const auto at = series.begin() + static_cast<std::ptrdiff_t>((1 - share) * static_cast<double>(series.size() - 1));
  std::nth_element(series.begin(), at, series.end());
  return *at;
}

// By axis step: how many times as long as usual (up to `share` of the steps may stand out) three quarters of the rank's
// functions take. Empty where there are too few.
std::vector<double> SlownessOf(const Job& job, const FunctionView& view, const CallsByStep& calls, double share) {
  const std::vector<size_t> functions = Telling(job, view, calls);
  if (functions.size() < kLeastFunctions) return {};
  std::vector<std::vector<double>> by_step(job.num_steps());
  for (const size_t n : functions) {
    std::vector<double> times;
    for (size_t s = 0; s < by_step.size(); ++s) times.push_back(CallTime(calls, {s}, n));
    const double usual = UsualOf(times, share);
    if (usual <= 0) continue;
    for (size_t s = 0; s < by_step.size(); ++s) by_step[s].push_back(times[s] / usual);
  }
  std::vector<double> out;
  for (std::vector<double>& ratios : by_step) out.push_back(ratios.empty() ? 1 : LowerQuarter(std::move(ratios)));
  return out;
}

// By how much in times of its usual value a series stands out, where it does; else 0.
std::vector<double> StandOut(const std::vector<double>& series, double share) {
  constexpr double kFarOfNoise = 6, kOfBellCurve = 1.4826;
  const double usual = UsualOf(series, share);
  std::vector<double> below, out;
  for (const double x : series) {
    if (x < usual) below.push_back(1 - x / usual);
  }
  const double noise = kOfBellCurve * UpperMedian(std::move(below));
  for (const double x : series) {
    const double beyond = x / usual - 1;
    out.push_back(beyond >= std::max(kSlow, kFarOfNoise * noise) ? beyond : 0);
  }
  return out;
}

std::vector<Nanos> AsCost(const std::vector<double>& beyond) {
  std::vector<Nanos> out;
  for (const double x : beyond) out.push_back(static_cast<Nanos>(x * 1e6));
  return out;
}

// What each of the rank's calls takes longer in a struck step than in the quiet ones, of those that follow the host:
// what waits for something else does not, and what stands still takes far longer.
std::vector<Nanos> CostOf(const FunctionView& view, const CallsByStep& calls, const std::vector<double>& beyond,
                          const std::vector<size_t>& quiet) {
  std::vector<Nanos> out(beyond.size(), 0);
  std::vector<double> usual(view.size(), 0);
  for (size_t n = 0; n < usual.size(); ++n) usual[n] = CallTime(calls, quiet, n);
  for (size_t s = 0; s < beyond.size(); ++s) {
    if (beyond[s] <= 0) continue;
    double sum = 0;
    for (size_t n = 0; n < usual.size(); ++n) {
      const FunctionView::Cell cell = calls.At(s, n);
      const double expected = usual[n] * static_cast<double>(cell.calls);
      const double longer = static_cast<double>(cell.own) - expected;
      const bool is_own = view.work_class(static_cast<Node>(n)) != WorkClass::kCommunication;
      if (is_own && 2 * longer >= beyond[s] * expected) sum += std::min(longer, 2 * beyond[s] * expected);
    }
    out[s] = static_cast<Nanos>(sum);
  }
  return out;
}

// What three quarters of the ranks reach, by axis step. Empty where that is not known of one of them.
std::vector<double> SlownessOfHost(const std::vector<size_t>& ranks, const std::vector<std::vector<double>>& of_rank) {
  std::vector<double> out;
  for (size_t s = 0; s < of_rank[ranks.front()].size(); ++s) {
    std::vector<double> values;
    for (const size_t r : ranks) {
      if (of_rank[r].empty()) return {};
      values.push_back(of_rank[r][s]);
    }
    out.push_back(LowerQuarter(std::move(values)));
  }
  return out;
}

// Whether the calls of the middle one of the other hosts take longer in the step, too, by a third of that.
bool OthersToo(const std::vector<std::vector<double>>& by_host, size_t host, size_t s, double beyond) {
  std::vector<double> others;
  for (size_t h = 0; h < by_host.size(); ++h) {
    if (h != host && !by_host[h].empty()) others.push_back(by_host[h][s] - 1);
  }
  return others.empty() || 3 * UpperMedian(std::move(others)) > beyond;
}

// By how much the host's calls take longer in those steps in which they do while the other hosts' do not; empty where
// these are too few. `share` of the steps at most.
std::vector<double> StruckSteps(const std::vector<std::vector<double>>& by_host, size_t host, double share) {
  constexpr int64_t kLeastSteps = 2;
  if (by_host[host].empty()) return {};
  std::vector<double> out = StandOut(by_host[host], share);
  for (size_t s = 0; s < out.size(); ++s) {
    if (out[s] > 0 && OthersToo(by_host, host, s, out[s])) out[s] = 0;
  }
  const auto struck = std::count_if(out.begin(), out.end(), [](double x) { return x > 0; });
  return struck >= kLeastSteps ? out : std::vector<double>();
}

SlowSteps Describe(FunctionView* view, const std::vector<size_t>& ranks, const std::vector<double>& beyond) {
  SlowSteps out;
  std::vector<double> ratios;
  double all = 0;
  for (size_t s = 0; s < beyond.size(); ++s) {
    if (beyond[s] > 0) ratios.push_back(1 + beyond[s]);
    if (beyond[s] <= 0) out.quiet_steps.push_back(s);
    all += 1 + beyond[s];
  }
  out.ratio = LowerMedian(&ratios);
  out.quiet = static_cast<double>(beyond.size()) / all;
  for (const size_t r : ranks) out.cost.push_back(CostOf(*view, CallsOf(view, r), beyond, out.quiet_steps));
  return out;
}

}  // namespace

std::vector<SlowSteps> FindSlowSteps(const Job& job, FunctionView* view, std::span<const std::vector<size_t>> hosts) {
  constexpr size_t kLeastSteps = 6;
  constexpr double kSome = 0.6, kFromOneOn = 0.75;  // of the steps: every second one may be one more than half
  if (hosts.size() < 2 || job.num_steps() < kLeastSteps || job.num_ranks() > kMostRanks) return {};
  if (std::any_of(job.ranks.begin(), job.ranks.end(), [](const auto& rank) { return rank.has_device; })) return {};
  std::map<double, std::vector<std::vector<double>>> by_rank;  // by share
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const CallsByStep calls = CallsOf(view, r);
    for (const double share : {kSome, kFromOneOn}) by_rank[share].push_back(SlownessOf(job, *view, calls, share));
  }
  std::map<size_t, SlowSteps> found;  // by host
  for (const double share : {kSome, kFromOneOn}) {
    std::vector<std::vector<double>> by_host;
    for (const std::vector<size_t>& ranks : hosts) by_host.push_back(SlownessOfHost(ranks, by_rank[share]));
    for (size_t h = 0; h < hosts.size(); ++h) {
      const std::vector<double> beyond = StruckSteps(by_host, h, share);
      const bool may = share == kSome || ClassifyWhen(AsCost(beyond), job.steps).kind == report::WhenKind::kOnset;
      if (!beyond.empty() && may) found.try_emplace(h, Describe(view, hosts[h], beyond));
    }
  }
  std::vector<SlowSteps> out;
  for (auto& [host, steps] : found) {
    out.push_back(std::move(steps));
    out.back().host = host;
  }
  return out;
}

}  // namespace headway::diagnose
