// SPDX-License-Identifier: Apache-2.0
// What an analysis hands in: a finding without its price, and the edit of the graph that removes its cause.
#pragma once

#include <string>
#include <vector>

#include "replay/segment_replay.h"
#include "report/finding.h"

namespace headway::diagnose {

// What the excess of a candidate is counted from: one says what another one does only where both count alike.
enum class HeldAgainst : uint8_t {
  kNothing,      // all that is taken
  kPeers,        // on top of what all of them take
  kOtherSteps,   // what all ranks take longer alike; what one takes beyond its peers is not in it
  kOtherStages,  // which may do without what it does
};

struct Candidate {
  report::Finding finding;    // recoverable, victims and severity are filled in by PriceCandidates
  replay::SegmentEdit edit;   // applied to the job's graph
  Nanos noise = 0;            // per step: below twice this a cause is at most info
  bool at_most_info = false;  // the analysis itself does not claim more
  bool is_at_least = false;   // what it costs is not known, only that it is no less than what `edit` brings
  HeldAgainst against = HeldAgainst::kNothing;
  bool is_beyond_host = false;  // what one rank takes beyond all that its host takes longer
  std::string other;            // of two functions that share the excess the second one, with which scope.function ends
  bool only_here = false;       // scope.function takes next to nothing anywhere else
  std::string of_one;           // where it speaks of several ranks: what was said of `speaker` alone
  size_t speaker = 0;           // rank index
  double longer = 0;            // how many times as long as elsewhere it, or a call of it, takes; 0 = not known
  std::vector<Nanos> excess;    // by axis step: what the cause costs its own ranks, before anyone hides it
};

}  // namespace headway::diagnose
