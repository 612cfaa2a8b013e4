// SPDX-License-Identifier: Apache-2.0
// Rings whose members end as behind a slow link.
#pragma once

#include <map>
#include <vector>

#include "diagnose/channel_cost.h"
#include "diagnose/ring_order.h"

namespace headway::diagnose {

// What tells of the slow link.
enum class ToldBy : uint8_t {
  kOrder,     // who ends last of all
  kEnds,      // the ends of all rings together (ring_fit.h)
  kArrivals,  // how long it takes depending on who comes last (arrival_fit.h)
};

// One kind of operation whose ends lie apart.
struct Marked {
  const Channel* channel;
  RingOrder order;
  RankId sender = -1;  // -1 = it is not known who sends to the last one
  ToldBy by = ToldBy::kOrder;
};

struct RingMarks {
  std::map<int32_t, std::vector<Marked>> of;  // by group
  bool too_many = false;                      // to be fitted: only who ends last of all was asked
};

// By group, its operations whose ends tell of a slow link: the member that ends last does so as good as never by chance
// and late by a good part of the transfer, or, where clocks do not tell who that is, the ends of all rings over hosts
// fit one slow way out, or on devices what operations take depending on who comes last does. Groups without any have
// none. `by_group`: the operations asked for, by group; `all`: what else tells of the clocks. O(members of all calls)
// beside the fits, which are left out for some thousands of ranks (too_many).
[[nodiscard]] RingMarks MarkRings(const Job& job, const std::map<int32_t, Channels>& by_group,
                                  const std::vector<Channel>& all);

}  // namespace headway::diagnose
