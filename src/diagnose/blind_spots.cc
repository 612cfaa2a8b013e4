// SPDX-License-Identifier: Apache-2.0
#include "diagnose/blind_spots.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnose/common_steps.h"
#include "diagnose/off_clock.h"
#include "diagnose/summary.h"
#include "diagnose/unseen.h"

namespace headway::diagnose {
namespace {

// "the file of rank 1 breaks off", where that rank therefore lacks a step of the others; empty = none does.
std::string WhatBreaksOff(const Job& job) {
  std::vector<RankId> ranks;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (!IsCut(job.ranks[r])) continue;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (job.StepOf(r, s) != nullptr) continue;
      ranks.push_back(job.ranks[r].meta.rank);
      break;
    }
  }
  if (ranks.empty()) return "";
  const std::string named = FormatRanks(ranks, 8);
  return ranks.size() == 1 ? "the file of rank " + named + " breaks off" : "the files of ranks " + named + " break off";
}

// Of one rank, whose operations can be paired with nobody's: the exposed communication of the median step.
Nanos CommunicationOfOne(const Diagnosis& d) {
  if (d.job.num_ranks() != 1 || d.job.ranks[0].meta.world_size == 1) return 0;
  const report::StepBreakdown parts = BreakDown(d);
  return parts.comm_wait + parts.comm_transfer;
}

// Ranks with a trace none of whose steps is compared, and why; cut files are told of elsewhere.
struct Uncompared {
  std::vector<RankId> elsewhere, timeless, off_clock;
};

Uncompared FindUncompared(const Job& job) {
  Uncompared out;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    if (IsCut(job.ranks[r])) continue;
    bool any = false;
    for (size_t s = 0; s < job.num_steps() && !any; ++s) any = job.StepOf(r, s) != nullptr;
    if (any) continue;
    if (job.ranks[r].log.Count(kClockTellsNothing) > 0) {
      out.off_clock.push_back(job.ranks[r].meta.rank);
      continue;
    }
    const bool recorded = !job.ranks[r].unread_steps.empty();
    (recorded ? out.elsewhere : out.timeless).push_back(job.ranks[r].meta.rank);
  }
  return out;
}

void SayFirst(const std::string& why, Diagnosis* d) {
  if (d->blind_to.empty()) d->blind_to = why;
}

void SayWhoIsNotCompared(Diagnosis* d) {
  const Uncompared ranks = FindUncompared(d->job);
  const auto say = [&](const std::vector<RankId>& some, const char* one, const char* several) {
    if (some.empty()) return;
    const std::string who = (some.size() == 1 ? "rank " : "ranks ") + FormatRanks(some, 8);
    const std::string why = some.size() == 1 ? one : several;
    d->not_checked.push_back({who, why});
    SayFirst(who + (some.size() == 1 ? " is" : " are") + " not compared: " + why, d);
  };
  say(ranks.elsewhere, "its steps have other numbers than most ranks'",
      "their steps have other numbers than most ranks'");
  say(ranks.off_clock, "its clock tells nothing", "their clocks tell nothing");
  say(ranks.timeless, "no step of its trace has a length", "no step of their traces has a length");
}

void SayWhoMayBeWaitedFor(std::span<const Channel> channels, const std::string& breaks_off, Diagnosis* d) {
  const UnseenWaits unseen = FindUnseenWaits(d->job, channels);
  if (unseen.ranks.empty() || unseen.per_step < d->detection_floor) return;
  const std::string what = "up to " + FormatDuration(unseen.per_step) + " of transfers a step";
  const std::string why = "may be waiting for " + NameUnseen(d->job, unseen.ranks);
  d->not_checked.push_back({what, why});
  if (breaks_off.empty()) SayFirst(what + " " + why, d);
}

void SayWhatOneRankHides(Diagnosis* d) {
  const Nanos communication = CommunicationOfOne(*d);
  if (communication <= 0 || communication < d->detection_floor) return;
  const std::string why = FormatPercent(static_cast<double>(communication) / static_cast<double>(d->job.median_step)) +
                          " of the step is communication, and one rank alone does not tell who is waited for in it";
  d->not_checked.push_back({"who is waited for", why});
  SayFirst(why, d);
}

void SayWhatWasNotPaired(Diagnosis* d) {
  int64_t rows = 0;
  for (const pattern::RankPattern& rank : d->job.ranks) rows += static_cast<int64_t>(rank.comms.instances.size());
  const int64_t alone = d->job.comms.unmatched_instances;
  if (alone * 10 < rows || alone == 0) return;
  const std::string what = FormatCount(alone) + " of " + FormatCount(rows) + " communication rows could not be paired";
  SayFirst(what, d);
  d->not_checked.push_back({"who is waited for there", what + ": a rank is missing or cut off, or no event says "
                                                              "who talks to whom; what fixing a cause brings may be "
                                                              "wrong"});
}

// What a file does not show of its rank counts as this rank's own time, and the end of the window may wait for it.
void SayWhatBreaksOff(const std::string& breaks_off, Diagnosis* d) {
  if (breaks_off.empty()) return;
  SayFirst(breaks_off + ", and what a fix brings may be more", d);
  d->not_checked.push_back({"all that fixing a cause brings",
                            breaks_off + ": how the steps after that hang together is not known, gains may be larger"});
}

void SayWhichRanksAreGuessed(Diagnosis* d) {
  const int64_t assumed = MergedLog(d->job).Count("rank-assumed");
  if (assumed == 0) return;
  d->not_checked.push_back({"which rank is which", Counted(assumed, "file") + (assumed == 1 ? " names" : " name") +
                                                       " no rank, so the order of file "
                                                       "names was taken for it; --rank-map FILE says better"});
}

void SayWhatNoiseHides(Diagnosis* d) {
  if (d->detection_floor * 4 < d->job.median_step || d->job.median_step <= 0) return;
  const bool few = d->job.num_steps() < 3;
  if (d->detection_floor >= d->job.median_step) {
    const std::string why =
        few ? "so few steps tell no cause from chance" : "ranks or steps differ by a whole step anyway";
    d->not_checked.push_back({"losses of any size", why});
    SayFirst(why, d);
    return;
  }
  const std::string floor = "below " + FormatDuration(d->detection_floor) + " per step";
  const std::string why = few ? "too few steps to tell a cause from chance" : "ranks or steps differ by as much anyway";
  d->not_checked.push_back({"losses " + floor, why});
  SayFirst(floor + " nothing could be told: " + why, d);
}

}  // namespace

// The first of them that holds reserves the headline.
void SayWhatWasNotSeen(std::span<const Channel> channels, Diagnosis* d) {
  if (LacksCommunication(d->job)) {
    SayFirst("no communication was found in any of the traces, so that the answer rests on too little", d);
  }
  const std::string breaks_off = WhatBreaksOff(d->job);
  SayWhatOneRankHides(d);
  SayWhoMayBeWaitedFor(channels, breaks_off, d);
  if (d->job.num_ranks() > 1) {
    SayWhatWasNotPaired(d);
    SayWhatBreaksOff(breaks_off, d);
    SayWhoIsNotCompared(d);
    SayWhichRanksAreGuessed(d);
  }
  SayWhatNoiseHides(d);
}

}  // namespace headway::diagnose
