// SPDX-License-Identifier: Apache-2.0
#include "diagnose/ring_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "diagnose/excess.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;

constexpr double kLeftOver = 0.1;        // of the squares, at most
constexpr double kAsWell = 5;            // times the best's squares,
constexpr double kAsWellAtAll = 0.02;    // or so much of all: another that leaves no more does as well
constexpr double kMostOfTransfer = 1.5;  // that a link's hops all round may take
constexpr double kLeastKept = 0.01;      // of a pattern's squares: what offsets explain to more than that tells nothing
constexpr double kLeastFree = 4;         // ends beyond what is fitted
constexpr double kLong = 0.1;            // of the longest transfer
constexpr double kPieces = 8;            // devices pass on a long message in pieces: hops of all long ones are alike
constexpr size_t kLeastCalls = 6;
constexpr size_t kMostWork = size_t{1} << 22U;
constexpr int kMostSweeps = 200;
constexpr double kSettled = 1e-6;    // of what is left
constexpr double kRounding = 1e-18;  // of what was there
constexpr std::array kOps{CommOp::kAllReduce, CommOp::kAllGather, CommOp::kReduceScatter};

using Column = std::vector<double>;  // one value per end

// Calls of one ring that take about as long: their ends in the middle.
struct Ends {
  size_t ring = 0;      // index into the rings
  double transfer = 0;  // ns, median
  double scatter = 0;   // ns: what an end varies by between calls
  size_t begin = 0;     // of its members' values in a column, in the ring's order
};

class Fitter {
 public:
  Fitter(const Job& job, std::span<const Ring> rings) : job_(job), rings_(rings) {
    for (size_t k = 0; k < rings.size(); ++k) AddEnds(k);
    if (job.ranks.front().has_device) {
      for (const Ends& e : ends_) longest_piece_ = std::max(longest_piece_, e.transfer / kPieces);
    } else {
      longest_piece_ = std::numeric_limits<double>::max();
    }
    FindLong();
  }

  std::optional<RingFit> Fit() {
    const std::vector<Way> ways = Ways();
    if (ends_.empty() || ways.size() * ends_of_.size() > kMostWork) return std::nullopt;
    Column ends = ends_of_;
    if (!Centre(&ends)) return std::nullopt;
    const double all = Squares(ends);
    if (all <= 0) return std::nullopt;
    const double free = static_cast<double>(ends.size() - ends_.size()) - static_cast<double>(CountClocks() - 1);
    std::vector<std::pair<double, size_t>> left;  // of the squares, by way
    std::vector<std::array<double, kOps.size()>> hops(ways.size());
    for (size_t w = 0; w < ways.size(); ++w) left.emplace_back(Left(ways[w], ends, all, free, &hops[w]), w);
    std::partial_sort(left.begin(), left.begin() + static_cast<ptrdiff_t>(std::min<size_t>(2, left.size())),
                      left.end());
    if (left.empty() || left[0].first > kLeftOver) return std::nullopt;
    if (left.size() > 1 && left[1].first < std::max(kAsWellAtAll, kAsWell * left[0].first)) return std::nullopt;
    return Publish(ways[left[0].second], hops[left[0].second]);
  }

 private:
  [[nodiscard]] int32_t ClockOf(size_t rank) const { return job_.comms.clock_of_rank[rank]; }

  // Ends of the calls with all members.
  void AddEnds(size_t k) {
    const Ring& ring = rings_[k];
    std::map<int32_t, size_t> place_of;
    for (size_t i = 0; i < ring.members.size(); ++i) place_of[static_cast<int32_t>(ring.members[i])] = i;
    std::vector<std::pair<Nanos, size_t>> by_length;
    for (const size_t c : ring.channel->calls) {
      if (job_.comms.collectives[c].members.size() != ring.members.size()) continue;
      by_length.emplace_back(TransferTime(job_, c), c);
    }
    std::sort(by_length.begin(), by_length.end());
    for (size_t from = 0, to = 0; from < by_length.size(); from = to) {
      for (to = from + 1; to < by_length.size() && by_length[to].first / 2 <= by_length[from].first;) ++to;
      AddAlike(k, place_of, std::span(by_length).subspan(from, to - from));
    }
  }

  // Those of calls that take about as long.
  void AddAlike(size_t k, const std::map<int32_t, size_t>& place_of, std::span<const std::pair<Nanos, size_t>> calls) {
    if (calls.size() < kLeastCalls) return;
    std::vector<std::vector<Nanos>> ends(place_of.size());
    std::vector<Nanos> away;
    for (const auto& [transfer, c] : calls) {
      const auto end_of = [&](const trace::CollectiveMember& member) {
        const auto rank = static_cast<size_t>(member.rank_index);
        const trace::HostClock& clock = job_.comms.clocks[static_cast<size_t>(ClockOf(rank))];
        return Align(clock, job_.ranks[rank].comms.instances[static_cast<size_t>(member.instance)].end);
      };
      const auto& members = job_.comms.collectives[c].members;
      const Nanos origin = end_of(members.front());  // doubles hold differences only
      for (const trace::CollectiveMember& member : members) {
        const auto place = place_of.find(member.rank_index);
        if (place != place_of.end()) ends[place->second].push_back(end_of(member) - origin);
      }
    }
    const Nanos transfer_in_the_middle = calls[calls.size() / 2].first;
    Ends out{k, static_cast<double>(transfer_in_the_middle), 0, ends_of_.size()};
    for (const std::vector<Nanos>& of_member : ends) {
      const Nanos middle = Median(of_member);
      for (const Nanos x : of_member) away.push_back(x - middle);
      ends_of_.push_back(static_cast<double>(middle));
    }
    out.scatter = static_cast<double>(DeviationOf(std::move(away)));
    ends_.push_back(out);
  }

  // Rings of short operations alone tell of the clocks, not of hops.
  void FindLong() {
    is_long_.assign(rings_.size(), 0);
    double longest = 0;
    for (const Ends& e : ends_) longest = std::max(longest, e.transfer);
    for (const Ends& e : ends_) is_long_[e.ring] |= e.transfer >= kLong * longest ? 1 : 0;
  }
  [[nodiscard]] size_t OpOf(const Ends& e) const {
    return static_cast<size_t>(std::find(kOps.begin(), kOps.end(), rings_[e.ring].channel->op) - kOps.begin());
  }

  [[nodiscard]] size_t CountClocks() const {
    std::map<int32_t, int> clocks;
    for (const Ends& e : ends_) {
      for (const size_t rank : rings_[e.ring].members) clocks[ClockOf(rank)] = 1;
    }
    return clocks.size();
  }

  // As far as they pass rings of long operations.
  [[nodiscard]] std::vector<Way> Ways() const {
    std::vector<Way> out = WaysOut(job_, rings_);
    for (Way& way : out) {
      for (size_t k = 0; k < way.size(); ++k) way[k] = is_long_[k] != 0 ? way[k] : kNoPlace;
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // What one slow way out makes of the ends of one kind of operation, with hops that take all of the transfer. An
  // all-reduce goes round twice and ends with the second round.
  [[nodiscard]] Column Pattern(const Way& way, size_t op) const {
    Column out(ends_of_.size(), 0);
    for (const Ends& e : ends_) {
      const size_t n = rings_[e.ring].members.size();
      if (OpOf(e) != op || way[e.ring] == kNoPlace) continue;
      const double hop = HopOf(e);
      for (size_t i = 0; i < n; ++i) {
        out[e.begin + i] = -hop * static_cast<double>((i + n - (way[e.ring] + 1) % n) % n);
      }
    }
    return out;
  }
  [[nodiscard]] double HopOf(const Ends& e) const {
    const Ring& ring = rings_[e.ring];
    const double rounds = ring.channel->op == CommOp::kAllReduce ? 2 : 1;
    return std::min(e.transfer, longest_piece_) / rounds / static_cast<double>(ring.members.size());
  }

  // Takes the mean of each operation, which nobody knows, and of each clock, which may be off, out of the values: in
  // turn, until neither has any. False where that takes too many turns (clocks that only a long chain of rings ties).
  bool Centre(Column* values) const {
    const size_t clocks = job_.comms.clocks.size();
    std::vector<double> sum(clocks), count(clocks);
    const double before = Squares(*values);
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      std::fill(sum.begin(), sum.end(), 0);
      std::fill(count.begin(), count.end(), 0);
      for (const Ends& e : ends_) {
        const std::vector<size_t>& members = rings_[e.ring].members;
        double mean = 0;
        for (size_t i = 0; i < members.size(); ++i) mean += (*values)[e.begin + i];
        mean /= static_cast<double>(members.size());
        for (size_t i = 0; i < members.size(); ++i) {
          (*values)[e.begin + i] -= mean;
          sum[static_cast<size_t>(ClockOf(members[i]))] += (*values)[e.begin + i];
          ++count[static_cast<size_t>(ClockOf(members[i]))];
        }
      }
      double moved = 0;
      for (size_t c = 0; c < clocks; ++c) {
        if (count[c] > 0) sum[c] /= count[c];
        moved += sum[c] * sum[c] * count[c];
      }
      for (const Ends& e : ends_) {
        const std::vector<size_t>& members = rings_[e.ring].members;
        for (size_t i = 0; i < members.size(); ++i) {
          (*values)[e.begin + i] -= sum[static_cast<size_t>(ClockOf(members[i]))];
        }
      }
      if (moved <= kSettled * Squares(*values) || moved <= kRounding * before) return true;
    }
    return false;
  }

  static double Product(const Column& a, const Column& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static double Squares(const Column& values) { return Product(values, values); }

  // The share of the squares of `ends` that a way leaves, with the hops that leave least, by kind of operation, as a
  // share of the transfer; all where these make no sense. One kind after the other is made orthogonal to those before.
  double Left(const Way& way, const Column& ends, double all, double free,
              std::array<double, kOps.size()>* hops) const {
    std::array<Column, kOps.size()> kept;  // of each kind what offsets and the kinds before do not explain
    std::array<std::array<double, kOps.size()>, kOps.size()> shared{};
    Column left = ends;
    for (size_t k = 0; k < kOps.size(); ++k) {
      (*hops)[k] = 0;
      Column pattern = Pattern(way, k);
      const double before = Squares(pattern);
      if (before == 0) continue;
      if (!Centre(&pattern)) return 1;
      for (size_t j = 0; j < k; ++j) {
        if (kept[j].empty()) continue;
        shared[k][j] = Product(pattern, kept[j]) / Squares(kept[j]);
        for (size_t i = 0; i < pattern.size(); ++i) pattern[i] -= shared[k][j] * kept[j][i];
      }
      const double squares = Squares(pattern);
      if (squares < kLeastKept * before) return 1;
      kept[k] = std::move(pattern);
      (*hops)[k] = Product(left, kept[k]) / squares;
      for (size_t i = 0; i < left.size(); ++i) left[i] -= (*hops)[k] * kept[k][i];
      --free;
    }
    for (size_t k = kOps.size(); k-- > 0;) {  // back from the orthogonal ones
      if (kept[k].empty()) continue;
      if ((*hops)[k] <= 0) return 1;
      for (size_t j = 0; j < k; ++j) (*hops)[j] -= shared[k][j] * (*hops)[k];
    }
    return free < kLeastFree ? 1 : Squares(left) / all;
  }

  [[nodiscard]] std::optional<RingFit> Publish(const Way& way, const std::array<double, kOps.size()>& hops) const {
    RingFit out;
    for (size_t k = 0; k < rings_.size(); ++k) {
      if (way[k] == kNoPlace) continue;
      const Ring& ring = rings_[k];
      double hop = 0, scatter = 0, transfer = 0;
      for (const Ends& e : ends_) {
        const double hop_of_these = HopOf(e) * hops[OpOf(e)];
        if (e.ring != k || hop_of_these <= hop) continue;
        hop = hop_of_these;
        scatter = e.scatter;
        transfer = e.transfer;
      }
      const size_t n = ring.members.size();
      if (hop <= scatter || hop * static_cast<double>(n) > kMostOfTransfer * transfer) continue;
      out.links.push_back({ring.channel, job_.ranks[ring.members[way[k]]].meta.rank,
                           job_.ranks[ring.members[(way[k] + 1) % n]].meta.rank, static_cast<Nanos>(hop)});
    }
    return out.links.empty() ? std::nullopt : std::optional(std::move(out));
  }

  const Job& job_;
  std::span<const Ring> rings_;
  std::vector<Ends> ends_;
  Column ends_of_;
  double longest_piece_ = 0;   // ns: of what takes longer the hop is no longer
  std::vector<char> is_long_;  // by ring
};

}  // namespace

bool AreTooMany(std::span<const Ring> rings) {
  size_t ends = 0;
  std::set<size_t> ranks;
  for (const Ring& ring : rings) {
    ends += ring.members.size();
    ranks.insert(ring.members.begin(), ring.members.end());
  }
  return ranks.size() * ends > kMostWork;
}

std::optional<RingFit> FitRings(const Job& job, std::span<const Ring> rings) {
  if (AreTooMany(rings)) return std::nullopt;  // before any row is looked at
  return Fitter(job, rings).Fit();
}

}  // namespace headway::diagnose
