// SPDX-License-Identifier: Apache-2.0
// Ranks that no other rank runs the same program as (a pipeline with one rank a stage) have no peers to be held
// against. Their kernels and functions have: the same kernel, or the same function, takes as long wherever it is
// called.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/call_times.h"
#include "diagnose/cause.h"
#include "diagnose/host_functions.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr size_t kMostOthers = 16;
constexpr size_t kLeastKernels = 4;
constexpr double kSlowDevice = 1.05;  // kernels of healthy devices agree within two per cent
constexpr double kSlowHost = 1.15;    // operators vary by what else a processor does
constexpr double kSlowFunction = 3;   // functions do other things on other ranks
constexpr int kFunctionPercent = 2;   // of the step

std::vector<size_t> OthersOf(const Job& job, size_t rank) {
  std::vector<size_t> all, out;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (r != rank) all.push_back(r);
  }
  if (all.size() <= kMostOthers) return all;
  for (size_t k = 0; k < kMostOthers; ++k) out.push_back(all[k * all.size() / kMostOthers]);
  return out;
}

// What a rank takes longer by than the others, who agree with one another; 1 = they do not.
struct Slowness {
  double ratio = 1;
  bool of_calls = true;  // what calls cost by themselves is longer as well
};

// All of `mine` are longer by about as much. Work of other shapes is not: what is four times as long for one operator
// is as long for another.
bool AreEven(const CallTimes& mine, const CallTimes& usual, double ratio) {
  return std::all_of(mine.begin(), mine.end(), [&](const auto& call) {
    const double of_call = RatioOf(mine, usual, call.first);  // 0 where nobody else has it
    return of_call == 0 || ((of_call - 1) * 2 >= ratio - 1 && (of_call - 1) * 2 <= 3 * (ratio - 1));
  });
}

// By the rank's kernels; without devices by its operators.
Slowness SlownessOf(const Job& job, size_t rank, const std::vector<size_t>& others, JobCallTimes* of) {
  const bool has_device = job.ranks[rank].has_device;
  const auto times_of = [&](size_t r) -> const CallTimes& { return has_device ? of->Kernels(r) : of->Operators(r); };
  std::vector<CallTimes> times;
  for (const size_t r : others) times.push_back(times_of(r));
  const CallTimes usual = TimesAmong(times, 0.5, 1);
  const CallRatio mine = CompareCalls(times_of(rank), usual);
  if (mine.functions < kLeastKernels || !mine.alike || mine.ratio < (has_device ? kSlowDevice : kSlowHost)) return {};
  const bool agree = std::all_of(times.begin(), times.end(), [&](const CallTimes& other) {
    const CallRatio theirs = CompareCalls(other, usual);
    return theirs.functions < kLeastKernels || (theirs.ratio - 1) * 3 <= mine.ratio - 1;
  });
  if (!agree || (!has_device && !AreEven(times_of(rank), usual, mine.ratio))) return {};
  if (has_device) return {mine.ratio};
  std::vector<CallTimes> calls;
  for (const size_t r : others) calls.push_back(of->Calls(r));
  const CallRatio all = CompareCalls(of->Calls(rank), TimesAmong(calls, 0.5, 1));
  return {mine.ratio, all.alike && (all.ratio - 1) * 2 >= mine.ratio - 1};
}

void Finish(const AnalysisInput& in, size_t rank, const std::string& cause, Candidate* candidate) {
  const Job& job = in.job;
  report::Finding& finding = candidate->finding;
  const size_t self[] = {rank};
  finding.cause = cause;
  candidate->noise = in.excess.step_noise[static_cast<size_t>(job.peer_class[rank])];
  FillScope(job, self, &finding.scope);
  finding.id = cause + "-lone-" + std::to_string(job.ranks[rank].meta.rank);
  finding.headline = Who(job, finding.scope);
  finding.when = ClassifyWhen(candidate->excess, job.steps);
  finding.confidence = report::Confidence::kLikely;
  RemoveOwnTime(job, rank, {}, candidate->excess, &candidate->edit);
}

void CheckSpeed(const AnalysisInput& in, size_t rank, const std::vector<size_t>& others, JobCallTimes* of,
                AnalysisOutput* out) {
  const Job& job = in.job;
  const auto [slowness, of_calls] = SlownessOf(job, rank, others, of);
  if (slowness <= 1) return;
  Candidate candidate;
  candidate.at_most_info = !of_calls;  // its operators may get more data
  candidate.excess.assign(job.num_steps(), 0);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const pattern::Step* step = job.StepOf(rank, s);
    if (step == nullptr) continue;
    const auto compute = static_cast<double>(step->by_class[static_cast<size_t>(WorkClass::kCompute)]);
    candidate.excess[s] = static_cast<Nanos>((1 - 1 / slowness) * compute);
  }
  const bool has_device = job.ranks[rank].has_device;
  Finish(in, rank, has_device ? "slow-device" : "slow-host", &candidate);
  report::Finding& finding = candidate.finding;
  const std::string work = has_device ? "kernels" : "operators";
  finding.sentence = "Call by call its compute " + work + " take " + FormatRatio(slowness) + " the time the same " +
                     work + " take on the other ranks.";
  finding.suggestion = has_device ? "check power, cooling and clocks of this device, or move the rank"
                                  : "look for CPU limits (cgroup quota), low clocks or other processes on this host";
  finding.confidence_reason = std::string("no other rank runs the same program; the other ") +
                              (has_device ? "devices" : "ranks") + " agree on the same " + work;
  out->candidates.push_back(std::move(candidate));
}

struct Function {
  std::string_view name;
  WorkClass work_class = WorkClass::kHost;
  Nanos total = 0;
  int64_t calls = 0;
};

std::map<std::string_view, Function> HostsOwnFunctions(const pattern::RankPattern& rank) {
  std::map<std::string_view, Function> out;
  for (size_t f = 0; f < rank.functions.size(); ++f) {
    const pattern::FunctionName& name = (*rank.function_table)[f];
    if (!IsHostsOwn(name) || name.name.front() == '(') continue;
    Function& function = out[name.name];
    function.name = name.name;
    function.work_class = name.work_class;
    function.total += rank.functions[f].total;
    function.calls += rank.functions[f].calls;
  }
  return out;
}

// Own time of the function on the rank beyond `usual` a call, by step. Empty where it is not so in three quarters of
// the steps that call it: a single long call is what long steps are about.
std::vector<Nanos> BeyondUsual(const AnalysisInput& in, size_t rank, const Function& function, double usual) {
  std::vector<Nanos> out(in.job.num_steps(), 0);
  int64_t called = 0, longer = 0;
  for (size_t s = 0; s < out.size(); ++s) {
    const size_t step[] = {s};
    const std::vector<FunctionView::Cell> cells = in.view->Sum(rank, step);
    Nanos own = 0;
    int64_t calls = 0;
    for (size_t n = 0; n < cells.size(); ++n) {
      if (in.view->name(static_cast<FunctionView::Node>(n)) != function.name) continue;
      own += cells[n].own;
      calls += cells[n].calls;
    }
    const double expected = usual * static_cast<double>(calls);
    out[s] = std::max<Nanos>(0, own - static_cast<Nanos>(expected));
    called += calls > 0 ? 1 : 0;
    longer += static_cast<double>(own) > 2 * expected ? 1 : 0;
  }
  return longer * 4 >= called * 3 ? out : std::vector<Nanos>();
}

// On how many of the others the function takes far less; 0 where on some it does not.
size_t OthersThatAgree(std::string_view name, double mine, const std::vector<CallTimes>& others) {
  size_t agree = 0;
  for (const CallTimes& other : others) {
    const auto it = other.find(name);
    if (it == other.end()) continue;
    if (it->second * kSlowFunction > mine) return 0;
    ++agree;
  }
  return agree;
}

std::string CauseOf(const Function& function) {
  if (const std::string_view stall = StallOfName(std::string(function.name)); !stall.empty()) return std::string(stall);
  return function.work_class == WorkClass::kInput ? "slow-input" : "slow-host-code";
}

void CheckFunctions(const AnalysisInput& in, size_t rank, const std::vector<size_t>& others, JobCallTimes* of,
                    AnalysisOutput* out) {
  const Job& job = in.job;
  std::vector<CallTimes> times;
  for (const size_t r : others) times.push_back(of->Calls(r));
  const CallTimes usual = TimesAmong(times, 0.5, 1);
  for (const auto& [name, function] : HostsOwnFunctions(job.ranks[rank])) {
    const auto it = usual.find(name);
    if (it == usual.end() || function.calls == 0) continue;
    const double mine = static_cast<double>(function.total) / static_cast<double>(function.calls);
    const size_t agree = OthersThatAgree(name, mine, times);
    if (agree == 0) continue;
    Candidate candidate;
    candidate.excess = BeyondUsual(in, rank, function, it->second);
    Nanos sum = 0;
    for (const Nanos x : candidate.excess) sum += x;
    if (sum * 100 < job.median_step * static_cast<Nanos>(job.num_steps()) * kFunctionPercent) continue;
    candidate.at_most_info = agree < 2;  // of two ranks either may be the odd one
    Finish(in, rank, CauseOf(function), &candidate);
    report::Finding& finding = candidate.finding;
    finding.scope.function = ShortFrame(std::string(name));
    finding.id += "-" + finding.scope.function;
    finding.sentence = "A call of " + finding.scope.function + " takes " + FormatDuration(static_cast<Nanos>(mine)) +
                       " here and " + FormatDuration(static_cast<Nanos>(it->second)) +
                       " on the other ranks that call it.";
    finding.suggestion = "look at what this function does on this rank";
    finding.confidence_reason = "no other rank runs the same program; other ranks call the same function";
    out->candidates.push_back(std::move(candidate));
  }
}

}  // namespace

void RunLoneRanksAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() < 3 || job.num_steps() == 0) return;
  JobCallTimes times(job);
  for (const std::vector<int32_t>& members : job.classes) {
    if (members.size() != 1) continue;
    const auto rank = static_cast<size_t>(members.front());
    const std::vector<size_t> others = OthersOf(job, rank);
    CheckSpeed(in, rank, others, &times, out);
    CheckFunctions(in, rank, others, &times, out);
  }
}

}  // namespace headway::diagnose
