// SPDX-License-Identifier: Apache-2.0
#include "diagnose/price.h"

#include <algorithm>
#include <map>

#include "base/parallel.h"

namespace headway::diagnose {

using report::Finding;
using report::Severity;

namespace {

Severity Judge(const Job& job, const Candidate& candidate, Nanos recoverable) {
  if (candidate.at_most_info || recoverable <= 0 ||
      recoverable < std::max(job.median_step / 100, 2 * candidate.noise)) {
    return Severity::kInfo;
  }
  return recoverable * 5 >= job.median_step ? Severity::kCritical : Severity::kWarning;
}

// Below half a per cent of the steps it strikes a remark says nothing: every job has some. What costs a rank much and
// nobody anything yet, as the others wait for something else anyway, is worth one.
bool SaysNothing(const Job& job, const Candidate& candidate) {
  const Finding& finding = candidate.finding;
  if (finding.severity != Severity::kInfo) return false;
  Nanos struck = 0, sum = 0;
  for (const Nanos x : candidate.excess) {
    struck += x > 0 ? 1 : 0;
    sum += x;
  }
  struck = std::max<Nanos>(1, struck);
  const Nanos whole = finding.recoverable_per_step * static_cast<Nanos>(job.num_steps());
  const bool hidden = sum * 50 >= job.median_step * struck && sum >= 5 * candidate.noise * struck;
  return whole * 200 < job.median_step * struck && (!hidden || candidate.noise == 0);
}

// Ranks whose blocked time shrinks by at least a fifth of what the edit brings.
std::vector<RankId> Victims(const Job& job, const std::vector<Nanos>& blocked, const Finding& finding, Nanos gain) {
  std::vector<RankId> victims;
  if (gain <= 0) return victims;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const RankId rank = job.ranks[r].meta.rank;
    if (std::binary_search(finding.scope.ranks.begin(), finding.scope.ranks.end(), rank)) continue;
    if ((job.base.blocked[r] - blocked[r]) * 5 >= gain) victims.push_back(rank);
  }
  return victims;
}

// Edits of one mark by several causes: each takes its own amount off.
replay::SegmentEdit Merge(const Job& job, const std::vector<const replay::SegmentEdit*>& edits) {
  std::map<size_t, Nanos> own;
  std::map<int32_t, Nanos> transfers;
  for (const replay::SegmentEdit* edit : edits) {
    for (const auto& change : edit->own) own[change.mark] += job.graph.marks[change.mark].own - change.own;
    for (const auto& change : edit->transfers) {
      auto [it, fresh] = transfers.try_emplace(change.collective, change.transfer);
      it->second = std::min(it->second, change.transfer);
    }
  }
  replay::SegmentEdit out;
  for (const replay::SegmentEdit* edit : edits)
    out.starts.insert(out.starts.end(), edit->starts.begin(), edit->starts.end());
  for (const auto& [mark, less] : own) out.own.push_back({mark, std::max<Nanos>(0, job.graph.marks[mark].own - less)});
  for (const auto& [collective, transfer] : transfers) out.transfers.push_back({collective, transfer});
  return out;
}

// Causes hide one another: while one holds everybody up, removing another brings nothing. A cause is worth the mean of
// what it brings alone and of what it still brings when all others are gone (for two causes: the Shapley value, so that
// the parts add up to the whole).
class Pricing {
 public:
  Pricing(const Job& job, const std::vector<Candidate>& candidates)
      : job_(job),
        candidates_(candidates),
        parts_(replay::PartsOf(job.graph)),
        before_(job.base.Makespans(job.graph, parts_)) {}

  Nanos Gain(const std::vector<size_t>& removed, std::vector<Nanos>* blocked = nullptr) const {
    std::vector<const replay::SegmentEdit*> edits;
    for (const size_t i : removed) edits.push_back(&candidates_[i].edit);
    const replay::SegmentTimes after = replay::ReplaySegments(job_.graph, Merge(job_, edits));
    if (blocked != nullptr) *blocked = after.blocked;
    // Parts of a job that could not be joined wait for one another all the same: the one that gains most counts.
    const std::vector<Nanos> lengths = after.Makespans(job_.graph, parts_);
    Nanos gain = 0;
    for (size_t p = 0; p < lengths.size(); ++p) gain = std::max(gain, before_[p] - lengths[p]);
    return gain;
  }

 private:
  const Job& job_;
  const std::vector<Candidate>& candidates_;
  std::vector<int32_t> parts_;
  std::vector<Nanos> before_;  // by part
};

}  // namespace

Priced PriceCandidates(const Job& job, std::vector<Candidate> candidates, int threads) {
  Priced out;
  const Nanos steps = std::max<Nanos>(1, static_cast<Nanos>(job.num_steps()));
  const Pricing pricing(job, candidates);
  std::vector<size_t> contenders;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const replay::SegmentEdit& edit = candidates[i].edit;
    const bool changes = !(edit.own.empty() && edit.transfers.empty() && edit.starts.empty());
    if (!candidates[i].at_most_info && changes) contenders.push_back(i);
  }
  // Replays are independent of one another: the first n each without one cause, the next n without all others.
  const size_t n = candidates.size();
  std::vector<Nanos> gains(2 * n, 0);
  std::vector<std::vector<Nanos>> blocked(n);
  const Nanos all = contenders.empty() ? 0 : pricing.Gain(contenders);
  ParallelFor(2 * n, threads, [&](size_t k) {
    const size_t i = k % n;
    if (k < n) {
      gains[k] = pricing.Gain({i}, &blocked[i]);
    } else if (!candidates[i].at_most_info && contenders.size() > 1) {
      std::vector<size_t> others = contenders;
      std::erase(others, i);
      gains[k] = pricing.Gain(others);
    }
  });
  std::vector<size_t> loud;
  for (size_t i = 0; i < n; ++i) {
    Candidate& candidate = candidates[i];
    Finding& finding = candidate.finding;
    const Nanos alone = gains[i];
    const bool shared = !candidate.at_most_info && contenders.size() > 1;
    const Nanos gain = shared ? (alone + std::max<Nanos>(0, all - gains[n + i])) / 2 : alone;
    finding.recoverable_per_step = gain / steps;
    finding.victims = Victims(job, blocked[i], finding, std::max(alone, gain));
    finding.severity = Judge(job, candidate, finding.recoverable_per_step);
    finding.cost_by_step = candidate.excess;
    for (const Nanos x : candidate.excess) finding.worst_step = std::max(finding.worst_step, x);
    if (finding.severity != Severity::kInfo) loud.push_back(i);
  }
  if (!loud.empty()) out.all_removed_per_step = pricing.Gain(loud) / steps;
  for (Candidate& candidate : candidates) {
    if (!SaysNothing(job, candidate)) out.findings.push_back(std::move(candidate.finding));
  }
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    const bool a_info = a.severity == Severity::kInfo;
    const bool b_info = b.severity == Severity::kInfo;
    if (a_info != b_info) return b_info;
    if (a.recoverable_per_step != b.recoverable_per_step) return a.recoverable_per_step > b.recoverable_per_step;
    return a.id < b.id;
  });
  return out;
}

}  // namespace headway::diagnose
