// SPDX-License-Identifier: Apache-2.0
#include "diagnose/price.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

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

// Below half a per cent of the steps it strikes a remark says nothing: every job has some; where it may cost any amount
// more, below a thousandth of the step. Ranks that share processors with other work have more: there a single step must
// show two per cent, or the window half of one. What costs a rank much and nobody anything yet, as the others wait for
// something else anyway, is worth one.
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
  const bool has_device = job.ranks.front().has_device;
  const bool lasts = has_device || struck * 2 >= static_cast<Nanos>(job.num_steps());
  const bool clear = lasts && candidate.noise > 0 && sum >= 5 * candidate.noise * struck;
  const bool hidden = clear && sum * 50 >= job.median_step * struck;
  const bool shows_in_steps = whole * (has_device ? 200 : 50) >= job.median_step * struck;
  const Nanos part = candidate.is_at_least ? 1000 : has_device && clear ? 400 : 200;
  const bool shows_over_all = finding.recoverable_per_step * part >= job.median_step;
  return !shows_in_steps && !shows_over_all && !hidden;
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

// Edits of one mark by several causes: each takes its own amount off. Of one transfer the shortest holds.
replay::SegmentEdit Merge(const Job& job, const std::vector<const replay::SegmentEdit*>& edits) {
  replay::SegmentEdit out;
  for (const replay::SegmentEdit* edit : edits) {
    out.own.insert(out.own.end(), edit->own.begin(), edit->own.end());
    out.transfers.insert(out.transfers.end(), edit->transfers.begin(), edit->transfers.end());
    out.starts.insert(out.starts.end(), edit->starts.begin(), edit->starts.end());
  }
  std::sort(out.own.begin(), out.own.end(), [](const auto& a, const auto& b) { return a.mark < b.mark; });
  size_t kept = 0;
  for (size_t i = 0; i < out.own.size(); ++kept) {
    const uint32_t mark = out.own[i].mark;
    const Nanos measured = job.graph.marks[mark].Own();
    Nanos less = 0;
    for (; i < out.own.size() && out.own[i].mark == mark; ++i) less += measured - out.own[i].own;
    out.own[kept] = {mark, std::max<Nanos>(0, measured - less)};
  }
  out.own.resize(kept);
  std::sort(out.transfers.begin(), out.transfers.end(), [](const auto& a, const auto& b) {
    if (a.collective != b.collective) return a.collective < b.collective;
    return a.transfer != b.transfer ? a.transfer < b.transfer : a.lags < b.lags;
  });
  size_t left = 0;
  for (const auto& transfer : out.transfers) {
    if (left > 0 && out.transfers[left - 1].collective == transfer.collective) {
      out.transfers[left - 1].lags = std::min(out.transfers[left - 1].lags, transfer.lags);
    } else {
      out.transfers[left++] = transfer;
    }
  }
  out.transfers.erase(out.transfers.begin() + static_cast<std::ptrdiff_t>(left), out.transfers.end());
  return out;
}

// What a replay without some causes brings.
struct Outcome {
  Nanos gain = 0;
  std::vector<Nanos> blocked;  // by rank index
};

// Causes hide one another: while one holds everybody up, removing another brings nothing. A cause is worth the mean of
// what it brings alone and of what it still brings when all others are gone (for two causes: the Shapley value, so that
// the parts add up to the whole).
class Pricing {
 public:
  Pricing(const Job& job, const std::vector<Candidate>& candidates)
      : job_(job),
        candidates_(candidates),
        parts_(replay::PartsOf(job.graph)),
        before_(job.base.Makespans(job.graph, parts_)) {
    for (const Nanos step : job.step_time) window_ += step;
  }

  // Asks for the replay without these candidates (ascending); the number is that of its outcome. Few causes ask for
  // the same one several times: it runs once.
  size_t Ask(const std::vector<size_t>& removed) {
    const auto [at, fresh] = numbers_.try_emplace(removed, questions_.size());
    if (fresh) questions_.push_back(removed);
    return at->second;
  }

  // Runs what was asked for and has not run, side by side.
  void Run(int threads) {
    const size_t done = outcomes_.size();
    std::vector<Outcome> fresh =
        ParallelMap(questions_.size() - done, threads, [&](size_t k) { return Replay(questions_[done + k]); });
    std::move(fresh.begin(), fresh.end(), std::back_inserter(outcomes_));
  }

  [[nodiscard]] const Outcome& Of(size_t number) const { return outcomes_[number]; }

 private:
  [[nodiscard]] Outcome Replay(const std::vector<size_t>& removed) const {
    std::vector<const replay::SegmentEdit*> edits;
    for (const size_t i : removed) edits.push_back(&candidates_[i].edit);
    replay::SegmentTimes after = replay::ReplaySegments(job_.graph, Merge(job_, edits));
    // Parts of a job that could not be joined wait for one another all the same: the one that gains most counts.
    const std::vector<Nanos> lengths = after.Makespans(job_.graph, parts_);
    Nanos gain = 0;
    for (size_t p = 0; p < lengths.size(); ++p) gain = std::max(gain, before_[p] - lengths[p]);
    // A part whose steps are longer than the job's cannot give more than the job has.
    if (lengths.size() > 1) gain = std::min(gain, window_);
    return {gain, std::move(after.blocked)};
  }

  const Job& job_;
  const std::vector<Candidate>& candidates_;
  std::vector<int32_t> parts_;
  std::vector<Nanos> before_;  // by part
  Nanos window_ = 0;           // the steps read, as long as they are in the mean over ranks
  std::map<std::vector<size_t>, size_t> numbers_;
  std::vector<std::vector<size_t>> questions_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

Priced PriceCandidates(const Job& job, std::vector<Candidate> candidates, int threads) {
  Priced out;
  const Nanos steps = std::max<Nanos>(1, static_cast<Nanos>(job.num_steps()));
  Pricing pricing(job, candidates);
  std::vector<size_t> contenders;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const replay::SegmentEdit& edit = candidates[i].edit;
    const bool changes = !(edit.own.empty() && edit.transfers.empty() && edit.starts.empty());
    if (!candidates[i].at_most_info && changes) contenders.push_back(i);
  }
  const size_t n = candidates.size();
  const auto shared = [&](size_t i) { return !candidates[i].at_most_info && contenders.size() > 1; };
  std::vector<size_t> alone(n), others(n);
  for (size_t i = 0; i < n; ++i) {
    alone[i] = pricing.Ask({i});
    if (!shared(i)) continue;
    std::vector<size_t> rest = contenders;
    std::erase(rest, i);
    others[i] = pricing.Ask(rest);
  }
  const size_t all = pricing.Ask(contenders);
  pricing.Run(threads);
  std::vector<size_t> loud;
  for (size_t i = 0; i < n; ++i) {
    Candidate& candidate = candidates[i];
    Finding& finding = candidate.finding;
    const Nanos own = pricing.Of(alone[i]).gain;
    const auto still = [&] { return std::max<Nanos>(0, pricing.Of(all).gain - pricing.Of(others[i]).gain); };
    const Nanos gain = shared(i) ? (own + still()) / 2 : own;
    finding.recoverable_per_step = gain / steps;
    finding.victims = Victims(job, pricing.Of(alone[i]).blocked, finding, std::max(own, gain));
    finding.severity = Judge(job, candidate, finding.recoverable_per_step);
    finding.cost_by_step = candidate.excess;
    for (const Nanos x : candidate.excess) finding.worst_step = std::max(finding.worst_step, x);
    if (finding.severity != Severity::kInfo) loud.push_back(i);
  }
  if (!loud.empty()) {
    const size_t without_loud = pricing.Ask(loud);
    pricing.Run(threads);
    out.all_removed_per_step = pricing.Of(without_loud).gain / steps;
  }
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
