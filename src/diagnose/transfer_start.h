// SPDX-License-Identifier: Apache-2.0
// What a transfer takes before data move.
#pragma once

#include <span>
#include <vector>

#include "diagnose/channels.h"
#include "diagnose/job.h"

namespace headway::diagnose {

// Mean payload of these calls; -1 where one is not written.
[[nodiscard]] Bytes MeanBytes(const Job& job, std::span<const size_t> calls);

// The shortest transfer of the job that does what `like` does, inside a host or over hosts (a twentieth from below); 0
// = there is none.
[[nodiscard]] Nanos ShortestTransfer(const Job& job, const std::vector<Channel>& channels, const Channel& like);

// What of `shortest` goes by before data move. Transfers of a sixteenth of the payload and less are hardly more than
// that; of the others it is what is left at the rate at which larger ones go, which move bytes 2 (n - 1) / n times
// (all-reduce among n, in a ring), (n - 1) / n times (all-gather, reduce-scatter), or once; where those move less than
// four times as much, at the rate at which what they move more takes them longer. All of it where no size is
// written, or no other is there to compare with; never less than any network takes. O(calls of the job).
[[nodiscard]] Nanos StartOf(const Job& job, const std::vector<Channel>& channels, const Channel& like, Nanos shortest);

}  // namespace headway::diagnose
