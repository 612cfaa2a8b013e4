// SPDX-License-Identifier: Apache-2.0
#include "diagnose/arrival_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/median.h"
#include "diagnose/ring_order.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

// Tried are lags from the least share of the transfer up, each so much longer than the one before.
constexpr double kLeastShare = 0.005, kShareRatio = 1.15;
constexpr size_t kShares = 32;       // up to 0.38
constexpr size_t kLeastAtPlace = 4;  // calls: fewer have no middle
constexpr double kLeastGain = 60;    // as chi squares count it: the best of many ways and lags gains 20 by chance
constexpr double kLeastOfKind = 20;  // a kind of operation that gains less tells nothing
constexpr double kLeastPerCall = 0.15;
constexpr double kAsWell = 0.9;    // of the gain of the best
constexpr double kShownBy = 0.75;  // of the rings
constexpr double kAllBut = 0.1;    // of what transfers differ by: what leaves no more explains all there is
constexpr size_t kMostWork = size_t{1} << 28U;

constexpr double kAnyway = 0.002;  // of a transfer: what it differs by at least, so that no single call tells much

// Calls of one ring that take about as long, by what they carry and their place in the step.
struct Calls {
  size_t ring = 0;                      // index into the rings
  std::pair<CommOp, int> kind;          // and the length, in powers of two
  double transfer = 0;                  // ns, median
  std::vector<std::vector<double>> at;  // by place: what its members spend, in the ring's order, call by call
  size_t count = 0;
};

// What one way out would explain.
struct Explained {
  double gain = 0;
  size_t calls = 0;
  std::map<size_t, LateLink> rings;  // by index
};

class Fitter {
 public:
  Fitter(const Job& job, std::span<const Ring> rings) : job_(job), rings_(rings) {
    for (size_t k = 0; k < rings.size(); ++k) AddRing(k);
  }

  [[nodiscard]] std::vector<Explained> Explain() const {
    std::vector<std::vector<Gains>> gains;  // by calls, by place of the receiver
    for (const Calls& calls : calls_) {
      gains.emplace_back();
      for (size_t i = 0; i < MembersOf(calls); ++i) gains.back().push_back(GainsOf(calls, i));
    }
    std::vector<Explained> out;
    for (const Way& way : WaysOut(job_, rings_)) {
      Explained by_way = ExplainedBy(way, gains);
      if (by_way.gain > 0) out.push_back(std::move(by_way));
    }
    return out;
  }

 private:
  using Gains = std::array<double, kShares>;

  static double ShareOf(size_t f) { return kLeastShare * std::pow(kShareRatio, static_cast<double>(f)); }

  [[nodiscard]] size_t MembersOf(const Calls& calls) const { return rings_[calls.ring].members.size(); }

  void AddRing(size_t k) {
    const Ring& ring = rings_[k];
    std::map<int32_t, size_t> place_of;
    for (size_t i = 0; i < ring.members.size(); ++i) place_of[static_cast<int32_t>(ring.members[i])] = i;
    std::map<std::pair<Bytes, size_t>, std::vector<double>> at;  // by what it carries, place in the step
    for (size_t s = 0; s < job_.num_steps(); ++s) {
      const auto calls = ring.channel->CallsOf(s);
      for (size_t c = 0; c < calls.size(); ++c) {
        const trace::Collective& collective = job_.comms.collectives[calls[c]];
        // A file was cut off, or says that its rank is in a group of others.
        const bool is_whole =
            collective.members.size() == ring.members.size() &&
            std::all_of(collective.members.begin(), collective.members.end(),
                        [&](const trace::CollectiveMember& m) { return place_of.count(m.rank_index) > 0; });
        if (!is_whole) continue;
        std::vector<double>& spent = at[{collective.bytes, c}];
        const size_t begin = spent.size();
        spent.resize(begin + ring.members.size());
        for (const trace::CollectiveMember& member : collective.members) {
          const auto& rows = job_.ranks[static_cast<size_t>(member.rank_index)].comms.instances;
          const trace::CommInstance& row = rows[static_cast<size_t>(member.instance)];
          spent[begin + place_of.at(member.rank_index)] = static_cast<double>(row.end - row.start);
        }
      }
    }
    std::map<int, Calls> by_length;
    for (auto& [key, spent] : at) {
      if (spent.size() < kLeastAtPlace * ring.members.size()) continue;
      const double transfer = UpperMedian(Transfers(spent, ring.members.size(), 0, 0));
      if (transfer <= 0) continue;
      const int length = static_cast<int>(std::log2(transfer));
      Calls& calls = by_length[length];
      calls.ring = k;
      calls.kind = {ring.channel->op, length};
      calls.count += spent.size() / ring.members.size();
      calls.at.push_back(std::move(spent));
    }
    for (auto& [length, calls] : by_length) {
      std::vector<double> all;
      for (const std::vector<double>& spent : calls.at) {
        const std::vector<double> transfers = Transfers(spent, ring.members.size(), 0, 0);
        all.insert(all.end(), transfers.begin(), transfers.end());
      }
      calls.transfer = UpperMedian(std::move(all));
      calls_.push_back(std::move(calls));
    }
  }

  // Call by call the shortest time a member spends in it, had `receiver` and all behind it not to wait for the slow
  // link: `lag` from the receiver to the sender.
  static std::vector<double> Transfers(const std::vector<double>& spent, size_t members, size_t receiver, double lag) {
    std::vector<double> out;
    const double hop = lag / static_cast<double>(members - 1);
    for (size_t begin = 0; begin < spent.size(); begin += members) {
      double shortest = spent[begin + receiver] - lag;
      for (size_t behind = 1; behind < members; ++behind) {
        const double saved = lag - hop * static_cast<double>(behind);
        shortest = std::min(shortest, spent[begin + (receiver + behind) % members] - saved);
      }
      out.push_back(shortest);
    }
    return out;
  }

  // ns: what transfers at one place of the step differ by, all together.
  static double Differences(const Calls& calls, size_t members, size_t receiver, double lag) {
    double sum = 0;
    for (const std::vector<double>& spent : calls.at) {
      const std::vector<double> transfers = Transfers(spent, members, receiver, lag);
      const double middle = UpperMedian(transfers);
      for (const double x : transfers) sum += std::abs(x - middle);
    }
    return std::max(sum, kAnyway * calls.transfer * static_cast<double>(calls.count));
  }

  [[nodiscard]] Gains GainsOf(const Calls& calls, size_t receiver) const {
    const size_t members = MembersOf(calls);
    const double before = Differences(calls, members, receiver, 0);
    Gains out{};
    for (size_t f = 0; f < kShares; ++f) {
      const double after = Differences(calls, members, receiver, ShareOf(f) * calls.transfer);
      out[f] = -2 * static_cast<double>(calls.count) * std::log(std::max(kAllBut, after / before));
    }
    return out;
  }

  // Calls of one kind lose the same share by the way, in whatever ring.
  [[nodiscard]] Explained ExplainedBy(const Way& way, const std::vector<std::vector<Gains>>& gains) const {
    std::map<std::pair<CommOp, int>, std::vector<size_t>> by_kind;
    for (size_t c = 0; c < calls_.size(); ++c) {
      if (way[calls_[c].ring] != kNoPlace) by_kind[calls_[c].kind].push_back(c);
    }
    const auto gain_of = [&](size_t c, size_t f) {
      return gains[c][(way[calls_[c].ring] + 1) % MembersOf(calls_[c])][f];
    };
    Explained out;
    size_t shown = 0, asked = 0;
    for (const auto& [kind, of_kind] : by_kind) {
      std::pair<double, size_t> best{0, 0};
      for (size_t f = 0; f < kShares; ++f) {
        double gain = 0;
        for (const size_t c : of_kind) gain += gain_of(c, f);
        best = std::max(best, {gain, f});
      }
      const auto [gain, f] = best;
      if (gain < kLeastOfKind) continue;
      out.gain += gain;
      for (const size_t c : of_kind) {
        ++asked;
        shown += gain_of(c, f) > 0 ? 1 : 0;
        out.calls += calls_[c].count;
        Enter(calls_[c], way[calls_[c].ring], ShareOf(f) * calls_[c].transfer, &out);
      }
    }
    return static_cast<double>(shown) < kShownBy * static_cast<double>(asked) ? Explained{} : out;
  }

  void Enter(const Calls& calls, size_t sender, double lag, Explained* out) const {
    const Ring& ring = rings_[calls.ring];
    LateLink& link = out->rings[calls.ring];
    link.channel = ring.channel;
    link.sender = job_.ranks[ring.members[sender]].meta.rank;
    link.receiver = job_.ranks[ring.members[(sender + 1) % ring.members.size()]].meta.rank;
    link.lag = std::max(link.lag, static_cast<Nanos>(lag));
  }

  const Job& job_;
  std::span<const Ring> rings_;
  std::vector<Calls> calls_;
};

// Whether they tell different things of one ring.
bool Contradict(const Explained& a, const Explained& b) {
  return std::any_of(a.rings.begin(), a.rings.end(), [&](const auto& of_a) {
    const auto of_b = b.rings.find(of_a.first);
    return of_b != b.rings.end() &&
           (of_b->second.sender != of_a.second.sender || of_b->second.receiver != of_a.second.receiver);
  });
}

bool IsTold(const Explained& explained) {
  return explained.gain >= kLeastGain && explained.gain >= kLeastPerCall * static_cast<double>(explained.calls) &&
         std::any_of(explained.rings.begin(), explained.rings.end(),
                     [](const auto& of) { return of.second.lag >= RingOrder::kLeastLag; });
}

// Of the lags tried for each receiver, and of the ways out with their places in all rings.
size_t WorkOf(std::span<const Ring> rings) {
  size_t work = 0;
  std::set<size_t> ranks;
  for (const Ring& ring : rings) {
    work += kShares * ring.channel->calls.size() * ring.members.size() * ring.members.size();
    ranks.insert(ring.members.begin(), ring.members.end());
  }
  return work + ranks.size() * rings.size();
}

}  // namespace

bool AreTooManyToFit(std::span<const Ring> rings) { return WorkOf(rings) > kMostWork; }

std::vector<LateLink> FitArrivals(const Job& job, std::span<const Ring> rings) {
  if (rings.empty() || AreTooManyToFit(rings)) return {};
  std::vector<Explained> all = Fitter(job, rings).Explain();
  if (std::any_of(rings.begin(), rings.end(), [](const Ring& ring) { return ring.members.size() > 2; })) {
    std::vector<Ring> back(rings.begin(), rings.end());
    for (Ring& ring : back) std::reverse(ring.members.begin(), ring.members.end());
    for (Explained& explained : Fitter(job, back).Explain()) all.push_back(std::move(explained));
  }
  std::stable_sort(all.begin(), all.end(), [](const Explained& a, const Explained& b) { return a.gain > b.gain; });
  std::map<size_t, LateLink> out;
  std::set<size_t> done;  // rings
  for (const Explained& best : all) {
    const auto is_done = [&](const auto& of) { return done.count(of.first) > 0; };
    if (!IsTold(best) || std::any_of(best.rings.begin(), best.rings.end(), is_done)) continue;
    const bool alone = std::none_of(all.begin(), all.end(), [&](const Explained& other) {
      return other.gain >= kAsWell * best.gain && Contradict(best, other);
    });
    for (const auto& [ring, link] : best.rings) {
      done.insert(ring);
      if (alone) out.emplace(ring, link);
    }
  }
  std::vector<LateLink> links;
  for (const auto& [ring, link] : out) links.push_back(link);
  return links;
}

}  // namespace headway::diagnose
