// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {
namespace {

constexpr double kLeftOver = 0.1;  // of the squares, at most
constexpr double kAsWell = 2;      // times the best's squares
constexpr size_t kLeastCalls = 6;

// Place in the ring of each member of a host, by clock.
using Hosts = std::map<int32_t, std::vector<size_t>>;

// Takes the mean of each host out of its members' values.
void Centre(const Hosts& hosts, std::vector<double>* values) {
  for (const auto& [clock, places] : hosts) {
    double sum = 0;
    for (const size_t i : places) sum += (*values)[i];
    for (const size_t i : places) (*values)[i] -= sum / static_cast<double>(places.size());
  }
}

// By place in the ring: the middle over the calls of how much later than its host's members on average one ends;
// `scatter`: what that varies by. Empty where too few calls have all members.
std::vector<double> EndsOf(const Job& job, std::span<const size_t> ring, std::span<const size_t> collectives,
                           const Hosts& hosts, double* scatter) {
  std::map<int32_t, size_t> place_of;
  for (size_t i = 0; i < ring.size(); ++i) place_of[static_cast<int32_t>(ring[i])] = i;
  std::vector<std::vector<Nanos>> ends(ring.size());
  for (const size_t c : collectives) {
    const auto& members = job.comms.collectives[c].members;
    if (members.size() != ring.size()) continue;
    std::vector<double> of_call(ring.size(), 0);
    Nanos origin = 0;  // doubles hold differences only
    for (const trace::CollectiveMember& member : members) {
      const auto at = place_of.find(member.rank_index);
      if (at == place_of.end()) return {};
      const auto rank = static_cast<size_t>(member.rank_index);
      const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])];
      const auto& rows = job.ranks[rank].comms.instances;
      const Nanos end = Align(clock, rows[static_cast<size_t>(member.instance)].end);
      if (origin == 0) origin = end;
      of_call[at->second] = static_cast<double>(end - origin);
    }
    Centre(hosts, &of_call);
    for (size_t i = 0; i < ring.size(); ++i) ends[i].push_back(static_cast<Nanos>(of_call[i]));
  }
  if (ends.front().size() < kLeastCalls) return {};
  std::vector<double> out;
  std::vector<Nanos> away;
  for (const std::vector<Nanos>& of_member : ends) {
    const Nanos middle = Median(of_member);
    for (const Nanos x : of_member) away.push_back(x - middle);
    out.push_back(static_cast<double>(middle));
  }
  *scatter = static_cast<double>(DeviationOf(std::move(away)));
  return out;
}

double Squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

}  // namespace

std::optional<RingFit> FitRing(const Job& job, std::span<const size_t> ring, std::span<const size_t> collectives) {
  const size_t n = ring.size();
  if (n < 4) return std::nullopt;
  Hosts hosts;
  for (size_t i = 0; i < n; ++i) hosts[job.comms.clock_of_rank[ring[i]]].push_back(i);
  double scatter = 0;
  const std::vector<double> ends = EndsOf(job, ring, collectives, hosts, &scatter);
  if (ends.empty()) return std::nullopt;
  std::vector<std::pair<double, double>> fits;  // by place of the sender: squares left, hop
  for (size_t sender = 0; sender < n; ++sender) {
    std::vector<double> before(n);  // hops that a member ends before the receiver
    for (size_t i = 0; i < n; ++i) before[i] = -static_cast<double>((i + n - (sender + 1) % n) % n);
    Centre(hosts, &before);
    double product = 0;
    for (size_t i = 0; i < n; ++i) product += before[i] * ends[i];
    const double squares = Squares(before), hop = squares > 0 ? product / squares : 0;
    std::vector<double> left(n);
    for (size_t i = 0; i < n; ++i) left[i] = ends[i] - hop * before[i];
    fits.emplace_back(hop > 0 ? Squares(left) : Squares(ends), hop);
  }
  const auto best = std::min_element(fits.begin(), fits.end());
  if (best->second <= scatter || best->first > kLeftOver * Squares(ends)) return std::nullopt;
  RingFit out;
  out.hop = static_cast<Nanos>(best->second);
  for (size_t i = 0; i < n; ++i) {
    if (fits[i].first > kAsWell * best->first || fits[i].second <= 0) continue;
    out.senders.push_back(job.ranks[ring[i]].meta.rank);
    out.receivers.push_back(job.ranks[ring[(i + 1) % n]].meta.rank);
  }
  return out;
}

}  // namespace headway::diagnose
