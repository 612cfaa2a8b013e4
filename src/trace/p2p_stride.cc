// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_stride.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace headway::trace {
namespace {

constexpr double kFits = 0.6;

using FlowsOf = std::map<RankId, std::vector<size_t>>;

bool MayMatch(const LaneFlow& a, const LaneFlow& b) {
  const auto [few, many] = std::minmax({a.rows.size(), b.rows.size()});
  return a.rank != b.rank && a.sends != b.sends && many * 10 <= few * 11 + 10;
}

// The pairs at one distance.
struct Layout {
  std::vector<std::pair<size_t, size_t>> pairs;
  size_t rows = 0;     // that found a partner
  size_t by_rest = 0;  // those that were left, one stream a rank
  Nanos scatter = 0;   // mean over the pairs
};

class StrideSearch {
 public:
  StrideSearch(std::span<const LaneFlow> flows, const std::function<PartnerFit(size_t, size_t)>& fit)
      : flows_(flows), fit_(fit) {
    for (size_t i = 0; i < flows.size(); ++i) of_rank_[flows[i].rank].push_back(i);
  }

  // Distances at which something of the lowest rank fits. Once around, the way back is the same distance.
  [[nodiscard]] std::set<RankId> Distances() const {
    std::set<RankId> out;
    const RankId around = Around();
    for (const size_t i : of_rank_.begin()->second) {
      for (size_t j = 0; j < flows_.size(); ++j) {
        if (!MayMatch(flows_[i], flows_[j]) || fit_(std::min(i, j), std::max(i, j)).score <= kFits) continue;
        const RankId distance = flows_[j].rank - flows_[i].rank;
        out.insert(std::min(distance, around - distance));
      }
    }
    return out;
  }

  // Those whose ends agree best first, over all ranks: in a ring each rank has a neighbour on either side.
  [[nodiscard]] Layout At(RankId distance) const {
    std::vector<Candidate> candidates;
    for (const auto& [rank, mine] : of_rank_) {
      const auto next = of_rank_.find(Next(rank, distance));
      if (next != of_rank_.end()) AddCandidates(mine, next->second, &candidates);
    }
    std::sort(candidates.begin(), candidates.end());
    Layout out;
    std::vector<bool> taken(flows_.size(), false);
    for (const auto& [scatter, i, j] : candidates) {
      if (taken[i] || taken[j]) continue;
      taken[i] = taken[j] = true;
      out.pairs.emplace_back(i, j);
      out.rows += flows_[i].rows.size() + flows_[j].rows.size();
      out.scatter += scatter;
    }
    if (!out.pairs.empty()) out.scatter /= static_cast<Nanos>(out.pairs.size());
    PairWhatIsLeft(distance, taken, &out);
    return out;
  }

 private:
  using Candidate = std::tuple<Nanos, size_t, size_t>;  // scatter of the ends, two flows

  [[nodiscard]] RankId Around() const { return of_rank_.rbegin()->first - of_rank_.begin()->first + 1; }

  [[nodiscard]] RankId Next(RankId rank, RankId distance) const {
    return rank + distance <= of_rank_.rbegin()->first ? rank + distance : rank + distance - Around();
  }

  // Where one stream of either rank is left, those two belong together though their times do not show it: unless a
  // stream is what is left on both sides of its rank.
  void PairWhatIsLeft(RankId distance, const std::vector<bool>& taken, Layout* out) const {
    std::vector<std::pair<size_t, size_t>> left;
    std::vector<int> sides(flows_.size(), 0);
    for (const auto& [rank, mine] : of_rank_) {
      const auto next = of_rank_.find(Next(rank, distance));
      // Half way around the next rank's next one is this one again.
      if (next == of_rank_.end() || (2 * distance == Around() && next->first < rank)) continue;
      for (const bool sends : {true, false}) {
        const int64_t i = OnlyOneLeft(mine, sends, taken), j = OnlyOneLeft(next->second, !sends, taken);
        if (i < 0 || j < 0) continue;
        left.emplace_back(i, j);
        ++sides[static_cast<size_t>(i)];
        ++sides[static_cast<size_t>(j)];
      }
    }
    for (const auto& [i, j] : left) {
      if (sides[i] > 1 || sides[j] > 1 || flows_[i].rows.size() != flows_[j].rows.size()) continue;
      out->pairs.emplace_back(i, j);
      out->by_rest += flows_[i].rows.size() + flows_[j].rows.size();
    }
  }

  // -1: none, or several.
  [[nodiscard]] int64_t OnlyOneLeft(const std::vector<size_t>& flows, bool sends,
                                    const std::vector<bool>& taken) const {
    int64_t only = -1;
    for (const size_t i : flows) {
      if (taken[i] || flows_[i].sends != sends) continue;
      if (only >= 0) return -1;
      only = static_cast<int64_t>(i);
    }
    return only;
  }

  void AddCandidates(const std::vector<size_t>& mine, const std::vector<size_t>& theirs,
                     std::vector<Candidate>* out) const {
    for (const size_t i : mine) {
      for (const size_t j : theirs) {
        if (!MayMatch(flows_[i], flows_[j])) continue;
        const PartnerFit f = fit_(std::min(i, j), std::max(i, j));
        if (f.score > kFits) out->emplace_back(f.scatter, i, j);
      }
    }
  }

  std::span<const LaneFlow> flows_;
  const std::function<PartnerFit(size_t, size_t)>& fit_;
  FlowsOf of_rank_;
};

}  // namespace

void AddFlows(const RankComms& rank, int32_t rank_index, bool sends, const std::vector<int32_t>& rows,
              std::vector<LaneFlow>* flows) {
  std::map<int32_t, std::vector<int32_t>> by_lane;
  for (const int32_t row : rows) by_lane[rank.instances[static_cast<size_t>(row)].local_group].push_back(row);
  for (auto& [lane, of_lane] : by_lane) flows->push_back({rank.rank, rank_index, sends, std::move(of_lane)});
}

std::vector<std::pair<size_t, size_t>> PairByStride(std::span<const LaneFlow> flows,
                                                    const std::function<PartnerFit(size_t, size_t)>& fit) {
  if (flows.empty()) return {};
  size_t all = 0;
  for (const LaneFlow& flow : flows) all += flow.rows.size();
  const StrideSearch search(flows, fit);
  Layout best;
  bool ambiguous = false;
  for (const RankId distance : search.Distances()) {
    Layout layout = search.At(distance);
    // Nine in ten rows; or three in four by their times and all that remain one to one.
    if (layout.rows * 10 < all * 9 && (layout.rows * 4 < all * 3 || layout.rows + layout.by_rest < all)) continue;
    const bool closer = best.rows == 0 || layout.scatter < best.scatter;
    const Nanos least = std::min(layout.scatter, best.scatter), most = std::max(layout.scatter, best.scatter);
    const bool as_good = best.rows > 0 && most <= 2 * least + 2 * kMicrosecond;
    ambiguous = as_good || (ambiguous && !closer);
    if (closer) best = std::move(layout);
  }
  if (ambiguous) return {};
  return best.pairs;
}

}  // namespace headway::trace
