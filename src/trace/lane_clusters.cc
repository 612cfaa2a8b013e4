// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_clusters.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

namespace headway::trace {
namespace {

constexpr double kAlwaysTogether = 0.97;  // share of operations that overlap, in a group
constexpr double kAgrees = 0.6;
constexpr size_t kEnoughRows = 24;  // for the scatter of ends to say something on a host
constexpr size_t kFewRows = 8;      // and on a device

// A lane, or a pair of threads, that is taken for one group on its rank.
struct Unit {
  const RankLanes* lanes = nullptr;
  const LaneRun* run = nullptr;

  [[nodiscard]] CommSequence Sequence() const { return lanes->Sequence(*run); }
};

// Splits a rank's lanes into units: as many pairs as possible, those first whose threads take turns.
std::vector<const LaneRun*> Split(const RankLanes& lanes) {
  const size_t n = lanes.locals.size();
  std::vector<double> best(n + 1, -1);
  std::vector<const LaneRun*> last(n + 1, nullptr);
  best[0] = 0;
  for (size_t l = 1; l <= n; ++l) {
    for (const LaneRun& run : lanes.runs) {
      if (static_cast<size_t>(run.first + run.count) != l) continue;
      const double value = best[static_cast<size_t>(run.first)] + (run.count > 1 ? 1 + run.alternation : 0.5);
      if (value <= best[l]) continue;
      best[l] = value;
      last[l] = &run;
    }
  }
  std::vector<const LaneRun*> units;
  for (size_t l = n; l > 0; l = static_cast<size_t>(last[l]->first)) units.push_back(last[l]);
  std::reverse(units.begin(), units.end());
  return units;
}

class LaneClusterer {
 public:
  LaneClusterer(int world_size, const ClockOffset& offset, GroupTable* table)
      : world_size_(world_size), offset_(offset), table_(*table) {}

  // `units`: one of each of several ranks, by rank; `whole`: of every rank that has a file.
  void Cluster(const std::vector<Unit>& units, std::string_view desc, bool whole) {
    units_ = &units;
    desc_ = desc;
    whole_ = whole;
    known_.clear();
    const size_t n = units.size();
    const bool few = n <= kMostClustered;
    for (size_t size = n; size >= 2 && (few || size == n); --size) {
      if (n % size != 0) continue;
      const auto parts = Partition(size);
      if (parts.empty()) continue;
      for (const auto& part : parts) Publish(part);
      return;
    }
  }

  [[nodiscard]] int64_t assigned() const { return assigned_; }

 private:
  // Parts of `size` units, each the first free unit and those nearest to it; empty if not all hold together. One part
  // may fail where the others are three quarters of the units: a slow link parts its ends. It is what is left if it
  // lies as another does and overlaps always; else its units stay alone.
  std::vector<std::vector<size_t>> Partition(size_t size) {
    const size_t n = units_->size();
    const bool one_may_fail = (n - size) * 4 >= 3 * n;
    std::vector<char> taken(n, 0);
    std::vector<std::vector<size_t>> parts;
    std::vector<size_t> open;
    for (size_t leader = 0; leader < n; ++leader) {
      if (taken[leader] != 0) continue;
      std::vector<size_t> part = PartOf(leader, size, taken);
      if (part.empty()) {
        open.push_back(leader);
        if (!one_may_fail || open.size() > size) return {};
        continue;
      }
      for (const size_t member : part) taken[member] = 1;
      parts.push_back(std::move(part));
    }
    if (!open.empty() && LiesAsAnother(open, parts) && OverlapAlways(open)) parts.push_back(std::move(open));
    return parts;
  }

  // Whether its ranks are as far from one another as those of one of `parts`: stages may have their groups in another
  // order, and lanes of two kinds at one place.
  [[nodiscard]] bool LiesAsAnother(const std::vector<size_t>& part,
                                   const std::vector<std::vector<size_t>>& parts) const {
    const auto rank_of = [&](size_t unit) { return (*units_)[unit].lanes->rank->rank; };
    return std::any_of(parts.begin(), parts.end(), [&](const std::vector<size_t>& other) {
      return std::equal(part.begin(), part.end(), other.begin(), other.end(), [&](size_t a, size_t b) {
        return rank_of(a) - rank_of(part.front()) == rank_of(b) - rank_of(other.front());
      });
    });
  }

  bool OverlapAlways(const std::vector<size_t>& part) {
    return std::all_of(part.begin() + 1, part.end(), [&](size_t unit) {
      const Togetherness& t = Judge(part.front(), unit);
      return t.overlapping >= kAlwaysTogether && t.score >= kAgrees;
    });
  }

  struct Near {
    double apart = 0;   // on a host: how much of the time they do not overlap
    Nanos scatter = 0;  // of ends; on a host of overlaps
    size_t unit = 0;
    auto operator<=>(const Near&) const = default;
  };

  // The leader and those nearest to it, if they hold together; else empty.
  std::vector<size_t> PartOf(size_t leader, size_t size, const std::vector<char>& taken) {
    std::vector<Near> near;
    const auto free = std::count(taken.begin() + static_cast<ptrdiff_t>(leader) + 1, taken.end(), 0);
    if (static_cast<size_t>(free) + 1 < size) return {};
    for (size_t other = leader + 1; other < units_->size(); ++other) {
      if (taken[other] != 0) continue;
      const Togetherness& t = Judge(leader, other);
      if (t.overlapping < kAlwaysTogether || t.score < kAgrees || EndApart(leader, t)) continue;
      near.push_back({OnDevice(leader) ? 0 : -t.overlapping, OnDevice(leader) ? t.scatter : t.jitter, other});
    }
    if (near.size() + 1 < size) return {};
    std::sort(near.begin(), near.end());
    std::vector<size_t> part{leader};
    for (size_t k = 0; k + 1 < size; ++k) part.push_back(near[k].unit);
    const size_t rows = (*units_)[leader].run->rows.size();
    const bool alike = OnDevice(leader) ? rows < kFewRows || AlikeOnDevice(near, size - 1)
                                        : rows < kEnoughRows || Alike(near, size - 1);
    return alike && HoldsTogether(part) ? part : std::vector<size_t>();
  }

  // Ends scatter alike within a group; members of another one that always overlap stand out.
  static bool Alike(const std::vector<Near>& near, size_t count) {
    constexpr Nanos kAnyway = 100 * kMicrosecond;
    Nanos least = near[0].scatter, most = least;
    for (size_t k = 1; k < count; ++k) {
      least = std::min(least, near[k].scatter);
      most = std::max(most, near[k].scatter);
    }
    return most <= 10 * least + kAnyway;
  }

  // Kernels of a group end within microseconds of each other.
  static bool AlikeOnDevice(const std::vector<Near>& near, size_t count) {
    return near[count - 1].scatter <= MostScatter(near[0].scatter);
  }
  static Nanos MostScatter(Nanos least) { return 3 * least + 10 * kMicrosecond; }

  // Whoever is nearest may be near only by comparison, if all that are left are strangers: ranks in step whose partners
  // have no file end tens of microseconds apart. Behind slow links members scatter with the sizes of what they move, by
  // under a four-hundredth of the transfer. Where rows are too few for a line through their ends, clocks may drift.
  [[nodiscard]] bool EndApart(size_t leader, const Togetherness& t) const {
    constexpr Nanos kApart = 20 * kMicrosecond, kShareOfTransfer = 400, kShareOfSpan = 20'000;  // 50 us in a second
    if (!OnDevice(leader)) return false;
    const CommSequence rows = (*units_)[leader].Sequence();
    const Nanos span = rows[rows.size() - 1].end - rows[0].end;
    const Nanos drift = static_cast<size_t>(rows.size()) < kFewRows ? span / kShareOfSpan : 0;
    return t.scatter > kApart + t.shorter / kShareOfTransfer + drift;
  }

  [[nodiscard]] bool OnDevice(size_t unit) const { return (*units_)[unit].lanes->is_device; }

  // Every member with its neighbour in the part; the leader was checked with all.
  bool HoldsTogether(const std::vector<size_t>& part) {
    const auto judge = [&](size_t a, size_t b) -> const Togetherness& { return Judge(std::min(a, b), std::max(a, b)); };
    const bool by_scatter = OnDevice(part[0]) && (*units_)[part[0]].run->rows.size() >= kFewRows;
    const Nanos most = MostScatter(judge(part[0], part[1]).scatter);
    for (size_t k = 1; k + 1 < part.size(); ++k) {
      const Togetherness& t = judge(part[k], part[k + 1]);
      if (EndApart(part[k], t)) return false;
      if (by_scatter ? t.scatter > most : t.overlapping < kAlwaysTogether) return false;
    }
    return true;
  }

  const Togetherness& Judge(size_t a, size_t b) {
    const auto [at, added] = known_.try_emplace({a, b});
    if (added) {
      const Unit& x = (*units_)[a];
      const Unit& y = (*units_)[b];
      at->second = JudgeTogether(x.Sequence(), y.Sequence(), offset_(x.lanes->rank_index, y.lanes->rank_index));
    }
    return at->second;
  }

  void Publish(const std::vector<size_t>& part) {
    std::vector<RankId> ranks;
    for (const size_t u : part) ranks.push_back((*units_)[u].lanes->rank->rank);
    // All that is there: ranks whose files are missing belong to it too.
    if (part.size() == units_->size() && static_cast<int>(part.size()) < world_size_ && whole_) {
      ranks.resize(static_cast<size_t>(world_size_));
      for (size_t r = 0; r < ranks.size(); ++r) ranks[r] = static_cast<RankId>(r);
    }
    const int32_t group = table_.FindOrAdd(ranks, desc_);
    table_.groups[static_cast<size_t>(group)].inferred = true;
    for (const size_t u : part) {
      const Unit& unit = (*units_)[u];
      for (int32_t l = unit.run->first; l < unit.run->first + unit.run->count; ++l) {
        const auto local = static_cast<size_t>(unit.lanes->locals[static_cast<size_t>(l)]);
        table_.of_local[static_cast<size_t>(unit.lanes->rank_index)][local] = group;
        ++assigned_;
      }
    }
  }

  int world_size_;
  const ClockOffset& offset_;
  GroupTable& table_;
  const std::vector<Unit>* units_ = nullptr;
  std::string_view desc_;
  bool whole_ = false;
  std::map<std::pair<size_t, size_t>, Togetherness> known_;
  int64_t assigned_ = 0;
};

}  // namespace

int64_t ClusterLanes(const std::vector<RankLanes>& lanes, int world_size, const ClockOffset& offset,
                     GroupTable* table) {
  // Ranks with equally many units are taken to run the same program; their k-th units belong together.
  std::map<std::tuple<std::string_view, size_t, size_t>, std::vector<Unit>> classes;
  size_t with_lanes = 0;
  for (size_t r = 0; r < lanes.size(); ++r) {
    if (lanes[r].runs.empty()) continue;
    ++with_lanes;
    if (!table->declared[r].empty()) continue;
    const auto units = Split(lanes[r]);
    for (size_t k = 0; k < units.size(); ++k) {
      // A description goes before the place. The first lanes made belong to the world, whatever a rank has besides.
      const auto local = static_cast<size_t>(lanes[r].locals[static_cast<size_t>(units[k]->first)]);
      const std::string_view desc = lanes[r].rank->groups[local].desc;
      const bool by_place = desc.empty() && k > 0;
      classes[{desc, by_place ? units.size() : 0, by_place ? k : 0}].push_back({&lanes[r], units[k]});
    }
  }
  LaneClusterer clusterer(world_size, offset, table);
  for (const auto& [key, units] : classes) {
    clusterer.Cluster(units, std::get<0>(key), units.size() == with_lanes && with_lanes > 1);
  }
  return clusterer.assigned();
}

}  // namespace headway::trace
