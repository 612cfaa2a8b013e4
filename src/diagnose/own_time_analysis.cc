// SPDX-License-Identifier: Apache-2.0
// The central test: a rank whose own time is longer than its peers' holds everybody up. Covers slow devices and hosts,
// one slow function, slow input on some ranks, pauses, imbalance of one rank.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "base/median.h"
#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/beyond_host.h"
#include "diagnose/call_times.h"
#include "diagnose/cause.h"
#include "diagnose/class_parts.h"
#include "diagnose/complete_places.h"
#include "diagnose/explain.h"
#include "diagnose/function_parts.h"
#include "diagnose/host_keeps_up.h"
#include "diagnose/launch_bound.h"
#include "diagnose/moving_imbalance.h"
#include "diagnose/own_edit.h"
#include "diagnose/pauses.h"
#include "diagnose/peers.h"
#include "diagnose/refine_suspect.h"
#include "diagnose/scope.h"
#include "diagnose/sibling_merge.h"
#include "diagnose/slow_besides.h"
#include "diagnose/suspects.h"
#include "diagnose/uneven_work.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

constexpr size_t kMaxSuspects = 64;  // explained and priced; a job with more of them has another problem

double SyncsPerStep(const Job& job, size_t rank, const std::vector<size_t>& steps) {
  double sum = 0;
  for (const size_t s : steps) {
    if (const pattern::Step* step = job.StepOf(rank, s)) sum += step->syncs;
  }
  return sum / static_cast<double>(std::max<size_t>(1, steps.size()));
}

double MeanSyncs(const Job& job, const std::vector<size_t>& ranks, const std::vector<size_t>& steps) {
  double sum = 0;
  for (const size_t r : ranks) sum += SyncsPerStep(job, r, steps);
  return sum / static_cast<double>(std::max<size_t>(1, ranks.size()));
}

report::Evidence OwnTimeEvidence(const AnalysisInput& in, size_t rank, const std::vector<size_t>& peers,
                                 const std::vector<size_t>& steps) {
  Nanos mine = 0;
  std::vector<Nanos> others;
  for (const size_t s : steps) mine += in.excess.own[rank * in.job.num_steps() + s];
  for (const size_t p : peers) {
    Nanos sum = 0;
    for (const size_t s : steps) sum += std::max<Nanos>(0, in.excess.own[p * in.job.num_steps() + s]);
    others.push_back(sum);
  }
  const auto n = static_cast<Nanos>(std::max<size_t>(1, steps.size()));
  std::vector<RankId> ids;
  for (const size_t p : peers) ids.push_back(in.job.ranks[p].meta.rank);
  std::sort(ids.begin(), ids.end());
  return {"own time per struck step", Milliseconds(mine / n), "", Milliseconds(Median(std::move(others)) / n),
          Counted(static_cast<int64_t>(steps.size()), "step") + ", peers: ranks " + FormatRanks(ids, 6)};
}

report::Confidence Judge(const AnalysisInput& in, const Suspect& suspect, size_t peers, std::string* reason) {
  const Nanos noise = suspect.table->step_noise[static_cast<size_t>(in.job.peer_class[suspect.rank])];
  const Nanos mean = suspect.total / static_cast<Nanos>(std::max<size_t>(1, suspect.struck));
  const double strength = static_cast<double>(mean) / static_cast<double>(std::max<Nanos>(1, noise));
  *reason = FormatFixed(strength, 1) + "x the noise between steps, " + Counted(static_cast<int64_t>(peers), "peer");
  if (strength < 4) return report::Confidence::kSuspected;
  if (peers < 3) {
    *reason += ": with so few peers at most likely";
    return report::Confidence::kLikely;
  }
  return strength >= 6 ? report::Confidence::kSure : report::Confidence::kLikely;
}

// Whether the rank takes longer by about the same share of its own time in three quarters of the struck steps; of three
// steps in all of them, but for what a step varies by as it is, and by half or more: other work does not take that much
// three times alike.
bool IsEven(const Job& job, const Suspect& suspect) {
  constexpr size_t kFewSteps = 3;
  if (suspect.struck < kFewSteps) return false;
  const auto noise = static_cast<double>(suspect.table->step_noise[static_cast<size_t>(job.peer_class[suspect.rank])]);
  std::vector<double> shares, uncertain;
  for (const size_t s : suspect.StruckSteps()) {
    const Nanos own = suspect.table->own[suspect.rank * suspect.table->steps + s];
    const Nanos peers = own - suspect.cost[s];
    if (peers <= 0) return false;  // a share of nothing
    shares.push_back(static_cast<double>(suspect.cost[s]) / static_cast<double>(peers));
    uncertain.push_back(noise / static_cast<double>(peers));
  }
  const double middle = UpperMedian(shares);
  const bool few = suspect.struck == kFewSteps;
  ptrdiff_t near = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double apart = few ? 0.15 * middle + uncertain[i] : middle / 3;
    near += std::abs(shares[i] - middle) <= apart ? 1 : 0;
  }
  return few ? middle >= 0.5 && near == std::ssize(shares) : near * 4 >= std::ssize(shares) * 3;
}

// Now and then, and in no function: where that strikes many ranks of a class, no one of them is to blame.
bool IsOneOfMany(const Job& job, const Cause& cause, const CauseContext& context, size_t rank,
                 const std::set<size_t>& all_suspects) {
  const std::vector<int32_t>& members = job.classes[static_cast<size_t>(job.peer_class[rank])];
  const auto struck = std::count_if(members.begin(), members.end(),
                                    [&](int32_t r) { return all_suspects.count(static_cast<size_t>(r)) > 0; });
  return cause.name == "slow-host" && cause.function.empty() && !IsSteady(context.when) && !context.even &&
         struck > 2 && static_cast<size_t>(struck) * 4 > members.size();
}

// Of a pipeline of single ranks the inner stages pass for peers.
bool PeersAreOtherStages(const Job& job, size_t rank, const std::vector<size_t>& peers) {
  const int32_t stage = job.coordinates[rank].stage;
  const auto is_other = [&](size_t p) { return job.coordinates[p].stage >= 0 && job.coordinates[p].stage != stage; };
  return stage >= 0 && !peers.empty() && std::all_of(peers.begin(), peers.end(), is_other);
}

// All functions take longer together, as on a slow host, but their calls by less than half of that: there are more.
bool CallsAreNoLonger(size_t rank, const std::vector<size_t>& peers, const Explanation& why, JobCallTimes* calls_of) {
  constexpr size_t kLeastFunctions = 4;
  std::vector<CallTimes> times;
  for (const size_t p : peers) times.push_back(calls_of->Calls(p));
  const CallRatio calls = CompareCalls(calls_of->Calls(rank), TimesAmong(times, 0.5, 1));
  return calls.functions >= kLeastFunctions && (calls.ratio - 1) * 2 < why.ratio - 1;
}

// A stage that calls the function more often than its peers, each call no longer than there, was given more of the
// program.
bool HasMoreLayers(const Explanation& why) {
  const bool more_calls = why.node >= 0 && why.node_peer_calls > 0 && why.node_calls * 10 > why.node_peer_calls * 11;
  if (!more_calls || why.node_peers <= 0) return false;
  const double calls = static_cast<double>(why.node_calls) / static_cast<double>(why.node_peer_calls);
  const double time = static_cast<double>(why.node_own) / static_cast<double>(why.node_peers);
  return time <= 1.1 * calls;
}

Cause MoreLayers(const Explanation& why) {
  if (why.node < 0) {
    return {"stage-imbalance", "",
            "Its functions take " + FormatRatio(why.ratio) +
                " the time they take on other stages, and no call takes longer: it was given more of the program",
            "move layers from this stage to the others"};
  }
  return {"stage-imbalance", why.function,
          "It calls " + why.brief + " " + Counted(why.node_calls, "time") + ", other stages " +
              Counted(why.node_peer_calls, "time") + ", and no call takes longer: it was given more of the program",
          "move layers from this stage to the others"};
}

// How many times as long as on its peers it takes: all functions of a slow host, else the one that is told.
double TimesOfPeers(const Explanation& why, const Cause& cause) {
  if (cause.name == "slow-host") return why.ratio;
  return why.node < 0 ? 0 : static_cast<double>(why.node_own) / static_cast<double>(std::max<Nanos>(1, why.node_peers));
}

Candidate MakeCandidate(const AnalysisInput& in, Suspect suspect, const std::set<size_t>& all_suspects,
                        JobCallTimes* calls_of) {
  const Job& job = in.job;
  std::vector<size_t> peers = SamplePeers(job, suspect.rank, all_suspects);
  if (peers.empty()) peers = SamplePeers(job, suspect.rank, {});
  std::vector<size_t> steps = suspect.TellingSteps();
  Explanation why =
      Explain(job, in.view, {suspect.rank, steps}, SameSteps(peers, steps), suspect.within, suspect.classes);
  CauseContext context;
  context.confirmed = RefineByFunction(in, why, peers, &suspect);
  if (context.confirmed) {
    steps = suspect.TellingSteps();
    why = Explain(job, in.view, {suspect.rank, steps}, SameSteps(peers, steps), suspect.within, suspect.classes);
  }
  context.has_device = job.ranks[suspect.rank].has_device;
  context.when = ClassifyWhen(suspect.cost, job.steps);
  context.even = IsEven(job, suspect);
  context.excess = suspect.total;
  context.longest_stretch = std::max(StretchBeyondPeers(job, suspect.rank, peers, steps),
                                     HostStretchBeyondPeers(job, suspect.rank, peers, steps));
  context.is_masked = ArePausesMasked(job, suspect.rank, peers, steps, suspect.cost);
  context.host_input = HostInputBeyondPeers(job, suspect.rank, peers, steps);
  context.stacks_recorded = job.ranks[suspect.rank].meta.with_stack;
  if (context.has_device) {
    const HostCalls calls = CompareHostCalls(job, suspect.rank, peers, why, calls_of);
    context.host = calls.proportion;
    context.host_keeps_up = calls.keeps_up;
  }
  context.syncs = SyncsPerStep(job, suspect.rank, steps);
  context.peer_syncs = MeanSyncs(job, peers, steps);
  Cause cause = NameCause(why, context);
  const bool as_slow_host = !context.has_device && cause.name == "slow-host";
  const bool more_layers =
      PeersAreOtherStages(job, suspect.rank, peers) &&
      (HasMoreLayers(why) || (as_slow_host && CallsAreNoLonger(suspect.rank, peers, why, calls_of)));
  if (more_layers) cause = MoreLayers(why);

  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = cause.name;
  finding.when = context.when;
  const size_t self[] = {suspect.rank};
  FillScope(job, self, &finding.scope);
  finding.scope.function = cause.function;
  candidate.against = HeldAgainst::kPeers;
  candidate.only_here = why.only_here && cause.function == why.function;
  if (!context.has_device) candidate.longer = TimesOfPeers(why, cause);  // of which nothing is hidden
  if (why.pair && cause.function == why.function) candidate.other = why.other;
  finding.sentence = cause.sentence + ".";
  finding.suggestion = cause.suggestion;
  finding.confidence = Judge(in, suspect, peers.size(), &finding.confidence_reason);
  finding.headline = Who(job, finding.scope);
  finding.id = cause.name + "-" + std::to_string(finding.scope.ranks[0]);
  finding.evidence.push_back(OwnTimeEvidence(in, suspect.rank, peers, steps));
  if (why.node >= 0) {
    const auto n = static_cast<Nanos>(std::max<size_t>(1, steps.size()));
    finding.evidence.push_back({"time in " + why.brief + " per struck step", Milliseconds(why.node_own / n), "",
                                Milliseconds(why.node_peers / n),
                                Counted(why.node_calls, "call") + ", peers " + std::to_string(why.node_peer_calls)});
  }
  candidate.excess = suspect.cost;
  // Of ranks that share processors: another process may take its share of them now and then.
  const bool throttled = !context.has_device && cause.name == "slow-host" && !IsSteady(context.when);
  if (more_layers && !job.coordinates[suspect.rank].stage_unnumbered) {
    finding.scope.stage = job.coordinates[suspect.rank].stage;
  }
  candidate.at_most_info = more_layers || cause.name == "shared-host" || cause.name == "launch-bound" || throttled ||
                           IsOneOfMany(job, cause, context, suspect.rank, all_suspects);
  candidate.noise = suspect.table->step_noise[static_cast<size_t>(job.peer_class[suspect.rank])];
  RemoveOwnTime(job, suspect.rank, peers, suspect.cost, &candidate.edit);
  return candidate;
}

// A rank that takes longer in nearly all steps is slow besides if that is far more than what moves strikes it with, or
// if it is by a third as much where nothing moves to it; of others the imbalance explains all but single steps.
void TakeExplained(const Job& job, const MovingImbalance& moving, const std::set<size_t>& about, Suspect* suspect) {
  const auto it = moving.explained.find(suspect->rank);
  if (it == moving.explained.end()) {
    if (about.count(suspect->rank) > 0) *suspect = {};
    return;
  }
  const Nanos sum = std::accumulate(it->second.begin(), it->second.end(), Nanos{0});
  constexpr Nanos kPart = 3;
  std::vector<Nanos> besides;  // where nothing moves to it
  for (size_t s = 0; s < suspect->cost.size(); ++s) {
    if (it->second[s] == 0) besides.push_back(suspect->cost[s]);
  }
  const bool as_slow =
      besides.size() >= 3 && Median(std::move(besides)) * static_cast<Nanos>(suspect->struck) * kPart >= sum;
  const bool lasts = suspect->struck * 4 >= job.num_steps() * 3 && (suspect->total > 2 * sum || as_slow);
  // What moves is of one size. A step in which the rank takes far more than that besides is another matter.
  constexpr Nanos kFar = 3;
  const Nanos least = lasts ? 0 : kFar * *std::max_element(it->second.begin(), it->second.end());
  std::vector<Nanos> rest(suspect->cost);
  for (size_t s = 0; s < rest.size(); ++s) {
    rest[s] -= it->second[s];
    if (rest[s] < least) rest[s] = 0;
  }
  suspect->SetCost(std::move(rest));
  suspect->is_part = true;
}

// What a rank takes by itself is known more exactly than what is left of it: of the two it is the one to tell, unless
// it is a minor part only, as of a few steps.
void AddOwn(const std::vector<Suspect>& own, std::vector<Suspect>* suspects) {
  for (const Suspect& by_itself : own) {
    const auto is_it = [&](const Suspect& suspect) { return suspect.rank == by_itself.rank; };
    const auto left = std::find_if(suspects->begin(), suspects->end(), is_it);
    if (left == suspects->end()) {
      suspects->push_back(by_itself);
    } else if (by_itself.total * 2 > left->total) {
      *left = by_itself;
    }
  }
}

// One candidate for ranks that are struck alike. No two of `suspects` are the same rank.
RankCandidates CandidatesOf(const AnalysisInput& in, const std::vector<Suspect>& suspects, JobCallTimes* calls_of) {
  std::set<size_t> all;
  for (const Suspect& suspect : suspects) all.insert(suspect.rank);
  RankCandidates all_found;
  for (size_t c = 0; c < in.job.classes.size(); ++c) {
    RankCandidates found;
    for (const Suspect& suspect : suspects) {
      if (in.job.peer_class[suspect.rank] != static_cast<int32_t>(c)) continue;
      found.emplace_back(suspect.rank, MakeCandidate(in, suspect, all, calls_of));
    }
    MergeSiblings(in.job, &found);
    std::set<size_t> beyond;
    for (const auto& [rank, candidate] : found) {
      if (candidate.is_beyond_host) beyond.insert(rank);
    }
    for (auto& [rank, candidate] : found) {
      if (candidate.is_beyond_host) NameBeyondHost(in, rank, beyond, &candidate);
    }
    for (auto& candidate : found) all_found.push_back(std::move(candidate));
  }
  MergeAlike(in.job, &all_found);
  MergeHosts(in.job, &all_found);
  WidenLaunchBound(in.job, &all_found);
  return all_found;
}

}  // namespace

void RunOwnTimeAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  std::vector<Suspect> suspects = FindSuspects(in);
  std::set<size_t> explained;
  if (std::optional<MovingImbalance> moving = FindMovingImbalance(in)) {
    explained = moving->Ranks();
    for (Suspect& suspect : suspects) TakeExplained(in.job, *moving, explained, &suspect);
    std::erase_if(suspects, [](const Suspect& suspect) { return suspect.struck == 0; });
    AddOwn(moving->own, &suspects);
    out->candidates.push_back(std::move(moving->candidate));
  }
  ExcessTable without_slow;
  std::vector<Suspect> hidden = LookAgain(in, suspects, explained, &without_slow);
  std::move(hidden.begin(), hidden.end(), std::back_inserter(suspects));
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const Suspect& a, const Suspect& b) { return a.total > b.total; });
  if (suspects.size() > kMaxSuspects) {
    out->not_checked.push_back({std::to_string(suspects.size() - kMaxSuspects) + " more ranks with longer own time",
                                "only the " + std::to_string(kMaxSuspects) + " that are longest are explained"});
    suspects.resize(kMaxSuspects);
  }
  const std::vector<std::vector<Suspect>> pauses = TakePauses(in, &suspects);
  std::vector<std::vector<Suspect>> parts = SplitByClass(in, &suspects);
  JobCallTimes calls_of(in.job);
  parts.push_back(SplitByFunction(in, &suspects, &calls_of));
  RankCandidates all;
  const auto tell = [&](const std::vector<Suspect>& of, const std::string& suffix) {
    for (auto& [rank, candidate] : CandidatesOf(in, of, &calls_of)) {
      candidate.finding.id += suffix;  // the rank may have a finding of that cause already
      all.emplace_back(rank, std::move(candidate));
    }
  };
  tell(suspects, "");
  for (size_t k = 0; k < parts.size(); ++k) tell(parts[k], "-part-" + std::to_string(k + 2));
  for (size_t k = 0; k < pauses.size(); ++k) {
    tell(pauses[k], "-in-one-piece" + (k == 0 ? std::string() : "-" + std::to_string(k + 1)));
  }
  // What strikes several ranks may be all of what strikes one of them and a part of what strikes another.
  MergeAlike(in.job, &all);
  std::set<size_t> suspected;
  for (const Suspect& suspect : suspects) suspected.insert(suspect.rank);
  CompletePlaces(in, suspected, &all);
  NameUnevenWork(in.job, &all);
  TellSlowBesides(in, suspected, &calls_of, &all);
  for (auto& [rank, candidate] : all) out->candidates.push_back(std::move(candidate));
  std::vector<RankId> lone;
  for (const std::vector<int32_t>& members : in.job.classes) {
    if (members.size() == 1) lone.push_back(in.job.ranks[static_cast<size_t>(members.front())].meta.rank);
  }
  if (in.job.num_ranks() < 2 || lone.empty()) return;
  std::sort(lone.begin(), lone.end());
  out->not_checked.push_back({(lone.size() == 1 ? "rank " : "ranks ") + FormatRanks(lone, 8) + " against peers",
                              "no other rank with a trace runs the same program"});
}

}  // namespace headway::diagnose
