// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "trace/clock_alignment.h"
#include "trace/collective_match.h"
#include "trace/collective_order.h"
#include "trace/comm.h"
#include "trace/group_inference.h"
#include "trace/group_table.h"
#include "trace/p2p_match.h"
#include "trace/row_index.h"

namespace headway::trace {
namespace {

class CommJoiner {
 public:
  CommJoiner(const std::vector<RankComms>& ranks, int world_size, int threads)
      : ranks_(ranks),
        threads_(ThreadCount(threads)),
        world_size_(WorldSize(ranks, world_size)),
        clocks_(RecordedClocks(ranks)) {}

  JobComms Join() {
    const GroupTable named = ResolveNamedGroups(ranks_, world_size_);
    table_ = named;
    const bool inferred = InferLaneGroups(ranks_, world_size_, Offsets(), &table_);
    MatchRows();
    if (inferred && clocks_.clocks.size() > 1) InferAgain(named);
    MatchPairs();
    out_.groups = std::move(table_.groups);
    Publish();
    return std::move(out_);
  }

 private:
  // Lanes of different hosts were compared under any offset that suits them. Now the clocks are about known. Where a
  // slow link parts the ends of what belongs together they mislead: what leaves fewer rows alone is kept.
  void InferAgain(const GroupTable& named) {
    const GroupTable first = table_;
    const auto clocks = clocks_;
    const int64_t alone = RowsAlone();
    table_ = named;
    InferLaneGroups(ranks_, world_size_, Offsets(), &table_);
    MatchRows();
    if (RowsAlone() <= alone) return;
    table_ = first;
    clocks_ = clocks;
    MatchRows();
  }

  // Rows without counterpart, and those that operations lack of members that have rows of their group.
  [[nodiscard]] int64_t RowsAlone() const {
    int64_t alone = rows_->unresolved() + matched_unmatched_ + matched_inconsistent_;
    for (const Collective& c : out_.collectives) {
      alone += std::ssize(members_[static_cast<size_t>(c.group)]) - std::ssize(c.members);
    }
    return alone;
  }

  [[nodiscard]] ClockOffset Offsets() const {
    return [this](int32_t reference, int32_t member) -> std::optional<Nanos> {
      Nanos offset = 0;
      const Nanos own = ranks_[static_cast<size_t>(reference)].instances.front().start;
      return clocks_.OffsetBetween(reference, member, own, &offset) ? std::optional<Nanos>(offset) : std::nullopt;
    };
  }

  void MatchRows() {
    rows_ = std::make_unique<RowIndex>(ranks_, table_, threads_);
    CollectMembers(*rows_);
    MatchCollectives();
  }

  void CollectMembers(const RowIndex& rows) {
    kept_.clear();
    point_to_point_.resize(ranks_.size());
    for (size_t r = 0; r < ranks_.size(); ++r) point_to_point_[r] = rows.PointToPoint(static_cast<int32_t>(r));
    members_.assign(table_.groups.size(), {});
    summaries_.assign(table_.groups.size(), {});
    places_.assign(table_.groups.size(), {});
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      members_[g] = rows.Members(static_cast<int32_t>(g), &summaries_[g]);
      SeparateNeighbours(g);
    }
    for (auto& of_rank : point_to_point_) std::sort(of_rank.begin(), of_rank.end());
  }

  // Send/receive kernels of a group that pair neighbours leave its sequence. `kept_` owns what remains.
  void SeparateNeighbours(size_t g) {
    auto& members = members_[g];
    if (members.size() < 3) return;
    const auto exchanges_any = [](const SequenceSummary& s) { return s.exchanges; };
    if (std::none_of(summaries_[g].begin(), summaries_[g].end(), exchanges_any)) return;
    std::vector<std::vector<int32_t>> exchanges(members.size()), others(members.size());
    for (size_t m = 0; m < members.size(); ++m) {
      for (int32_t i = 0; i < members[m].size(); ++i) {
        (NamesNoPeer(members[m][i].op) ? exchanges : others)[m].push_back(members[m].rows[static_cast<size_t>(i)]);
      }
    }
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
    summaries_[g].clear();
    for (const CommSequence& m : members) summaries_[g].push_back(Summarize(m));
  }

  // In order first; the clocks then tell where ranks with holes belong.
  void MatchCollectives() {
    ParallelFor(members_.size(), threads_,
                [&](size_t g) { places_[g] = PlaceInOrder(members_[g], summaries_[g], Offsets()); });
    bool all_placed = true;
    for (const GroupPlaces& places : places_) {
      for (const MemberPlace& place : places.members) all_placed = all_placed && place.placed;
    }
    const bool several_clocks = clocks_.clocks.size() > 1;
    if (several_clocks) {
      Build();
      clocks_ = AlignClocks(ranks_, out_.collectives);
      if (all_placed && !ThreadsShareGroups()) return;
    }
    ParallelFor(members_.size(), threads_, [&](size_t g) {
      PlaceRest(members_[g], Offsets(), &places_[g]);
      OrderConcurrent(members_[g], Offsets(), &places_[g]);
    });
    Build();
    if (several_clocks) clocks_ = AlignClocks(ranks_, out_.collectives);
  }

  // Host backends: only there can rows be out of order.
  [[nodiscard]] bool ThreadsShareGroups() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const RankComms& rank) {
      return std::any_of(rank.groups.begin(), rank.groups.end(), [](const LocalGroup& g) { return !g.is_device; });
    });
  }

  void Build() {
    out_.collectives.clear();
    matched_inconsistent_ = matched_unmatched_ = 0;
    auto of_groups =
        ParallelMap(members_.size(), threads_, [&](size_t g) { return BuildCollectives(members_[g], places_[g]); });
    std::vector<size_t> begin{0};
    for (const GroupCollectives& of_group : of_groups) begin.push_back(begin.back() + of_group.collectives.size());
    out_.collectives.resize(begin.back());
    ParallelFor(of_groups.size(), threads_, [&](size_t g) {
      for (size_t i = 0; i < of_groups[g].collectives.size(); ++i) {
        of_groups[g].collectives[i].group = static_cast<int32_t>(g);
        out_.collectives[begin[g] + i] = std::move(of_groups[g].collectives[i]);
      }
      of_groups[g].collectives = {};
    });
    for (const GroupCollectives& of_group : of_groups) {
      matched_unmatched_ += of_group.unmatched;
      matched_inconsistent_ += of_group.inconsistent;
    }
  }

  void MatchPairs() {
    out_.unmatched_instances = rows_->unresolved() + matched_unmatched_;
    out_.inconsistent = matched_inconsistent_;
    const size_t collectives = out_.collectives.size(), groups = table_.groups.size();
    PointToPointMatch match = MatchPointToPoint(ranks_, table_, clocks_, point_to_point_);
    if (match.guessed_clocks && !match.collectives.empty()) {
      // Now that messages tell about how the clocks lie, those few that went to the wrong neighbour show.
      AddPairs(std::move(match));
      clocks_ = AlignClocks(ranks_, out_.collectives);
      out_.collectives.resize(collectives);
      table_.groups.resize(groups);
      match = MatchPointToPoint(ranks_, table_, clocks_, point_to_point_);
    }
    out_.unmatched_instances += match.unmatched;
    table_.notes.insert(table_.notes.end(), match.notes.begin(), match.notes.end());
    AddPairs(std::move(match));
    if (out_.collectives.size() > collectives) clocks_ = AlignClocks(ranks_, out_.collectives);
  }

  void AddPairs(PointToPointMatch match) {
    const auto first = static_cast<int32_t>(table_.groups.size());
    for (JobGroup& group : match.groups) table_.groups.push_back(std::move(group));
    for (Collective& c : match.collectives) {
      c.group += first;
      out_.collectives.push_back(std::move(c));
    }
  }

  void Publish() {
    SortGroups();
    OrderCollectives();
    NoteMixedWorlds();
    FindStrangers();
    NoteStrangers();
    out_.clocks = std::move(clocks_.clocks);
    out_.clock_of_rank = std::move(clocks_.clock_of_rank);
    out_.notes = std::move(table_.notes);
    out_.notes.insert(out_.notes.end(), clocks_.notes.begin(), clocks_.notes.end());
  }

  void NoteMixedWorlds() {
    int worlds = 0;
    std::string sizes;
    for (const JobGroup& group : out_.groups) {
      if (group.desc != "default_pg" || group.is_p2p) continue;
      sizes += (worlds++ > 0 ? " and " : "") + std::to_string(group.ranks.size());
    }
    if (worlds > 1)
      table_.notes.push_back("files disagree on the ranks of the job (worlds of " + sizes +
                             " ranks): files of different jobs?");
  }

  // Ranks that fit nobody although their groups' other members are there.
  void FindStrangers() {
    if (out_.collectives.empty()) return;
    std::vector<int64_t> matched(ranks_.size(), 0);
    for (const Collective& c : out_.collectives) {
      for (const CollectiveMember& m : c.members) ++matched[static_cast<size_t>(m.rank_index)];
    }
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const auto all = static_cast<int64_t>(ranks_[r].instances.size());
      if (all >= 4 && 4 * matched[r] < all) out_.strangers.push_back(static_cast<int32_t>(r));
    }
  }

  void NoteStrangers() {
    constexpr size_t kNamed = 8;
    const size_t count = out_.strangers.size();
    if (count == 0) return;
    std::string names;
    for (size_t i = 0; i < std::min(count, kNamed); ++i) {
      names += (names.empty() ? "" : ", ") + std::to_string(ranks_[static_cast<size_t>(out_.strangers[i])].rank);
    }
    if (count > kNamed) names += ", ...";
    table_.notes.push_back("most operations of " + std::to_string(count) + (count == 1 ? " rank (" : " ranks (") +
                           names +
                           ") have no counterpart on the others: damaged, partners without a file, or another job");
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

  [[nodiscard]] Nanos LatestArrival(const Collective& c) const {
    Nanos latest = std::numeric_limits<Nanos>::min();
    for (const CollectiveMember& m : c.members) {
      const CommInstance& row = ranks_[static_cast<size_t>(m.rank_index)].instances[static_cast<size_t>(m.instance)];
      latest = std::max(latest, clocks_.Aligned(m.rank_index, row.start));
    }
    return latest;
  }

  void OrderCollectives() {
    constexpr size_t kBlock = 4096;
    std::vector<Nanos> arrivals(out_.collectives.size());
    ParallelBlocks(arrivals.size(), kBlock, threads_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) arrivals[i] = LatestArrival(out_.collectives[i]);
    });
    SortCollectives(arrivals, threads_, &out_.collectives);
  }

  const std::vector<RankComms>& ranks_;
  int threads_;
  int world_size_;
  ClockAlignment clocks_;
  GroupTable table_;
  JobComms out_;
  std::unique_ptr<RowIndex> rows_;
  std::vector<std::vector<int32_t>> point_to_point_;     // per rank
  std::vector<std::vector<CommSequence>> members_;       // per group
  std::vector<std::vector<SequenceSummary>> summaries_;  // parallel to members_
  std::vector<GroupPlaces> places_;                      // per group
  std::vector<std::vector<int32_t>> kept_;               // rows of members whose neighbour exchanges were taken out
  int64_t matched_unmatched_ = 0;
  int64_t matched_inconsistent_ = 0;
};

}  // namespace

JobComms JoinComms(const std::vector<RankComms>& ranks, int world_size, int threads) {
  if (ranks.empty()) return {};
  const auto by_rank = [](const RankComms& a, const RankComms& b) { return a.rank < b.rank; };
  if (std::is_sorted(ranks.begin(), ranks.end(), by_rank)) return CommJoiner(ranks, world_size, threads).Join();
  std::vector<int32_t> index(ranks.size());
  std::iota(index.begin(), index.end(), 0);
  std::stable_sort(index.begin(), index.end(), [&](int32_t a, int32_t b) {
    return by_rank(ranks[static_cast<size_t>(a)], ranks[static_cast<size_t>(b)]);
  });
  std::vector<RankComms> sorted;
  for (const int32_t i : index) sorted.push_back(ranks[static_cast<size_t>(i)]);
  JobComms out = CommJoiner(sorted, world_size, threads).Join();
  for (Collective& c : out.collectives) {
    for (CollectiveMember& m : c.members) m.rank_index = index[static_cast<size_t>(m.rank_index)];
  }
  for (int32_t& stranger : out.strangers) stranger = index[static_cast<size_t>(stranger)];
  std::sort(out.strangers.begin(), out.strangers.end());
  const std::vector<int32_t> clocks = out.clock_of_rank;
  for (size_t r = 0; r < index.size(); ++r) out.clock_of_rank[static_cast<size_t>(index[r])] = clocks[r];
  return out;
}

}  // namespace headway::trace
