// SPDX-License-Identifier: Apache-2.0
// Which steps can be compared between ranks: whole ones that nearly all of them have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pattern/pattern.h"

namespace headway::diagnose {

struct CommonSteps {
  std::vector<int64_t> numbers;     // on three quarters of the ranks that have steps, or more; ascending
  std::vector<std::string> damage;  // files cut off: a sentence each
  std::string apart;                // which ranks have which other steps; empty where all have the same
};

// Whether some of its file is missing or could not be read.
[[nodiscard]] bool IsCut(const pattern::RankPattern& rank);

// Whether the rank's step `i` lasts through steps that others have (`numbers`, ascending): their marks are missing on
// this rank, and nothing tells whose time is whose.
[[nodiscard]] bool LastsThroughOthers(const pattern::RankPattern& rank, size_t i, const std::vector<int64_t>& numbers);

// Takes out of the patterns what is not to be compared (it becomes unread_steps): of a file that was cut off the step
// in which its communication or its device rows end and what follows, of each rank the steps before and behind the
// common ones. A rank may be left without any. O(steps + communication rows).
[[nodiscard]] CommonSteps KeepCommonSteps(std::vector<pattern::RankPattern>* ranks);

}  // namespace headway::diagnose
