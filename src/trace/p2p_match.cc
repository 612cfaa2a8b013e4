// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_match.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "trace/p2p_flow.h"
#include "trace/p2p_lonely.h"
#include "trace/p2p_offset.h"

namespace headway::trace {
namespace {

struct Pair {
  int32_t rank_a = -1, row_a = -1, rank_b = -1, row_b = -1;  // rank indices, a the lower rank
};

struct PairKey {
  RankId low = -1, high = -1;
  std::string_view desc;
  bool inferred = false;
  auto operator<=>(const PairKey&) const = default;
};

class PointToPointMatcher {
 public:
  PointToPointMatcher(const std::vector<RankComms>& ranks, const GroupTable& table, const ClockAlignment& clocks)
      : ranks_(ranks), table_(table), clocks_(clocks) {
    for (size_t r = 0; r < ranks.size(); ++r) index_of_rank_[ranks[r].rank] = static_cast<int32_t>(r);
  }

  PointToPointMatch Match(const std::vector<std::vector<int32_t>>& rows) {
    std::vector<int32_t> pipeline(rows.size(), -1);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (rows[r].empty()) continue;
      pipeline[r] = PipelineGroup(r);
      for (const int32_t row : rows[r]) CountNonsense(r, row, pipeline[r]);
    }
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const int32_t row : rows[r]) Sort(r, row, pipeline[r]);
    }
    LeaveOneSided();
    PairFlows();
    PeelPipelines();
    MatchLonely();
    Publish();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const CommInstance& Row(size_t r, int32_t row) const {
    return ranks_[r].instances[static_cast<size_t>(row)];
  }
  [[nodiscard]] const JobGroup& Group(int32_t g) const { return table_.groups[static_cast<size_t>(g)]; }

  // The group a rank's unnamed sends and receives run in: the one called a pipeline; else the only one it declares that
  // has no lane; else the only one there is.
  [[nodiscard]] int32_t PipelineGroup(size_t r) const {
    std::vector<int32_t> called, idle;
    for (const int32_t g : table_.declared[r]) {
      const std::string_view desc = Group(g).desc;
      if (desc.find("pp") != std::string_view::npos || desc.find("pipe") != std::string_view::npos) called.push_back(g);
      const auto& lanes = table_.of_local[r];
      if (std::find(lanes.begin(), lanes.end(), g) == lanes.end()) idle.push_back(g);
    }
    if (called.size() == 1) return called[0];
    if (idle.size() == 1) return idle[0];
    return table_.declared[r].size() == 1 ? table_.declared[r][0] : -1;
  }

  [[nodiscard]] int32_t GroupOfRow(size_t r, const CommInstance& row, int32_t pipeline) const {
    int32_t group = table_.of_local[r][static_cast<size_t>(row.local_group)];
    if (group < 0) group = pipeline;
    if (group < 0) return -1;
    const auto& members = Group(group).ranks;
    return std::binary_search(members.begin(), members.end(), ranks_[r].rank) ? group : -1;
  }

  // Written peers are places in the group's list or global ranks, the same way throughout a group: one way makes
  // nonsense of more rows (nobody's place, the rank itself).
  struct Nonsense {
    int64_t as_place = 0, as_rank = 0;
  };
  void CountNonsense(size_t r, int32_t row_index, int32_t pipeline) {
    const CommInstance& row = Row(r, row_index);
    const int32_t group = GroupOfRow(r, row, pipeline);
    if (group < 0 || row.peer < 0) return;
    const RankId own = ranks_[r].rank;
    Nonsense& nonsense = nonsense_[group];
    nonsense.as_place += AtPlace(group, row.peer, own) < 0 ? 1 : 0;
    nonsense.as_rank += AsRank(group, row.peer, own) < 0 ? 1 : 0;
  }
  [[nodiscard]] RankId AtPlace(int32_t group, int32_t peer, RankId own) const {
    const auto& order = table_.written_order[static_cast<size_t>(group)];
    const auto place = static_cast<size_t>(peer);
    return place < order.size() && order[place] != own ? order[place] : -1;
  }
  [[nodiscard]] RankId AsRank(int32_t group, int32_t peer, RankId own) const {
    const auto& members = Group(group).ranks;
    return peer != own && std::binary_search(members.begin(), members.end(), peer) ? peer : -1;
  }

  void Sort(size_t r, int32_t row_index, int32_t pipeline) {
    const CommInstance& row = Row(r, row_index);
    const int32_t group = GroupOfRow(r, row, pipeline);
    const RankId peer = PeerOf(ranks_[r].rank, row, group);
    if (peer >= 0) {
      flows_[{ranks_[r].rank, peer, group}].Of(row.op).push_back(row_index);
    } else if (group >= 0) {
      peerless_[{group, static_cast<int32_t>(r)}].Of(row.op).push_back(row_index);
    } else {
      lonely_[static_cast<int32_t>(r)].Of(row.op).push_back(row_index);
    }
  }

  // Global rank of the other side, -1 = not known.
  [[nodiscard]] RankId PeerOf(RankId own, const CommInstance& row, int32_t group) const {
    if (group < 0) return row.peer == own ? -1 : row.peer;
    if (row.peer >= 0) {
      const Nonsense& nonsense = nonsense_.at(group);
      const bool places = nonsense.as_place <= nonsense.as_rank;
      const RankId peer = places ? AtPlace(group, row.peer, own) : AsRank(group, row.peer, own);
      if (peer >= 0) return peer;
    }
    const auto& order = table_.written_order[static_cast<size_t>(group)];
    if (order.size() != 2) return -1;
    return order[0] == own ? order[1] : order[0];
  }

  [[nodiscard]] CommSequence Sequence(int32_t r, const std::vector<int32_t>& rows) const {
    return {&ranks_[static_cast<size_t>(r)], r, rows};
  }

  [[nodiscard]] std::optional<Nanos> Offset(int32_t a, int32_t b, Nanos own) const {
    Nanos offset = 0;
    return clocks_.OffsetBetween(a, b, own, &offset) ? std::optional<Nanos>(offset) : std::nullopt;
  }

  // Whether a written peer is a global rank or a place in the group's list is not known where the group is not. That of
  // a rank which does not name this one says nothing.
  void LeaveOneSided() {
    for (auto it = flows_.begin(); it != flows_.end();) {
      const auto& [own, peer, group] = it->first;
      if (group >= 0 || !index_of_rank_.contains(peer) || flows_.contains({peer, own, group})) {
        ++it;
        continue;
      }
      Traffic& alone = lonely_[index_of_rank_.at(own)];
      for (auto list : {&Traffic::sends, &Traffic::receives, &Traffic::both}) {
        std::vector<int32_t>& rows = alone.*list;
        rows.insert(rows.end(), (it->second.*list).begin(), (it->second.*list).end());
        std::sort(rows.begin(), rows.end());
      }
      it = flows_.erase(it);
    }
  }

  // Both sides name each other.
  void PairFlows() {
    for (const auto& [key, mine] : flows_) {
      const auto& [own, peer, group] = key;
      const auto there = index_of_rank_.find(peer);
      const auto theirs = flows_.find({peer, own, group});
      if (there == index_of_rank_.end() || theirs == flows_.end()) {
        out_.unmatched += static_cast<int64_t>(mine.size());
        continue;
      }
      const int32_t a = index_of_rank_.at(own);
      const PairKey pair{std::min(own, peer), std::max(own, peer), DescOf(group), false};
      PairRows(a, mine.sends, there->second, theirs->second.receives, pair);
      if (own < peer) PairRows(a, mine.both, there->second, theirs->second.both, pair);
    }
  }

  [[nodiscard]] std::string_view DescOf(int32_t group) const {
    return group < 0 || Group(group).desc == "default_pg" ? std::string_view() : std::string_view(Group(group).desc);
  }

  void PairRows(int32_t a, const std::vector<int32_t>& of_a, int32_t b, const std::vector<int32_t>& of_b,
                const PairKey& key) {
    FlowPairs pairs;
    if (!of_a.empty() && !of_b.empty()) {
      const CommSequence x = Sequence(a, of_a), y = Sequence(b, of_b);
      pairs = PairFlow(x, y, Offset(a, b, x[0].start));
    }
    for (const auto& [i, j] : pairs) Keep(a, of_a[static_cast<size_t>(i)], b, of_b[static_cast<size_t>(j)], key);
    out_.unmatched += static_cast<int64_t>(of_a.size() + of_b.size() - 2 * pairs.size());
  }

  void Keep(int32_t a, int32_t row_a, int32_t b, int32_t row_b, const PairKey& key) {
    Pair pair{a, row_a, b, row_b};
    if (ranks_[static_cast<size_t>(a)].rank > ranks_[static_cast<size_t>(b)].rank) pair = {b, row_b, a, row_a};
    pairs_[key].push_back(pair);
  }

  // Stages of a longer pipeline talk to their neighbours. The first stage has only one, so all it does is with the
  // second; what is left of that one is with the third, and so on; behind a missing stage from the other end.
  void PeelPipelines() {
    for (auto first = peerless_.begin(); first != peerless_.end();) {
      auto last = first;
      while (last != peerless_.end() && last->first.first == first->first.first) ++last;
      const int32_t group = first->first.first;
      const auto& order = table_.written_order[static_cast<size_t>(group)];
      std::vector<Traffic*> stages(order.size(), nullptr);
      for (auto it = first; it != last; ++it) {
        const RankId rank = ranks_[static_cast<size_t>(it->first.second)].rank;
        stages[static_cast<size_t>(std::find(order.begin(), order.end(), rank) - order.begin())] = &it->second;
      }
      for (size_t s = 0; s + 1 < order.size() && Peel(order, stages, s, s + 1, group); ++s) {
      }
      for (size_t s = order.size() - 1; s > 0 && Peel(order, stages, s, s - 1, group); --s) {
      }
      for (const Traffic* t : stages) out_.unmatched += t == nullptr ? 0 : static_cast<int64_t>(t->size());
      first = last;
    }
  }

  bool Peel(const std::vector<RankId>& order, const std::vector<Traffic*>& stages, size_t end, size_t next,
            int32_t group) {
    if (stages[end] == nullptr || stages[next] == nullptr) return false;
    if (stages[end]->size() == 0) return stages[next]->size() > 0;
    const int32_t a = index_of_rank_.at(order[end]), b = index_of_rank_.at(order[next]);
    const PairKey key{std::min(order[end], order[next]), std::max(order[end], order[next]), DescOf(group), true};
    Traffic &mine = *stages[end], &theirs = *stages[next];
    const Anchors anchors = AnchorsOf(Sequence(a, mine.sends), Sequence(a, mine.receives));
    const OffsetLine offset = OffsetOfNeighbours(a, mine, b, theirs, anchors);
    Extract(a, &mine.sends, b, &theirs.receives, offset, anchors.sends, key);
    Extract(a, &mine.receives, b, &theirs.sends, offset, anchors.receives, key);
    Extract(a, &mine.both, b, &theirs.both, offset, Anchor::kNone, key);
    return true;
  }

  // Clock of b - clock of a.
  [[nodiscard]] OffsetLine OffsetOfNeighbours(int32_t a, const Traffic& of_a, int32_t b, const Traffic& of_b,
                                              const Anchors& anchors) {
    const auto& rows = ranks_[static_cast<size_t>(a)].instances;
    const Nanos first = rows.front().start, last = rows.back().start;
    if (const std::optional<Nanos> known = Offset(a, b, first)) {
      OffsetLine line(*known);
      line.at = first;
      if (last > first) {
        line.drift =
            static_cast<double>(Offset(a, b, last).value_or(*known) - *known) / static_cast<double>(last - first);
      }
      return line;
    }
    out_.guessed_clocks = true;
    const std::array<NeighbourFlow, 3> flows{{{Sequence(a, of_a.sends), Sequence(b, of_b.receives), anchors.sends},
                                              {Sequence(a, of_a.receives), Sequence(b, of_b.sends), anchors.receives},
                                              {Sequence(a, of_a.both), Sequence(b, of_b.both), Anchor::kNone}}};
    return OffsetByTraffic(flows).value_or(OffsetLine(0));
  }

  // Pairs rows of `few` with some of `many` and takes both out of the lists.
  void Extract(int32_t a, std::vector<int32_t>* few, int32_t b, std::vector<int32_t>* many, const OffsetLine& offset,
               Anchor anchor, const PairKey& key) {
    if (few->empty() || many->empty()) return;
    const CommSequence x = Sequence(a, *few), y = Sequence(b, *many);
    for (const auto& [i, j] : PairWithSome(x, y, offset, anchor)) {
      Keep(a, (*few)[static_cast<size_t>(i)], b, (*many)[static_cast<size_t>(j)], key);
      (*few)[static_cast<size_t>(i)] = (*many)[static_cast<size_t>(j)] = -1;
    }
    std::erase(*few, -1);
    std::erase(*many, -1);
  }

  // No group at all: ranks whose sends and receives fit each other's.
  void MatchLonely() {
    int64_t rows = 0;
    for (const auto& [r, traffic] : lonely_) rows += static_cast<int64_t>(traffic.size());
    std::set<int32_t> found;
    for (const PartnerRows& p :
         PairLonely(ranks_, lonely_, [&](int32_t a, int32_t b, Nanos own) { return Offset(a, b, own); })) {
      const RankId x = ranks_[static_cast<size_t>(p.a)].rank, y = ranks_[static_cast<size_t>(p.b)].rank;
      PairRows(p.a, p.rows_of_a, p.b, p.rows_of_b, {std::min(x, y), std::max(x, y), {}, true});
      rows -= static_cast<int64_t>(p.rows_of_a.size() + p.rows_of_b.size());  // PairRows counts those left of them
      found.insert({p.a, p.b});
    }
    out_.unmatched += rows;
    if (found.size() < lonely_.size()) {
      out_.notes.push_back("sends and receives of " +
                           Counted(static_cast<int64_t>(lonely_.size() - found.size()), "rank") +
                           " that name neither peer nor group, and no partner fits: left out");
    }
  }

  void Publish() {
    int64_t inferred = 0;
    for (auto& [key, pairs] : pairs_) {
      JobGroup group{
          .ranks = {key.low, key.high}, .desc = std::string(key.desc), .inferred = key.inferred, .is_p2p = true};
      inferred += key.inferred ? 1 : 0;
      std::vector<std::pair<Nanos, size_t>> order;
      for (size_t i = 0; i < pairs.size(); ++i) {
        const Pair& p = pairs[i];
        order.emplace_back(std::max(clocks_.Aligned(p.rank_a, RowOf(p.rank_a, p.row_a).start),
                                    clocks_.Aligned(p.rank_b, RowOf(p.rank_b, p.row_b).start)),
                           i);
      }
      std::sort(order.begin(), order.end());
      for (size_t k = 0; k < order.size(); ++k) {
        const Pair& p = pairs[order[k].second];
        const CommInstance& a = RowOf(p.rank_a, p.row_a);
        const CommInstance& b = RowOf(p.rank_b, p.row_b);
        Collective c{.group = static_cast<int32_t>(out_.groups.size()),
                     .ordinal = static_cast<int64_t>(k),
                     .op = CommOp::kSendRecv,
                     .bytes = std::max(a.bytes, b.bytes)};
        c.step = std::max(CommSequence::StepNumberOf(ranks_[static_cast<size_t>(p.rank_a)], a),
                          CommSequence::StepNumberOf(ranks_[static_cast<size_t>(p.rank_b)], b));
        c.members = {{p.rank_a, p.row_a}, {p.rank_b, p.row_b}};
        out_.collectives.push_back(std::move(c));
      }
      out_.groups.push_back(std::move(group));
    }
    if (inferred > 0) {
      out_.notes.push_back("no event names the peer of its sends and receives: " + Counted(inferred, "pair") +
                           " of neighbours found by counts and times");
    }
  }

  [[nodiscard]] const CommInstance& RowOf(int32_t r, int32_t row) const { return Row(static_cast<size_t>(r), row); }

  const std::vector<RankComms>& ranks_;
  const GroupTable& table_;
  const ClockAlignment& clocks_;
  PointToPointMatch out_;
  std::unordered_map<RankId, int32_t> index_of_rank_;
  std::map<int32_t, Nonsense> nonsense_;                          // per group
  std::map<std::tuple<RankId, RankId, int32_t>, Traffic> flows_;  // own, peer, group
  std::map<std::pair<int32_t, int32_t>, Traffic> peerless_;       // group, rank index
  std::map<int32_t, Traffic> lonely_;                             // rank index
  std::map<PairKey, std::vector<Pair>> pairs_;
};

}  // namespace

PointToPointMatch MatchPointToPoint(const std::vector<RankComms>& ranks, const GroupTable& table,
                                    const ClockAlignment& clocks, const std::vector<std::vector<int32_t>>& rows) {
  return PointToPointMatcher(ranks, table, clocks).Match(rows);
}

}  // namespace headway::trace
