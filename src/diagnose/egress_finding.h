// SPDX-License-Identifier: Apache-2.0
// From a slow way out of a rank or host to a finding.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {

// Where several sides fit equally well: keeps the one that the orders of ends in its rings point at, or what ends move
// by in the struck steps, if they agree, and notes the links they show.
void NarrowByOrder(const Job& job, std::span<const Channel> channels, Egress* egress);

// Where no file names its host and all of `slow` are collectives of two ranks: the ranks in a row that send in them, by
// who ends last, if none of them also receives. Nothing where a group does not tell, or its kinds of operation
// disagree.
[[nodiscard]] std::optional<Egress> RowByOrder(const Job& job, std::span<const Channel> channels,
                                               const std::vector<SlowChannel>& slow);

// The candidate of what `egress` explains and of what is slow `besides` (SlowBesides). Its edit takes the struck
// transfers back to what they are held against.
[[nodiscard]] Candidate MakeSlowEgress(const Job& job, std::span<const Channel> channels, const Egress& egress,
                                       Against against, std::span<const SlowChannel> besides = {});

// Takes the struck transfers back to what they are held against: the edit, and the excess by step (of the worst
// channel).
void RemoveExcess(const Job& job, const Channel& channel, const SlowChannel& slow, Candidate* candidate);

}  // namespace headway::diagnose
