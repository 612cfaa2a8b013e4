// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "diagnose/job.h"
#include "replay/segment_replay.h"

namespace headway::diagnose {

// Takes `amount[s]` (by axis step, 0 = nothing) off the own time of `rank`, where it falls behind its peers: the pieces
// between two arrivals are compared with the same pieces of `peers` in the same step, and give in proportion to what
// the sum of their excess rises by, smoothed to rise only (isotonic regression). Where it never rises, or pieces cannot
// be compared (no peers, or another number of arrivals), they give in proportion to their length. No piece gives more
// than it has, so less than the amount may go. O(n) in the marks of the rank and its peers in those steps.
void RemoveOwnTime(const Job& job, size_t rank, const std::vector<size_t>& peers, const std::vector<Nanos>& amount,
                   replay::SegmentEdit* edit);

// The same where all ranks take longer in some steps: held against the rank's own `quiet_steps` (axis steps; the first
// eight that are cut as often). A piece that has most of `amount` is the one in which a stall lies: it gives first.
// O(marks of the rank).
void RemoveBeyondQuietSteps(const Job& job, size_t rank, const std::vector<Nanos>& amount,
                            std::span<const size_t> quiet_steps, replay::SegmentEdit* edit);

// Takes `amount[s]` (by axis step) off the steps of `rank`, from their begin on: what a batch needs before anything is
// computed with it. O(marks of the rank).
void RemoveFromStepBegins(const Job& job, size_t rank, const std::vector<Nanos>& amount, replay::SegmentEdit* edit);

}  // namespace headway::diagnose
