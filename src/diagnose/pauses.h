// SPDX-License-Identifier: Apache-2.0
// Steps that a rank loses in one piece, told from those it takes longer throughout.
#pragma once

#include <span>
#include <vector>

#include "diagnose/suspects.h"

namespace headway::diagnose {

// Sum over `steps` of the longest stretch without a break on `rank`, beyond those of its peers. Theirs in other
// functions have other reasons: on devices all of them do not count, without devices those in which they fetch input.
// O(steps x peers).
[[nodiscard]] Nanos StretchBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers,
                                       std::span<const size_t> steps);

// Of a rank with a device, the sum over `steps` of its host's longest pause, whatever the device does meanwhile, beyond
// the middle one of its peers' in the same function, where it is half as long again. O(steps x peers).
[[nodiscard]] Nanos HostStretchBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers,
                                           std::span<const size_t> steps);

// The part of it in which the host fetched its input.
[[nodiscard]] Nanos HostInputBeyondPeers(const Job& job, size_t rank, std::span<const size_t> peers,
                                         std::span<const size_t> steps);

// Whether in over half of `steps` the middle peer pauses, too (its host, where it has a device), and for so long that a
// pause of what the rank loses there (`cost`, by axis step) would not be its longest. O(steps x peers).
[[nodiscard]] bool ArePausesMasked(const Job& job, size_t rank, std::span<const size_t> peers,
                                   std::span<const size_t> steps, std::span<const Nanos> cost);

// A rank may be slow in many steps and stand still in one: two causes. Takes from the suspects the few steps (a quarter
// of the struck ones at most) whose excess lies in one piece, in another function than that of most steps, and returns
// them as suspects of their own, one a function, no rank twice in a list. What a rank loses in nearly all steps it is
// taken to lose in these, too. O(struck steps x peers).
[[nodiscard]] std::vector<std::vector<Suspect>> TakePauses(const AnalysisInput& in, std::vector<Suspect>* suspects);

}  // namespace headway::diagnose
