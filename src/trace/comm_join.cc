// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "trace/clock_alignment.h"
#include "trace/collective_match.h"
#include "trace/comm.h"
#include "trace/group_inference.h"
#include "trace/group_table.h"
#include "trace/p2p_match.h"
#include "trace/row_index.h"

namespace headway::trace {
namespace {

bool NamesNoPeer(CommOp op) { return op == CommOp::kSendRecv || op == CommOp::kCoalesced; }

class CommJoiner {
 public:
  CommJoiner(const std::vector<RankComms>& ranks, int world_size)
      : ranks_(ranks), world_size_(WorldSize(ranks, world_size)), clocks_(RecordedClocks(ranks)) {}

  JobComms Join() {
    table_ = ResolveNamedGroups(ranks_, world_size_);
    InferLaneGroups(ranks_, world_size_, &table_);
    const RowIndex rows(ranks_, table_);
    out_.unmatched_instances += rows.unresolved();
    CollectMembers(rows);
    MatchCollectives();
    MatchPairs();
    out_.groups = std::move(table_.groups);
    Publish();
    return std::move(out_);
  }

 private:
  [[nodiscard]] ClockOffset Offsets() const {
    return [this](int32_t reference, int32_t member) -> std::optional<Nanos> {
      Nanos offset = 0;
      const Nanos own = ranks_[static_cast<size_t>(reference)].instances.front().start;
      return clocks_.OffsetBetween(reference, member, own, &offset) ? std::optional<Nanos>(offset) : std::nullopt;
    };
  }

  void CollectMembers(const RowIndex& rows) {
    point_to_point_.resize(ranks_.size());
    for (size_t r = 0; r < ranks_.size(); ++r) point_to_point_[r] = rows.PointToPoint(static_cast<int32_t>(r));
    members_.resize(table_.groups.size());
    places_.resize(table_.groups.size());
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      members_[g] = rows.Members(static_cast<int32_t>(g));
      SeparateNeighbours(g);
    }
    for (auto& of_rank : point_to_point_) std::sort(of_rank.begin(), of_rank.end());
  }

  // Send/receive kernels of a group that pair neighbours leave its sequence. `kept_` owns what remains.
  void SeparateNeighbours(size_t g) {
    auto& members = members_[g];
    if (members.size() < 3) return;
    std::vector<std::vector<int32_t>> exchanges(members.size()), others(members.size());
    bool any = false;
    for (size_t m = 0; m < members.size(); ++m) {
      for (int32_t i = 0; i < members[m].size(); ++i) {
        const bool exchange = NamesNoPeer(members[m][i].op);
        any = any || exchange;
        (exchange ? exchanges : others)[m].push_back(members[m].rows[static_cast<size_t>(i)]);
      }
    }
    if (!any) return;
    std::vector<CommSequence> alone = members;
    for (size_t m = 0; m < members.size(); ++m) alone[m].rows = exchanges[m];
    std::erase_if(alone, [](const CommSequence& s) { return s.size() == 0; });
    if (RunTogether(alone, Offsets())) return;
    for (size_t m = 0; m < members.size(); ++m) {
      auto& pairs = point_to_point_[static_cast<size_t>(members[m].rank_index)];
      pairs.insert(pairs.end(), exchanges[m].begin(), exchanges[m].end());
      kept_.push_back(std::move(others[m]));
      members[m].rows = kept_.back();
    }
    std::erase_if(members, [](const CommSequence& s) { return s.size() == 0; });
  }

  // In order first; the clocks then tell where ranks with holes belong.
  void MatchCollectives() {
    const ClockOffset offsets = Offsets();
    bool all_placed = true;
    for (size_t g = 0; g < members_.size(); ++g) {
      places_[g] = PlaceInOrder(members_[g], offsets);
      for (const MemberPlace& place : places_[g].members) all_placed = all_placed && place.placed;
    }
    if (!all_placed) {
      Build();
      clocks_ = AlignClocks(ranks_, out_.collectives);
      for (size_t g = 0; g < members_.size(); ++g) PlaceRest(members_[g], Offsets(), &places_[g]);
    }
    Build();
    clocks_ = AlignClocks(ranks_, out_.collectives);
  }

  void Build() {
    out_.collectives.clear();
    matched_inconsistent_ = matched_unmatched_ = 0;
    for (size_t g = 0; g < members_.size(); ++g) {
      GroupCollectives of_group = BuildCollectives(members_[g], places_[g]);
      matched_unmatched_ += of_group.unmatched;
      matched_inconsistent_ += of_group.inconsistent;
      for (Collective& c : of_group.collectives) {
        c.group = static_cast<int32_t>(g);
        out_.collectives.push_back(std::move(c));
      }
    }
  }

  void MatchPairs() {
    out_.unmatched_instances += matched_unmatched_;
    out_.inconsistent = matched_inconsistent_;
    PointToPointMatch match = MatchPointToPoint(ranks_, table_, clocks_, point_to_point_);
    out_.unmatched_instances += match.unmatched;
    table_.notes.insert(table_.notes.end(), match.notes.begin(), match.notes.end());
    const auto first = static_cast<int32_t>(table_.groups.size());
    for (JobGroup& group : match.groups) table_.groups.push_back(std::move(group));
    for (Collective& c : match.collectives) {
      c.group += first;
      out_.collectives.push_back(std::move(c));
    }
    if (!match.collectives.empty()) clocks_ = AlignClocks(ranks_, out_.collectives);
  }

  void Publish() {
    SortGroups();
    SortCollectives();
    out_.clocks = std::move(clocks_.clocks);
    out_.clock_of_rank = std::move(clocks_.clock_of_rank);
    out_.notes = std::move(table_.notes);
    out_.notes.insert(out_.notes.end(), clocks_.notes.begin(), clocks_.notes.end());
  }

  // By members, description, kind; those nobody declares and nobody used (merged into another) are dropped.
  void SortGroups() {
    std::vector<char> used(out_.groups.size(), 0);
    for (const auto& declared : table_.declared) {
      for (const int32_t g : declared) used[static_cast<size_t>(g)] = 1;
    }
    for (const Collective& c : out_.collectives) used[static_cast<size_t>(c.group)] = 1;
    std::vector<int32_t> order;
    for (size_t g = 0; g < used.size(); ++g) {
      if (used[g] != 0) order.push_back(static_cast<int32_t>(g));
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const JobGroup& x = out_.groups[static_cast<size_t>(a)];
      const JobGroup& y = out_.groups[static_cast<size_t>(b)];
      return std::tie(x.ranks, x.desc, x.is_p2p) < std::tie(y.ranks, y.desc, y.is_p2p);
    });
    std::vector<int32_t> place(out_.groups.size(), -1);
    std::vector<JobGroup> sorted;
    for (const int32_t g : order) {
      place[static_cast<size_t>(g)] = static_cast<int32_t>(sorted.size());
      sorted.push_back(std::move(out_.groups[static_cast<size_t>(g)]));
    }
    out_.groups = std::move(sorted);
    for (Collective& c : out_.collectives) c.group = place[static_cast<size_t>(c.group)];
  }

  void SortCollectives() {
    struct Key {
      int64_t step;
      Nanos arrival;
      int32_t group;
      int64_t ordinal;
      size_t index;
      auto operator<=>(const Key&) const = default;
    };
    std::vector<Key> keys;
    keys.reserve(out_.collectives.size());
    for (size_t i = 0; i < out_.collectives.size(); ++i) {
      const Collective& c = out_.collectives[i];
      Nanos arrival = 0;
      bool first = true;
      for (const CollectiveMember& m : c.members) {
        const auto r = static_cast<size_t>(m.rank_index);
        const Nanos start = clocks_.Aligned(m.rank_index, ranks_[r].instances[static_cast<size_t>(m.instance)].start);
        arrival = first ? start : std::max(arrival, start);
        first = false;
      }
      keys.push_back({c.step, arrival, c.group, c.ordinal, i});
    }
    std::sort(keys.begin(), keys.end());
    std::vector<Collective> sorted;
    sorted.reserve(keys.size());
    for (const Key& key : keys) sorted.push_back(std::move(out_.collectives[key.index]));
    out_.collectives = std::move(sorted);
  }

  const std::vector<RankComms>& ranks_;
  int world_size_;
  ClockAlignment clocks_;
  GroupTable table_;
  JobComms out_;
  std::vector<std::vector<int32_t>> point_to_point_;  // per rank
  std::vector<std::vector<CommSequence>> members_;    // per group
  std::vector<GroupPlaces> places_;                   // per group
  std::vector<std::vector<int32_t>> kept_;            // rows of members whose neighbour exchanges were taken out
  int64_t matched_unmatched_ = 0;
  int64_t matched_inconsistent_ = 0;
};

}  // namespace

JobComms JoinComms(const std::vector<RankComms>& ranks, int world_size) {
  if (ranks.empty()) return {};
  return CommJoiner(ranks, world_size).Join();
}

}  // namespace headway::trace
