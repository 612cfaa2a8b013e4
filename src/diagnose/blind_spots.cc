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

void SayWhoIsNotCompared(Diagnosis* d) {
  const Uncompared ranks = FindUncompared(d->job);
  const auto say = [&](const std::vector<RankId>& some, const char* one, const char* several) {
    if (some.empty()) return;
    const std::string who = (some.size() == 1 ? "rank " : "ranks ") + FormatRanks(some, 8);
    const std::string why = some.size() == 1 ? one : several;
    d->not_checked.push_back({who, why});
    if (d->blind_to.empty()) d->blind_to = who + (some.size() == 1 ? " is" : " are") + " not compared: " + why;
  };
  say(ranks.elsewhere, "its steps have other numbers than most ranks'",
      "their steps have other numbers than most ranks'");
  say(ranks.off_clock, "its clock tells nothing", "their clocks tell nothing");
  say(ranks.timeless, "no step of its trace has a length", "no step of their traces has a length");
}

}  // namespace

void SayWhatWasNotSeen(std::span<const Channel> channels, Diagnosis* d) {
  const UnseenWaits unseen = FindUnseenWaits(d->job, channels);
  if (!unseen.ranks.empty() && unseen.per_step >= d->detection_floor) {
    const std::string what = "up to " + FormatDuration(unseen.per_step) + " of transfers a step";
    const std::string why = "may be waiting for " + NameUnseen(d->job, unseen.ranks);
    d->not_checked.push_back({what, why});
    if (WhatBreaksOff(d->job).empty()) d->blind_to = what + " " + why;
  }
  if (LacksCommunication(d->job)) {
    d->blind_to = "no communication was found in any of the traces, so that the answer rests on too little";
  }
  if (const Nanos alone = CommunicationOfOne(*d); alone > 0 && alone >= d->detection_floor) {
    const std::string why = FormatPercent(static_cast<double>(alone) / static_cast<double>(d->job.median_step)) +
                            " of the step is communication, and one rank alone does not tell who is waited for in it";
    d->not_checked.push_back({"who is waited for", why});
    d->blind_to = why;
  }
  int64_t rows = 0;
  for (const pattern::RankPattern& rank : d->job.ranks) rows += static_cast<int64_t>(rank.comms.instances.size());
  const int64_t alone = d->job.comms.unmatched_instances;
  if (d->job.num_ranks() > 1 && alone * 10 >= rows && alone > 0) {
    const std::string what =
        FormatCount(alone) + " of " + FormatCount(rows) + " communication rows could not be paired";
    if (d->blind_to.empty()) d->blind_to = what;
    d->not_checked.push_back(
        {"who is waited for there", what + ": a rank is missing or cut off, or no event says "
                                           "who talks to whom; what fixing a cause brings may be wrong"});
  }
  // What a file does not show of its rank counts as this rank's own time, and the end of the window may wait for it.
  if (const std::string what = WhatBreaksOff(d->job); d->job.num_ranks() > 1 && !what.empty()) {
    if (d->blind_to.empty()) d->blind_to = what + ", and what a fix brings may be more";
    d->not_checked.push_back({"all that fixing a cause brings",
                              what + ": how the steps after that hang together is not known, gains may be larger"});
  }
  if (d->job.num_ranks() > 1) SayWhoIsNotCompared(d);
  if (const int64_t assumed = MergedLog(d->job).Count("rank-assumed"); d->job.num_ranks() > 1 && assumed > 0) {
    d->not_checked.push_back({"which rank is which", Counted(assumed, "file") + (assumed == 1 ? " names" : " name") +
                                                         " no rank, so the order of file "
                                                         "names was taken for it; --rank-map FILE says better"});
  }
  if (d->detection_floor * 4 < d->job.median_step || d->job.median_step <= 0) return;
  const bool few = d->job.num_steps() < 3;
  if (d->detection_floor >= d->job.median_step) {
    const std::string why =
        few ? "so few steps tell no cause from chance" : "ranks or steps differ by a whole step anyway";
    d->not_checked.push_back({"losses of any size", why});
    if (d->blind_to.empty()) d->blind_to = why;
    return;
  }
  const std::string floor = "below " + FormatDuration(d->detection_floor) + " per step";
  const std::string why = few ? "too few steps to tell a cause from chance" : "ranks or steps differ by as much anyway";
  d->not_checked.push_back({"losses " + floor, why});
  if (d->blind_to.empty()) d->blind_to = floor + " nothing could be told: " + why;
}

}  // namespace headway::diagnose
