// SPDX-License-Identifier: Apache-2.0
// Members of a group that nothing shows: they have no trace, or none of their operations could be paired. One of them
// may be whom the others wait for, and what they wait then looks like a transfer.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "diagnose/channels.h"
#include "diagnose/job.h"
#include "replay/segment_replay.h"

namespace headway::diagnose {

// "rank 1, which has no trace", "ranks 1, 3, none of whose communication met the others'".
[[nodiscard]] std::string NameUnseen(const Job& job, const std::set<RankId>& ranks);

// Of what an edit takes out of transfers more than half lies in operations some of whose members nothing shows.
// `ranks`: these; empty where it is less. O(members of these operations).
[[nodiscard]] std::set<RankId> MayBeWaitedFor(const Job& job, const replay::SegmentEdit& edit);

// Whether one of them has a trace whose operations met nobody: of another capture, or by a clock that is off.
[[nodiscard]] bool AnyAtOdds(const Job& job, const std::set<RankId>& ranks);

// Transfers that may be waits for members that nothing shows. O(members of all operations).
struct UnseenWaits {
  Nanos per_step = 0;  // exposed, mean over the ranks that show them
  std::set<RankId> ranks;
};
[[nodiscard]] UnseenWaits FindUnseenWaits(const Job& job, std::span<const Channel> channels);

}  // namespace headway::diagnose
