// SPDX-License-Identifier: Apache-2.0
// Slow links that only the order in which members of rings end shows.
#pragma once

#include <span>
#include <vector>

#include "diagnose/candidate.h"
#include "diagnose/channel_cost.h"
#include "diagnose/slow_channels.h"

namespace headway::diagnose {

struct RingLinks {
  std::vector<Candidate> candidates;
  Channels unexplained;   // of `channels`
  bool too_many = false;  // rings to be fitted (ring_fit.h)
};

// In each group the member that ends last behind a slow link, as good as never by chance and late by a good part of the
// transfer. Groups side by side (the same operation from the same host to the same other one; where files name no
// hosts, between members at the same places) are one finding: a network card serves all of them, and while one stays
// slow the others wait for it. Fainter signs of devices (even stairs of ends) are remarks. `channels`: collectives of
// which nothing else explains the time, by group. `all`: to hold them against; `in_some_steps`: which of them are
// slower than in their other steps, and by how much: that is what the link costs. O(members + channels).
[[nodiscard]] RingLinks FindRingLinks(const Job& job, const Channels& channels, const std::vector<Channel>& all,
                                      std::span<const SlowChannel> in_some_steps = {});

}  // namespace headway::diagnose
