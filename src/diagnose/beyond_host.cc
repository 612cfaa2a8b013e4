// SPDX-License-Identifier: Apache-2.0
#include "diagnose/beyond_host.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "diagnose/cause.h"
#include "diagnose/excess.h"
#include "diagnose/explain.h"
#include "diagnose/suspects.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

constexpr const char* kBeyond = " beyond what all ranks of its host take longer.";

std::string PerStep(const Candidate& candidate) {
  const auto struck = std::count_if(candidate.excess.begin(), candidate.excess.end(), [](Nanos x) { return x > 0; });
  const Nanos all = std::accumulate(candidate.excess.begin(), candidate.excess.end(), Nanos{0});
  return FormatDuration(all / std::max<Nanos>(1, struck));
}

}  // namespace

std::optional<Candidate> TakeBeyondHost(const Job& job, const std::vector<std::vector<Nanos>>& others,
                                        Candidate* candidate) {
  constexpr size_t kEnough = 2;
  constexpr Nanos kFar = 2;
  if (others.size() < kEnough || job.ranks.front().has_device) return std::nullopt;
  std::vector<Nanos> common(candidate->excess.size(), 0);
  for (size_t s = 0; s < common.size(); ++s) {
    std::vector<Nanos> theirs;
    for (const std::vector<Nanos>& other : others) theirs.push_back(other[s]);
    common[s] = std::min(candidate->excess[s], Median(std::move(theirs)));
  }
  const Nanos all = std::accumulate(candidate->excess.begin(), candidate->excess.end(), Nanos{0});
  const Nanos of_host = std::accumulate(common.begin(), common.end(), Nanos{0});
  if (of_host <= 0 || all < kFar * of_host) return std::nullopt;
  Candidate beyond = *candidate;
  for (size_t s = 0; s < common.size(); ++s) beyond.excess[s] -= common[s];
  const double share = static_cast<double>(of_host) / static_cast<double>(all);
  for (size_t i = 0; i < candidate->edit.own.size(); ++i) {
    const Nanos measured = job.graph.marks[candidate->edit.own[i].mark].Own();
    const Nanos less = measured - candidate->edit.own[i].own;
    const auto less_by_host = static_cast<Nanos>(share * static_cast<double>(less));
    candidate->edit.own[i].own = measured - less_by_host;
    beyond.edit.own[i].own = measured - (less - less_by_host);
  }
  candidate->excess = std::move(common);
  beyond.finding.id += "-beyond-host";
  beyond.is_beyond_host = true;
  beyond.finding.sentence += " Of that " + PerStep(beyond) + " a step are" + kBeyond;
  beyond.finding.when = ClassifyWhen(beyond.excess, job.steps);
  return beyond;
}

void NameBeyondHost(const AnalysisInput& in, size_t rank, const std::set<size_t>& beyond, Candidate* candidate) {
  const Job& job = in.job;
  std::vector<size_t> mates;
  for (const int32_t r : job.classes[static_cast<size_t>(job.peer_class[rank])]) {
    const auto mate = static_cast<size_t>(r);
    const bool same_host = job.comms.clock_of_rank[mate] == job.comms.clock_of_rank[rank];
    if (mate != rank && same_host && beyond.count(mate) == 0) mates.push_back(mate);
  }
  const Suspect suspect = MakeSuspect(rank, in.excess, candidate->excess);
  if (mates.empty() || suspect.struck == 0) return;
  const std::vector<size_t> steps = suspect.StruckSteps();
  const Explanation why = Explain(job, in.view, {rank, steps}, SameSteps(mates, steps));
  if (why.node < 0 || why.node_excess * 2 < suspect.total) return;
  CauseContext context;
  context.when = candidate->finding.when;
  context.excess = suspect.total;
  context.stacks_recorded = job.ranks[rank].meta.with_stack;
  context.confirmed = true;
  const Cause cause = NameCause(why, context);
  report::Finding& finding = candidate->finding;
  finding.cause = cause.name;
  finding.scope.function = cause.function;
  finding.sentence = cause.sentence + ": " + PerStep(*candidate) + " a step" + kBeyond;
  finding.suggestion = cause.suggestion;
  candidate->only_here = why.only_here;
  candidate->other = why.pair ? why.other : "";
}

}  // namespace headway::diagnose
