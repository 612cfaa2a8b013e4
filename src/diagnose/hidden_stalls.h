// SPDX-License-Identifier: Apache-2.0
// Which ranks pause in the same steps, by the longest piece of time in which a host does one thing only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// Of a host whose device has work meanwhile; without devices of the rank.
[[nodiscard]] Nanos LongestPause(const Job& job, const pattern::Step& step);

// The call path that a rank is in then.
struct PausePlace {
  std::string path;      // outermost first
  std::string function;  // the innermost frame that has a name
  pattern::WorkClass work_class = pattern::WorkClass::kIdle;
};

[[nodiscard]] PausePlace PlaceOfPause(const Job& job, size_t rank, size_t s);

// The cause that the place gives away; "" where it may be anything that stops a process.
[[nodiscard]] std::string_view CauseByPlace(const PausePlace& place);

// Ranks that pause in the same steps.
struct HiddenStall {
  std::vector<size_t> ranks;
  std::vector<size_t> struck;  // axis steps
  std::vector<Nanos> pause;    // by axis step: of the middle rank, beyond the usual one; 0 = not struck
  size_t worst = 0;            // axis step of the longest
  size_t speaker = 0;          // the middle rank there: what it shows is told
  bool of_all = false;         // of most ranks, told of all
};

// Pauses of more than a hundredth of a step, twice the usual and six times what such pauses vary by. Those of most
// ranks come first (of devices' hosts only: what all ranks without devices do shows in their own time). Files that
// break off have none. O(ranks * steps log).
[[nodiscard]] std::vector<HiddenStall> FindHiddenStalls(const Job& job);

// The longest pauses of the job.
class LongestPauses {
 public:
  explicit LongestPauses(const Job& job);  // O(ranks * steps)

  // The longest one of any rank and step that the stall does not hold.
  [[nodiscard]] Nanos Besides(const HiddenStall& stall) const;

 private:
  struct Pause {
    Nanos length = 0;
    size_t rank = 0, step = 0;
  };
  std::vector<Pause> longest_;  // the longest first; no more than are ever asked for
};

// In nearly all steps: there are no others to hold them against.
[[nodiscard]] inline bool Lasts(const Job& job, const HiddenStall& stall) {
  return stall.struck.size() * 4 > job.num_steps() * 3;
}

}  // namespace headway::diagnose
