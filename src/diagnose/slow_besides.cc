// SPDX-License-Identifier: Apache-2.0
#include "diagnose/slow_besides.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "diagnose/excess.h"
#include "diagnose/own_edit.h"
#include "diagnose/peers.h"
#include "diagnose/scope.h"
#include "diagnose/uneven_work.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;
using Node = FunctionView::Node;

constexpr size_t kLeastKernels = 4;
constexpr double kSlowDevice = 1.05;  // kernels of healthy devices agree within two per cent

// The kernels a finding names: one, or two that share the excess.
std::vector<Node> KernelsOf(const FunctionView& view, const Candidate& candidate) {
  const std::string& function = candidate.finding.scope.function;
  const bool pair = !candidate.other.empty() && function.ends_with(", " + candidate.other);
  const std::string first = pair ? function.substr(0, function.size() - candidate.other.size() - 2) : function;
  std::vector<Node> out;
  for (size_t n = 0; n < view.size(); ++n) {
    const auto node = static_cast<Node>(n);
    if (view.work_class(node) != WorkClass::kCompute) continue;
    if (view.Path(node, 3) == first || (pair && view.Path(node, 1) == candidate.other)) out.push_back(node);
  }
  return out;
}

std::vector<Nanos> TimeIn(FunctionView* view, const std::vector<Node>& kernels, size_t rank) {
  std::vector<Nanos> out;
  for (const auto& cells : view->SumByStep(rank)) {
    Nanos sum = 0;
    for (const Node n : kernels) sum += static_cast<size_t>(n) < cells.size() ? cells[static_cast<size_t>(n)].own : 0;
    out.push_back(sum);
  }
  return out;
}

// How many times as long as on its peers the rank's other kernels take; 1 where they do not all agree on being slow.
double SlownessOfOthers(const FunctionView& view, const std::vector<Node>& kernels, size_t rank,
                        const std::vector<size_t>& peers, JobCallTimes* calls_of) {
  CallTimes mine = calls_of->Kernels(rank);
  for (const Node n : kernels) mine.erase(view.name(n));
  std::vector<CallTimes> theirs;
  for (const size_t p : peers) theirs.push_back(calls_of->Kernels(p));
  const CallRatio ratio = CompareCalls(mine, TimesAmong(theirs, 0.5, 1));
  return ratio.functions >= kLeastKernels && ratio.alike && ratio.ratio >= kSlowDevice ? ratio.ratio : 1;
}

Nanos SumOf(const std::vector<Nanos>& by_step) { return std::accumulate(by_step.begin(), by_step.end(), Nanos{0}); }

// By axis step: what the rank takes in `kernels` beyond `slowness` times what its peers take; 0 where none has the
// step.
std::vector<Nanos> BeyondSlowness(const AnalysisInput& in, const std::vector<Node>& kernels, size_t rank,
                                  const std::vector<size_t>& peers, double slowness) {
  std::vector<Nanos> out = TimeIn(in.view, kernels, rank);
  std::vector<std::vector<Nanos>> theirs;
  for (const size_t p : peers) theirs.push_back(TimeIn(in.view, kernels, p));
  for (size_t s = 0; s < out.size(); ++s) {
    std::vector<Nanos> values;
    for (size_t i = 0; i < peers.size(); ++i) {
      if (in.job.StepOf(peers[i], s) != nullptr) values.push_back(theirs[i][s]);
    }
    if (values.empty()) {
      out[s] = 0;
      continue;
    }
    const auto expected = static_cast<Nanos>(slowness * static_cast<double>(Median(std::move(values))));
    out[s] = std::max<Nanos>(0, out[s] - expected);
  }
  return out;
}

void AddTo(const AnalysisInput& in, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& beyond,
           Candidate* uneven) {
  report::Finding& finding = uneven->finding;
  std::vector<size_t> ranks = RanksOf(in.job, finding.scope);
  ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  const std::string function = finding.scope.function;
  finding.scope = {};
  FillScope(in.job, ranks, &finding.scope);
  finding.scope.function = function;
  finding.headline = Who(in.job, finding.scope);
  finding.sentence +=
      " Rank " + std::to_string(in.job.ranks[rank].meta.rank) + " has as much more, and is slow besides.";
  for (size_t s = 0; s < beyond.size(); ++s) uneven->excess[s] = std::max(uneven->excess[s], beyond[s]);
  finding.when = ClassifyWhen(uneven->excess, in.job.steps);
  RemoveOwnTime(in.job, rank, peers, beyond, &uneven->edit);
}

void TakeFrom(const AnalysisInput& in, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& beyond,
              double slowness, Candidate* slow) {
  for (size_t s = 0; s < beyond.size(); ++s) slow->excess[s] = std::max<Nanos>(0, slow->excess[s] - beyond[s]);
  slow->edit = {};
  RemoveOwnTime(in.job, rank, peers, slow->excess, &slow->edit);
  slow->finding.when = ClassifyWhen(slow->excess, in.job.steps);
  slow->finding.sentence = "Its compute kernels take " + FormatRatio(slowness) +
                           " the time of the same kernels on its peers, beside those that it has more work in.";
}

bool IsSlowDevice(const Candidate& candidate) {
  const report::Finding& finding = candidate.finding;
  return finding.cause == "slow-device" && finding.scope.function.empty() && finding.scope.ranks.size() == 1;
}

// One of the ranks with more work.
struct WithMore {
  size_t rank = 0;
  std::vector<size_t> peers;
  double slowness = 1;        // of its other kernels
  std::vector<Nanos> beyond;  // by axis step: what it has more
};

// Empty where none of them is slow besides, or most are.
std::vector<WithMore> RanksWithMore(const AnalysisInput& in, const std::vector<Node>& kernels, const Candidate& uneven,
                                    const std::set<size_t>& suspects, JobCallTimes* calls_of) {
  std::vector<WithMore> out;
  for (const size_t r : RanksOf(in.job, uneven.finding.scope)) {
    WithMore of{.rank = r, .peers = SamplePeers(in.job, r, suspects), .slowness = 1, .beyond = {}};
    if (of.peers.empty()) return {};
    of.slowness = SlownessOfOthers(*in.view, kernels, r, of.peers, calls_of);
    out.push_back(std::move(of));
  }
  // Where most of them are slow the work makes all kernels longer.
  const auto are_slow = std::count_if(out.begin(), out.end(), [](const WithMore& of) { return of.slowness > 1; });
  if (are_slow == 0 || 2 * are_slow > std::ssize(out)) return {};
  for (WithMore& of : out) of.beyond = BeyondSlowness(in, kernels, of.rank, of.peers, of.slowness);
  return out;
}

// The rest of what the rank takes longer, as a finding of its own; empty `excess` where that is less than 2 % of a
// step.
Candidate SlowDeviceBesides(const AnalysisInput& in, const WithMore& of, const Candidate& uneven) {
  const Job& job = in.job;
  Candidate out;
  std::vector<Nanos> rest(of.beyond.size(), 0);
  for (size_t s = 0; s < rest.size(); ++s) {
    const Nanos all = in.excess.At(of.rank, s);
    rest[s] = all == kNoValue ? 0 : std::max<Nanos>(0, all - of.beyond[s]);
  }
  if (Median(rest) * 50 < job.median_step) return out;
  out.excess = std::move(rest);
  out.noise = uneven.noise;
  out.against = uneven.against;
  report::Finding& finding = out.finding;
  finding.cause = "slow-device";
  const size_t self[] = {of.rank};
  FillScope(job, self, &finding.scope);
  finding.id = "slow-device-" + std::to_string(job.ranks[of.rank].meta.rank) + "-besides";
  finding.headline = Who(job, finding.scope);
  finding.suggestion = "check power, cooling and clocks of this device, or move the rank";
  finding.confidence = report::Confidence::kLikely;
  finding.confidence_reason = "its other kernels agree with one another";
  TakeFrom(in, of.rank, of.peers, std::vector<Nanos>(of.beyond.size(), 0), of.slowness, &out);
  return out;
}

void RemoveEditOf(const Job& job, size_t rank, replay::SegmentEdit* edit) {
  std::erase_if(edit->own, [&](const auto& change) { return job.graph.marks[change.mark].rank == rank; });
}

// Where most of what one of the ranks takes longer is that kernel, the rest was told as part of it.
void TakeSlowFrom(const AnalysisInput& in, const std::vector<Node>& kernels, const std::set<size_t>& told,
                  const std::set<size_t>& suspects, JobCallTimes* calls_of, Candidate* uneven, RankCandidates* slow) {
  const std::vector<WithMore> ranks = RanksWithMore(in, kernels, *uneven, suspects, calls_of);
  bool any = false;
  for (const WithMore& of : ranks) {
    if (of.slowness <= 1 || told.count(of.rank) > 0) continue;
    Candidate besides = SlowDeviceBesides(in, of, *uneven);
    if (besides.excess.empty()) continue;
    RemoveEditOf(in.job, of.rank, &uneven->edit);
    RemoveOwnTime(in.job, of.rank, of.peers, of.beyond, &uneven->edit);
    slow->emplace_back(of.rank, std::move(besides));
    any = true;
  }
  if (!any) return;
  for (size_t s = 0; s < uneven->excess.size(); ++s) {
    uneven->excess[s] = 0;
    for (const WithMore& of : ranks) uneven->excess[s] = std::max(uneven->excess[s], of.beyond[s]);
  }
  uneven->finding.when = ClassifyWhen(uneven->excess, in.job.steps);
}

}  // namespace

void TellSlowBesides(const AnalysisInput& in, const std::set<size_t>& suspects, JobCallTimes* calls_of,
                     RankCandidates* candidates) {
  const Job& job = in.job;
  std::set<size_t> told;
  for (const auto& [rank, candidate] : *candidates) {
    if (IsSlowDevice(candidate)) told.insert(rank);
  }
  RankCandidates more;
  for (auto& [first, uneven] : *candidates) {
    if (uneven.finding.cause != "data-imbalance" || uneven.finding.scope.function.empty()) continue;
    if (!job.ranks[first].has_device) continue;
    const std::vector<Node> kernels = KernelsOf(*in.view, uneven);
    if (kernels.empty()) continue;
    TakeSlowFrom(in, kernels, told, suspects, calls_of, &uneven, &more);
    for (auto& [rank, slow] : *candidates) {
      const std::vector<RankId>& with_more = uneven.finding.scope.ranks;
      const bool known = std::binary_search(with_more.begin(), with_more.end(), job.ranks[rank].meta.rank);
      if (known || !IsSlowDevice(slow) || job.peer_class[rank] != job.peer_class[first]) continue;
      const std::vector<size_t> peers = SamplePeers(job, rank, suspects);
      if (peers.empty()) continue;
      const double slowness = SlownessOfOthers(*in.view, kernels, rank, peers, calls_of);
      if (slowness <= 1) continue;
      const std::vector<Nanos> beyond = BeyondSlowness(in, kernels, rank, peers, slowness);
      const Nanos mine = SumOf(beyond), theirs = SumOf(uneven.excess);
      if (2 * mine < theirs || mine > 2 * theirs) continue;
      TakeFrom(in, rank, peers, beyond, slowness, &slow);
      AddTo(in, rank, peers, beyond, &uneven);
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(*candidates));
}

}  // namespace headway::diagnose
