// SPDX-License-Identifier: Apache-2.0
// Ranks that enter the window later than the others: the first waits in it have their cause before it.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/scope.h"
#include "trace/comm_sequence.h"

namespace headway::diagnose {

namespace {

// Who holds the others up inside the window, once everybody has entered: no culprit yet, but where to look next.
void AddLastArrivers(const AnalysisInput& in, report::Finding* finding) {
  const Job& job = in.job;
  std::vector<std::pair<Nanos, size_t>> late;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    Nanos sum = 0;
    for (size_t s = 0; s < job.num_steps(); ++s) sum += in.waits.lateness[r * job.num_steps() + s];
    if (sum > 0) late.emplace_back(-sum, r);
  }
  std::sort(late.begin(), late.end());
  for (size_t i = 0; i < late.size() && i < 3; ++i) {
    const size_t r = late[i].second;
    finding->evidence.push_back({"inside the window rank " + std::to_string(job.ranks[r].meta.rank) + " arrives last",
                                 FormatDuration(-late[i].first), "", "",
                                 Counted(in.waits.last[r], "time") + ", after the second latest"});
  }
}

// Where the early ones are: an eighth up from the earliest, so that of many ranks one that is far ahead of all others
// makes nobody late. Sorts its argument.
Nanos Early(std::vector<Nanos>* values) {
  std::sort(values->begin(), values->end());
  return values->empty() ? kNoValue : (*values)[(values->size() - 1) / 8];
}

// By rank index: whether its clock is one of the most ranks' that are aligned to one another. How other clocks lie to
// those is not known, so they tell nothing of who came first.
std::vector<char> OnOneClock(const Job& job) {
  const auto root_of = [&](size_t r) { return job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])].root; };
  std::map<int32_t, int64_t> ranks;
  for (size_t r = 0; r < job.num_ranks(); ++r) ++ranks[root_of(r)];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const int32_t most = std::max_element(ranks.begin(), ranks.end(), fewer)->first;
  std::vector<char> out(job.num_ranks());
  for (size_t r = 0; r < out.size(); ++r) out[r] = root_of(r) == most ? 1 : 0;
  return out;
}

// A rank whose own steps begin elsewhere has not entered the first one late.
bool Enters(const Job& job, size_t rank, const std::vector<char>& compared) {
  return compared[rank] != 0 && job.StepOf(rank, 0) != nullptr;
}

constexpr size_t kMostSteps = 16;  // so many tell what is usual

// By axis step (kMostSteps at most) and rank index: when the rank arrived at its first operation in the step (in the
// window's first step, or behind it where there is none in it); kNoValue where it has none, or is not one of
// `compared`.
std::vector<std::vector<Nanos>> FirstArrivals(const Job& job, const std::vector<char>& compared) {
  const size_t steps = std::min(job.num_steps(), kMostSteps);
  std::vector<std::vector<Nanos>> out(steps, std::vector<Nanos>(job.num_ranks(), kNoValue));
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (compared[r] == 0) continue;
    const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
    std::map<int32_t, size_t> axis;  // its own steps, but for the first
    for (size_t s = 1; s < steps; ++s) {
      if (const int32_t step = job.step_index[r * job.num_steps() + s]; step >= 0) axis[step] = s;
    }
    for (const trace::CommInstance& instance : job.ranks[r].comms.instances) {
      if (out[0][r] == kNoValue && instance.start >= job.ranks[r].window_start)
        out[0][r] = Align(clock, instance.start);
      if (axis.empty() && out[0][r] != kNoValue) break;
      const auto it = axis.find(instance.step);
      if (it == axis.end()) continue;
      out[it->second][r] = Align(clock, instance.start);
      axis.erase(it);
    }
  }
  return out;
}

// How much later than the early ones of its peers each rank arrived, by rank index; kNoValue where it did not.
std::vector<Nanos> LatenessOf(const Job& job, const std::vector<Nanos>& arrival) {
  std::vector<Nanos> late(job.num_ranks(), kNoValue);
  for (const std::vector<int32_t>& members : job.classes) {
    std::vector<Nanos> known;
    for (const int32_t r : members) {
      if (arrival[static_cast<size_t>(r)] != kNoValue) known.push_back(arrival[static_cast<size_t>(r)]);
    }
    const Nanos early = Early(&known);
    for (const int32_t r : members) {
      const auto i = static_cast<size_t>(r);
      if (arrival[i] != kNoValue) late[i] = arrival[i] - early;
    }
  }
  return late;
}

// Whether what ranks are later by in other steps tells of the window's first step as well. Not where most of them are
// far closer together without it: they all came from one point, as when a recording begins behind a synchronisation.
// Values by rank, of those that are known.
bool PlacesTell(const std::vector<Nanos>& first, const std::vector<Nanos>& usual) {
  constexpr Nanos kFar = 4;
  std::vector<Nanos> beyond(first);
  for (size_t i = 0; i < beyond.size(); ++i) beyond[i] -= usual[i];
  return first.size() < 4 || SpreadOf(first) * kFar >= SpreadOf(std::move(beyond));
}

// How much later than its peers a rank comes to the first operation of the window, where `places_tell` beyond what it
// is later by in other steps anyway; and what that varies by (DeviationOf), 0 where too few steps tell.
struct Meeting {
  Nanos late = 0, noise = 0;
};

std::vector<Meeting> FirstMeetings(const Job& job, bool places_tell, const std::vector<char>& compared) {
  constexpr size_t kEnough = 3;
  const std::vector<std::vector<Nanos>> arrivals = FirstArrivals(job, compared);
  const std::vector<Nanos> late = LatenessOf(job, arrivals.front());
  std::vector<std::vector<Nanos>> others(job.num_ranks());
  for (size_t s = 1; s < arrivals.size(); ++s) {
    const std::vector<Nanos> now = LatenessOf(job, arrivals[s]);
    for (size_t r = 0; r < now.size(); ++r) {
      if (now[r] != kNoValue) others[r].push_back(now[r]);
    }
  }
  std::vector<Meeting> out(late.size());
  for (size_t r = 0; r < late.size(); ++r) {
    out[r].late = late[r] == kNoValue ? 0 : late[r];
    if (others[r].size() < kEnough) continue;
    if (places_tell) out[r].late -= Median(others[r]);
    out[r].noise = SpreadOf(std::move(others[r]));
  }
  return out;
}

// How much later than others a rank begins its steps.
struct Skew {
  Nanos first = 0;  // the first one, against the early ones
  Nanos usual = 0;  // median of its other steps, against most: what its place in the program makes of it
  Nanos noise = 0;  // how much the others vary (DeviationOf); 0 where there are under three
};

// Starts of the same step on all ranks, aligned; kNoValue where a rank lacks it.
using Starts = std::vector<Nanos>;

// Those of all steps but the window's first: what was not selected tells of a rank's place as well. Of the step that
// the recording begins with it is just not known who came late to it.
std::vector<Starts> OtherStarts(const Job& job, const std::vector<char>& compared) {
  std::map<int64_t, Starts> of_step;
  const auto add = [&](size_t r, const pattern::Step& step) {
    if (compared[r] == 0) return;
    Starts& starts = of_step.try_emplace(step.number, job.num_ranks(), kNoValue).first->second;
    const Nanos start = Align(job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])], step.start);
    starts[r] = starts[r] == kNoValue ? start : std::min(starts[r], start);  // a tail has the number of its step
  };
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    for (const pattern::Step& step : job.ranks[r].unread_steps) {
      if (!std::binary_search(job.steps.begin(), job.steps.end(), step.number)) add(r, step);
    }
  }
  if (!of_step.empty() && of_step.begin()->first < job.steps.front()) of_step.erase(of_step.begin());
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    for (size_t s = 1; s < job.num_steps(); ++s) {
      if (const pattern::Step* step = job.StepOf(r, s)) add(r, *step);
    }
  }
  std::vector<Starts> out;
  for (auto& [number, starts] : of_step) out.push_back(std::move(starts));
  return out;
}

// Where most ranks begin: the lower middle, so that of two ranks the later one is late.
Nanos UsualStart(Starts starts) {
  std::erase(starts, kNoValue);
  if (starts.empty()) return kNoValue;
  std::sort(starts.begin(), starts.end());
  return starts[(starts.size() - 1) / 2];
}

// Whether ranks of the job hand something on to one another, so that one begins after the other by design: messages
// that were paired, or rows that can be nothing else.
bool IsPipeline(const Job& job) {
  const auto has_stage = [](const Coordinate& c) { return c.stage >= 0; };
  if (std::any_of(job.coordinates.begin(), job.coordinates.end(), has_stage)) return true;
  int64_t messages = 0;
  for (const pattern::RankPattern& rank : job.ranks) {
    for (const trace::CommInstance& row : rank.comms.instances) {
      messages += trace::IsOneWay(row.op) || trace::NamesNoPeer(row.op) ? 1 : 0;
    }
  }
  for (const trace::Collective& c : job.comms.collectives) {
    const bool of_all = !job.comms.groups[static_cast<size_t>(c.group)].is_p2p && trace::NamesNoPeer(c.op);
    messages -= of_all ? std::ssize(c.members) : 0;  // an all-to-all
  }
  return messages > 0;
}

// What the ranks of a pipeline whose usual places are not known are held against: those of their own stage.
void HoldAgainstStage(const Job& job, const std::vector<char>& known, const std::vector<char>& compared,
                      std::vector<Skew>* skews) {
  if (!IsPipeline(job)) return;
  std::map<int32_t, std::vector<size_t>> stages;
  for (size_t r = 0; r < skews->size(); ++r) {
    if (known[r] == 0 && Enters(job, r, compared)) stages[job.coordinates[r].stage].push_back(r);
  }
  for (const auto& [stage, ranks] : stages) {
    std::vector<Nanos> starts;
    for (const size_t r : ranks) starts.push_back(job.graph.chain_start[r]);
    const Nanos early = Early(&starts);
    for (const size_t r : ranks) (*skews)[r].first = stage < 0 ? 0 : job.graph.chain_start[r] - early;
  }
}

// Of `compared`, others have none. `places_tell`: whether usual places were taken into account.
std::vector<Skew> Skews(const Job& job, const std::vector<char>& compared, bool* places_tell) {
  std::vector<Skew> out(job.num_ranks());
  Starts starts_here = job.graph.chain_start;
  for (size_t r = 0; r < starts_here.size(); ++r) {
    if (!Enters(job, r, compared)) starts_here[r] = kNoValue;
  }
  const Nanos usual = UsualStart(starts_here);
  std::vector<std::vector<Nanos>> others(job.num_ranks());
  for (const Starts& starts : OtherStarts(job, compared)) {
    const Nanos middle = UsualStart(starts);
    for (size_t r = 0; r < starts.size(); ++r) {
      if (starts[r] != kNoValue) others[r].push_back(starts[r] - middle);
    }
  }
  std::vector<char> known(job.num_ranks(), 0);
  std::vector<Nanos> firsts, places;
  for (size_t r = 0; r < out.size(); ++r) {
    if (starts_here[r] == kNoValue) continue;
    out[r].first = starts_here[r] - usual;
    if (others[r].size() < 3) continue;  // too few to tell a place in the program from chance
    known[r] = 1;
    out[r].usual = Median(others[r]);
    firsts.push_back(out[r].first);
    places.push_back(out[r].usual);
    out[r].noise = SpreadOf(std::move(others[r]));
  }
  *places_tell = PlacesTell(firsts, places);
  for (Skew& skew : out) skew.usual = *places_tell ? skew.usual : 0;
  // Their places taken into account.
  std::vector<Nanos> late;
  for (size_t r = 0; r < out.size(); ++r) {
    if (starts_here[r] != kNoValue) late.push_back(out[r].first - out[r].usual);
  }
  const Nanos early = late.empty() ? 0 : Early(&late);
  for (size_t r = 0; r < out.size(); ++r) out[r].first -= starts_here[r] != kNoValue ? early : 0;
  HoldAgainstStage(job, known, compared, &out);
  return out;
}

// Of a few steps it is not known how much starts vary: a tenth of a step has to do. Ranks that share processors begin
// apart by chance: by more, and more steps have to tell. Clocks of hosts say no more than their residual.
Nanos Threshold(const Job& job, Nanos noise, Nanos residual) {
  const bool has_device = job.ranks.front().has_device;
  const bool known = job.num_steps() >= (has_device ? 4 : 6);
  return std::max({job.median_step / (!known ? 10 : has_device ? 200 : 30), 5 * noise, 2 * residual});
}

Nanos ResidualOf(const Job& job, size_t rank) {
  return std::max(job.comms.clocks.front().residual,
                  job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])].residual);
}

}  // namespace

void RunLateEntryAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  if (job.num_ranks() < 2 || job.steps.empty() || job.comms.collectives.empty()) return;
  const std::vector<Nanos>& start = job.graph.chain_start;
  bool places_tell = true;
  const std::vector<char> compared = OnOneClock(job);
  if (const auto n = std::count(compared.begin(), compared.end(), 0); n > 0) {
    out->not_checked.push_back({"late entry of " + Counted(n, "rank"), "their clocks are not aligned to the others'"});
  }
  const std::vector<Skew> skews = Skews(job, compared, &places_tell);
  std::vector<Nanos> sorted;
  for (size_t r = 0; r < start.size(); ++r) {
    if (Enters(job, r, compared)) sorted.push_back(start[r]);
  }
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  // Hosts run ahead of their devices, by different amounts: only what still shows at the first meeting held others up.
  const std::vector<Meeting> met = FirstMeetings(job, places_tell, compared);
  std::vector<Nanos> least_late(job.classes.size(), INT64_MAX);  // by class
  for (size_t r = 0; r < start.size(); ++r) {
    if (compared[r] == 0) continue;
    Nanos& least = least_late[static_cast<size_t>(job.peer_class[r])];
    least = std::min(least, skews[r].first - skews[r].usual);
  }
  std::vector<size_t> late;
  Nanos residual = 0, most = 0;
  struct Move {
    size_t rank = 0;   // index
    Nanos by = 0;      // what it is late by
    Nanos slower = 0;  // what of that being slow explains
  };
  std::vector<Move> moves;
  Candidate candidate;
  for (size_t r = 0; r < start.size(); ++r) {
    if (compared[r] == 0) continue;
    const Nanos by = skews[r].first - skews[r].usual;
    // What a rank is slower by in every step it was slower by in the step before the window, too.
    const Nanos slower = std::max<Nanos>(0, in.excess.typical[r]);
    const Nanos least = Threshold(job, skews[r].noise, ResidualOf(job, r));
    // No peer tells what still shows of a rank that no other runs the same program as, or without devices of ranks that
    // all come as late: it has to be clearer.
    const std::vector<int32_t>& peers = job.classes[static_cast<size_t>(job.peer_class[r])];
    const bool has_peers = peers.size() > 1;
    const bool all_late = !job.ranks[r].has_device && 2 * least_late[static_cast<size_t>(job.peer_class[r])] >= by;
    const bool shows = has_peers && !all_late ? met[r].late * 2 >= by : by >= 2 * least;
    // Where a device begins its other steps says little of the first, which begins with the host: the first meeting
    // does.
    const Nanos began = Enters(job, r, compared) ? start[r] - sorted.front() : 0;
    const bool meets_late = has_peers && began * 2 >= met[r].late && met[r].noise > 0 &&
                            met[r].late - slower >= Threshold(job, met[r].noise, ResidualOf(job, r));
    // Of a few steps what it is slower by is not known that well.
    const Nanos allowed = job.num_steps() < 4 ? 2 * slower : slower;
    const bool begins_late = by - allowed >= least && shows;
    const Nanos amount = meets_late && !begins_late ? std::min(began, met[r].late) : by;
    if (amount > 0) moves.push_back({r, amount, slower});
    if (!begins_late && !meets_late) continue;
    late.push_back(r);
    most = std::max(most, amount);
    candidate.noise = std::max({candidate.noise, begins_late ? skews[r].noise : met[r].noise, Nanos{1}});
    residual = std::max(residual, ResidualOf(job, r));
  }
  if (late.empty()) return;
  // Who waits for a late rank has this wait in its window: nobody is late by more than that.
  Nanos longest = 0;
  for (const pattern::RankPattern& rank : job.ranks) longest = std::max(longest, rank.window_end - rank.window_start);
  if (most > longest) {
    out->not_checked.push_back({"late entry", "by their clocks ranks begin " + FormatDuration(most) +
                                                  " apart, longer than any of them was recorded: they tell nothing"});
    return;
  }
  // As if all had entered together: those of which it is not believed move, too, but by no more than the others do.
  // That a slow one is late for being slow is the simpler where one rank is late, not where several are.
  for (const Move& move : moves) {
    const Nanos by = std::min(late.size() > 1 ? move.by : move.by - move.slower, most);
    if (by > 0) candidate.edit.starts.push_back({move.rank, start[move.rank] - by});
  }
  report::Finding& finding = candidate.finding;
  finding.cause = "late-entry";
  FillScope(job, late, &finding.scope);
  finding.id = "late-entry-" + std::to_string(finding.scope.ranks.front());
  finding.headline = Who(job, finding.scope);
  finding.when = {report::WhenKind::kOnce, {job.steps.front()}};
  const Nanos apart = sorted.back() - sorted.front();
  finding.sentence = "The ranks enter the first step up to " + FormatDuration(apart) + " apart; " + finding.headline +
                     (late.size() == 1 ? " comes" : " come") + " last. The cause lies before the window.";
  finding.suggestion = "record more steps before this one, or start the profiler at the same step on all ranks";
  finding.confidence = job.comms.clocks.size() > 1 ? report::Confidence::kLikely : report::Confidence::kSure;
  finding.confidence_reason = job.comms.clocks.size() > 1 ? "clocks of the hosts aligned to " + FormatDuration(residual)
                                                          : "all ranks on one clock";
  finding.evidence.push_back({"start of the first step, latest after earliest", Milliseconds(apart), "", "",
                              Counted(static_cast<int64_t>(job.num_ranks()), "rank")});
  AddLastArrivers(in, &finding);
  candidate.excess.assign(job.num_steps(), 0);
  candidate.excess.front() = most;
  out->candidates.push_back(std::move(candidate));
}

}  // namespace headway::diagnose
