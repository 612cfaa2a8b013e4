// SPDX-License-Identifier: Apache-2.0
// What takes longer by what it is given, rather than by what it runs on.
#pragma once

#include <string>

#include "diagnose/sibling_merge.h"

namespace headway::diagnose {

// "b" of a call path "a > b".
[[nodiscard]] std::string LeafOf(const std::string& path);

// Makes imbalance of a finding; `reason` becomes the begin of a sentence.
void TellAsImbalance(const std::string& reason, report::Finding* finding);

// One kernel, or without devices one operator, that alone (or with a second one) is longer on three ranks and more (of
// operators: of several hosts), or on any rank of a program that exchanges tokens (all-to-all), is told as imbalance.
// To be called when all that is alike is joined, as that asks for the same cause. O(members of collectives).
void NameUnevenWork(const Job& job, RankCandidates* candidates);

}  // namespace headway::diagnose
