// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_lonely.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trace/comm_sequence.h"
#include "trace/p2p_partners.h"
#include "trace/p2p_stride.h"

namespace headway::trace {
namespace {

constexpr size_t kMostRanks = 128;

class LonelyPairing {
 public:
  using ClockOffset = std::function<std::optional<Nanos>(int32_t, int32_t, Nanos)>;

  LonelyPairing(const std::vector<RankComms>& ranks, const std::map<int32_t, Traffic>& lonely,
                const ClockOffset& offset)
      : ranks_(ranks), lonely_(lonely), offset_(offset) {}

  // Each rank with one partner.
  [[nodiscard]] std::vector<PartnerRows> AsPairs() const {
    std::vector<int32_t> members;
    for (const auto& [r, traffic] : lonely_) members.push_back(r);
    const auto fit = [&](size_t i, size_t j) { return FitOf(members[i], members[j]); };
    std::vector<PartnerRows> out;
    for (const auto& [i, j] : ChoosePartners(members.size(), fit)) {
      const int32_t a = members[i], b = members[j];
      const Traffic &of_a = lonely_.at(a), &of_b = lonely_.at(b);
      out.push_back({a, b, of_a.sends, of_b.receives});
      out.push_back({b, a, of_b.sends, of_a.receives});
      out.push_back({a, b, of_a.both, of_b.both});
    }
    return out;
  }

  // Each stream of a rank is one direction to one neighbour.
  [[nodiscard]] std::vector<PartnerRows> AsStages() const {
    std::vector<LaneFlow> flows;
    for (const auto& [r, traffic] : lonely_) {
      const RankComms& rank = ranks_[static_cast<size_t>(r)];
      AddFlows(rank, r, true, traffic.sends, &flows);
      AddFlows(rank, r, false, traffic.receives, &flows);
      // Ends of a host's messages tell nothing, nor do kernels that send and receive.
      if (!traffic.both.empty() || flows.empty() ||
          IsHostMessage(rank, rank.instances[static_cast<size_t>(flows.back().rows[0])])) {
        return {};
      }
    }
    const auto fit = [&](size_t i, size_t j) {
      const Togetherness together = Judge(flows[i].rank_index, flows[i].rows, flows[j].rank_index, flows[j].rows);
      return PartnerFit{together.score, together.scatter, true};
    };
    std::vector<PartnerRows> out;
    for (const auto& [i, j] : PairByStride(flows, fit)) {
      const LaneFlow &from = flows[flows[i].sends ? i : j], &to = flows[flows[i].sends ? j : i];
      out.push_back({from.rank_index, to.rank_index, from.rows, to.rows});
    }
    return out;
  }

 private:
  [[nodiscard]] CommSequence Sequence(int32_t r, const std::vector<int32_t>& rows) const {
    return {&ranks_[static_cast<size_t>(r)], r, rows};
  }

  [[nodiscard]] Togetherness Judge(int32_t a, const std::vector<int32_t>& of_a, int32_t b,
                                   const std::vector<int32_t>& of_b) const {
    const CommSequence x = Sequence(a, of_a), y = Sequence(b, of_b);
    return JudgeTogether(x, y, offset_(a, b, x[0].start));
  }

  [[nodiscard]] PartnerFit FitOf(int32_t a, int32_t b) const {
    PartnerFit fit;
    double sum = 0, flows = 0;
    const Traffic &of_a = lonely_.at(a), &of_b = lonely_.at(b);
    const std::array<std::pair<const std::vector<int32_t>*, const std::vector<int32_t>*>, 2> sides{
        {{&of_a.sends, &of_b.receives}, {&of_a.receives, &of_b.sends}}};
    for (const auto& [x, y] : sides) {
      if (x->empty() && y->empty()) continue;
      ++flows;
      if (x->empty() || y->empty()) continue;
      const Togetherness together = Judge(a, *x, b, *y);
      sum += together.score;
      fit.scatter = std::max(fit.scatter, together.scatter);
      const RankComms& rank = ranks_[static_cast<size_t>(a)];
      fit.by_ends = !IsHostMessage(rank, rank.instances[static_cast<size_t>(x->front())]);
    }
    fit.score = flows > 0 ? sum / flows : 0;
    return fit;
  }

  const std::vector<RankComms>& ranks_;
  const std::map<int32_t, Traffic>& lonely_;
  const ClockOffset& offset_;
};

}  // namespace

std::vector<PartnerRows> PairLonely(const std::vector<RankComms>& ranks, const std::map<int32_t, Traffic>& lonely,
                                    const std::function<std::optional<Nanos>(int32_t, int32_t, Nanos)>& offset) {
  if (lonely.empty() || lonely.size() > kMostRanks) return {};
  size_t least = SIZE_MAX, most = 0;
  for (const auto& [r, traffic] : lonely) {
    least = std::min(least, traffic.size());
    most = std::max(most, traffic.size());
  }
  const LonelyPairing pairing(ranks, lonely, offset);
  // The inner stages of a longer pipeline do twice as much, and its ends only seem to fit each other.
  const bool may_be_pairs = 2 * most <= 3 * least + 4;
  std::vector<PartnerRows> out = may_be_pairs ? pairing.AsPairs() : std::vector<PartnerRows>();
  return out.empty() ? pairing.AsStages() : out;
}

}  // namespace headway::trace
