// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_shift.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <vector>

#include "diagnose/excess.h"
#include "diagnose/ring_order.h"

namespace headway::diagnose {

namespace {

// By rank index, when it ends against the mean of all members, one value an operation.
using Ends = std::map<int32_t, std::vector<Nanos>>;

Ends EndsOf(const Job& job, std::span<const size_t> collectives, size_t members) {
  Ends out;
  for (const size_t c : collectives) {
    const std::vector<trace::CollectiveMember>& all = job.comms.collectives[c].members;
    if (all.size() != members) continue;
    const Nanos first = AlignedEnd(job, all.front());  // sums of what lies behind it stay small
    Nanos sum = 0;
    for (const trace::CollectiveMember& member : all) sum += AlignedEnd(job, member) - first;
    const Nanos mean = first + sum / static_cast<Nanos>(members);
    for (const trace::CollectiveMember& member : all) out[member.rank_index].push_back(AlignedEnd(job, member) - mean);
  }
  return out;
}

size_t MostMembers(const Job& job, std::span<const size_t> collectives) {
  size_t most = 0;
  for (const size_t c : collectives) most = std::max(most, job.comms.collectives[c].members.size());
  return most;
}

// The error of the middle of values that scatter so: 1.25 of that of their mean.
double ErrorOfMiddle(const std::vector<Nanos>& values) {
  return 1.2533 * static_cast<double>(SpreadOf(values)) / std::sqrt(static_cast<double>(values.size()));
}

struct Shift {
  Nanos by = 0;
  double error = 0;
  int32_t rank_index = -1;
};

// The earliest first; empty where operations are too few.
std::vector<Shift> ShiftsOf(const Ends& struck, const Ends& quiet) {
  std::vector<Shift> out;
  for (const auto& [rank, values] : struck) {
    const auto usual = quiet.find(rank);
    const auto least = static_cast<size_t>(RingOrder::kLeast);
    if (usual == quiet.end() || values.size() < least || usual->second.size() < least) return {};
    out.push_back({Median(values) - Median(usual->second),
                   std::hypot(ErrorOfMiddle(values), ErrorOfMiddle(usual->second)), rank});
  }
  std::sort(out.begin(), out.end(),
            [](const Shift& a, const Shift& b) { return std::tie(a.by, a.rank_index) < std::tie(b.by, b.rank_index); });
  return out;
}

bool AreApart(const Shift& earlier, const Shift& later) {
  return static_cast<double>(later.by - earlier.by) > RingOrder::kBeyondChance * std::hypot(earlier.error, later.error);
}

// Whether a good part of the quiet ones lies before the middle struck one, and behind it. Indices go by time.
bool AreBeforeAndBehind(std::span<const size_t> quiet, std::span<const size_t> struck) {
  const size_t middle = struck[struck.size() / 2];
  const auto before = std::count_if(quiet.begin(), quiet.end(), [middle](size_t c) { return c < middle; });
  return before * 4 >= std::ssize(quiet) && (std::ssize(quiet) - before) * 4 >= std::ssize(quiet);
}

}  // namespace

std::optional<report::Link> LinkByShift(const Job& job, std::span<const size_t> struck, std::span<const size_t> quiet) {
  const size_t members = MostMembers(job, struck);
  if (members < 2 || quiet.empty()) return std::nullopt;
  const std::vector<Shift> shifts = ShiftsOf(EndsOf(job, struck, members), EndsOf(job, quiet, members));
  if (shifts.size() != members) return std::nullopt;
  const Shift& first = shifts.front();
  const Shift& last = shifts.back();
  Nanos least = RingOrder::kLeastLag;
  if (!AreBeforeAndBehind(quiet, struck)) {
    for (const Shift& s : shifts) {
      const auto clock = static_cast<size_t>(job.comms.clock_of_rank[static_cast<size_t>(s.rank_index)]);
      least = std::max(least, 2 * job.comms.clocks[clock].residual);
    }
  }
  if (last.by - first.by < least || !AreApart(first, shifts[1]) || !AreApart(shifts[members - 2], last)) {
    return std::nullopt;
  }
  return report::Link{job.ranks[static_cast<size_t>(first.rank_index)].meta.rank,
                      job.ranks[static_cast<size_t>(last.rank_index)].meta.rank};
}

}  // namespace headway::diagnose
