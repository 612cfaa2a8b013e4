// SPDX-License-Identifier: Apache-2.0
#include "trace/lane_assignment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace headway::trace {
namespace {

constexpr int kRounds = 4;
constexpr size_t kPeers = 6;  // other members a rank is compared with, per group
// Of one row of full agreement with the other members: what a hint is worth where they do not decide.
constexpr double kPlaceHint = 0.20;
constexpr double kLikeHint = 0.10;
constexpr double kPairHint = 0.08;
constexpr double kAnyHint = 0.02;
// Where no other member of a group has a file nothing speaks for a lane, nor against it.
constexpr double kNobodyToAsk = 0.3;

bool SoundsLikePipeline(std::string_view desc) {
  return desc.find("pp") != std::string_view::npos || desc.find("pipe") != std::string_view::npos ||
         desc.find("stage") != std::string_view::npos;
}

class LaneAssigner {
 public:
  LaneAssigner(const std::vector<RankLanes>& lanes, const ClockOffset& offset, GroupTable* table)
      : lanes_(lanes), offset_(offset), table_(*table) {
    for (size_t r = 0; r < lanes.size(); ++r) index_of_rank_[lanes[r].rank->rank] = static_cast<int32_t>(r);
    FindCandidates();
    chosen_.resize(lanes.size());
    for (size_t r = 0; r < lanes.size(); ++r) chosen_[r].assign(candidates_[r].size(), -1);
  }

  int64_t Assign() {
    for (int round = 0; round < kRounds; ++round) {
      FindTypicalSizes();
      auto next = chosen_;
      for (size_t r = 0; r < lanes_.size(); ++r) {
        if (!lanes_[r].runs.empty() && !candidates_[r].empty()) next[r] = Choose(r, round > 0);
      }
      const bool settled = next == chosen_;
      chosen_ = std::move(next);
      if (settled) break;
    }
    return Publish();
  }

 private:
  // A rank's own list, else every group that another file says it is in.
  void FindCandidates() {
    candidates_.resize(lanes_.size());
    std::vector<std::vector<int32_t>> listed(lanes_.size());
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      for (const RankId member : table_.groups[g].ranks) {
        const auto at = index_of_rank_.find(member);
        if (at == index_of_rank_.end()) continue;
        const auto r = static_cast<size_t>(at->second);
        if (!lanes_[r].runs.empty() && table_.declared[r].empty()) listed[r].push_back(static_cast<int32_t>(g));
      }
    }
    lacks_partners_.assign(lanes_.size(), 0);
    for (size_t r = 0; r < lanes_.size(); ++r) {
      candidates_[r] = table_.declared[r].empty() ? std::move(listed[r]) : table_.declared[r];
      const auto alone = [&](int32_t group) { return IsAlone(r, group); };
      lacks_partners_[r] = !lanes_[r].is_device && std::any_of(candidates_[r].begin(), candidates_[r].end(), alone);
    }
  }

  // No other member has a file.
  [[nodiscard]] bool IsAlone(size_t r, int32_t group) const {
    const auto& members = table_.groups[static_cast<size_t>(group)].ranks;
    return std::none_of(members.begin(), members.end(), [&](RankId member) {
      return member != lanes_[r].rank->rank && index_of_rank_.count(member) > 0;
    });
  }

  // Rows per group of a description, as most ranks have it: what a rank falls back on whose partners are missing.
  void FindTypicalSizes() {
    std::map<std::string_view, std::vector<size_t>> sizes;
    for (size_t r = 0; r < lanes_.size(); ++r) {
      for (size_t k = 0; k < candidates_[r].size(); ++k) {
        if (chosen_[r][k] < 0) continue;
        sizes[Desc(candidates_[r][k])].push_back(lanes_[r].runs[static_cast<size_t>(chosen_[r][k])].rows.size());
      }
    }
    typical_.clear();
    for (auto& [desc, all] : sizes) {
      std::sort(all.begin(), all.end());
      typical_[desc] = all[all.size() / 2];
    }
  }

  [[nodiscard]] std::string_view Desc(int32_t group) const { return table_.groups[static_cast<size_t>(group)].desc; }

  // The best ascending map of runs to groups: best[l][k] = using lanes below l and groups below k.
  std::vector<int32_t> Choose(size_t r, bool settled_peers) {
    const RankLanes& lanes = lanes_[r];
    const size_t n = lanes.locals.size(), groups = candidates_[r].size();
    if (groups == 1 && lanes.runs.back().first == 0) return {static_cast<int32_t>(lanes.runs.size()) - 1};
    std::vector<std::vector<double>> best(n + 1, std::vector<double>(groups + 1, 0));
    std::vector<std::vector<int32_t>> taken(n + 1, std::vector<int32_t>(groups + 1, -1));  // run, or -1 = none
    std::vector<std::vector<double>> score(lanes.runs.size(), std::vector<double>(groups, 0));
    for (size_t k = 0; k < groups; ++k) {
      for (size_t run = 0; run < lanes.runs.size(); ++run) score[run][k] = Score(r, run, k, settled_peers);
    }
    for (size_t l = 0; l <= n; ++l) {
      for (size_t k = 0; k <= groups; ++k) {
        if (l > 0 && best[l - 1][k] > best[l][k]) Take(&best, &taken, l, k, best[l - 1][k], -1);
        if (k > 0 && best[l][k - 1] > best[l][k]) Take(&best, &taken, l, k, best[l][k - 1], -1);
        if (k == 0) continue;
        for (size_t run = 0; run < lanes.runs.size(); ++run) {
          const LaneRun& candidate = lanes.runs[run];
          if (static_cast<size_t>(candidate.first + candidate.count) != l) continue;
          const double total = best[static_cast<size_t>(candidate.first)][k - 1] + score[run][k - 1];
          if (score[run][k - 1] > 0 && total > best[l][k]) Take(&best, &taken, l, k, total, static_cast<int32_t>(run));
        }
      }
    }
    std::vector<int32_t> chosen(groups, -1);
    for (size_t l = n, k = groups; l > 0 && k > 0;) {
      if (taken[l][k] >= 0) {
        chosen[k - 1] = taken[l][k];
        l = static_cast<size_t>(lanes.runs[static_cast<size_t>(taken[l][k])].first);
        --k;
      } else if (best[l][k] == best[l][k - 1]) {
        --k;
      } else {
        --l;
      }
    }
    return chosen;
  }

  static void Take(std::vector<std::vector<double>>* best, std::vector<std::vector<int32_t>>* taken, size_t l, size_t k,
                   double total, int32_t run) {
    (*best)[l][k] = total;
    (*taken)[l][k] = run;
  }

  double Score(size_t r, size_t run_index, size_t k, bool settled_peers) {
    const RankLanes& lanes = lanes_[r];
    const LaneRun& run = lanes.runs[run_index];
    const int32_t group = candidates_[r][k];
    const double support = Support(r, run, group, settled_peers);
    double hint = SoundsLikePipeline(Desc(group)) ? 0 : kAnyHint;
    if (run.count > 1) hint += kPairHint * std::min(1.0, 1.5 * run.alternation) * Closeness(lanes, run);
    if (2 * candidates_[r].size() == lanes.rank->runloop_tids.size() && !lanes.is_device) {
      const auto place = lanes.made_place[static_cast<size_t>(run.first)];
      const auto last = lanes.made_place[static_cast<size_t>(run.first + run.count - 1)];
      if (place / 2 == static_cast<int32_t>(k) && last / 2 == static_cast<int32_t>(k)) hint += kPlaceHint;
    }
    if (const auto like = typical_.find(Desc(group)); like != typical_.end()) {
      const auto a = static_cast<double>(like->second), b = static_cast<double>(run.rows.size());
      hint += kLikeHint * std::min(a, b) / std::max(a, b);
    }
    return (support + hint) * static_cast<double>(run.rows.size());
  }

  // Two threads of a group are made one after the other; numbers of other processes may come between, as many as
  // between others. 1 = as close as the closest pair of neighbours (or next to each other), towards -1 = far apart.
  static double Closeness(const RankLanes& lanes, const LaneRun& run) {
    const auto distance = [&](const LaneRun& of) {
      const auto tid = [&](int32_t lane) {
        const auto local = static_cast<size_t>(lanes.locals[static_cast<size_t>(lane)]);
        return lanes.rank->groups[local].lane_tid;
      };
      return std::max(1.0, static_cast<double>(tid(of.first + of.count - 1) - tid(of.first)));
    };
    double closest = distance(run);
    for (const LaneRun& other : lanes.runs) {
      if (other.count == run.count) closest = std::min(closest, distance(other));
    }
    return 2 * closest / distance(run) - 1;
  }

  // Mean over some other members with a file of the best that any of their runs (or the chosen one) agrees.
  double Support(size_t r, const LaneRun& run, int32_t group, bool settled_peers) {
    if (lacks_partners_[r] != 0 && IsAlone(r, group)) return kNobodyToAsk;
    double sum = 0;
    size_t peers = 0;
    for (const int32_t p : PeersOf(r, group)) {
      const RankLanes& theirs = lanes_[static_cast<size_t>(p)];
      ++peers;
      const auto& list = candidates_[static_cast<size_t>(p)];
      const auto k = static_cast<size_t>(std::find(list.begin(), list.end(), group) - list.begin());
      double best = 0;
      for (size_t other = 0; other < theirs.runs.size(); ++other) {
        if (settled_peers && chosen_[static_cast<size_t>(p)][k] != static_cast<int32_t>(other)) continue;
        const Togetherness& t = Agreement(lanes_[r], run, theirs, theirs.runs[other]);
        // Threads of two groups that are called in turn pass for those of one, but for the ends of the operations in
        // which the true partners are missing.
        best = std::max(best, lacks_partners_[r] != 0 ? t.score * t.tight : t.score);
      }
      sum += best;
    }
    return peers == 0 ? 0 : sum / static_cast<double>(peers);
  }

  // Other members that have lanes to compare, from places far apart in the group's list: neighbours are often in step
  // in groups they do not share.
  std::vector<int32_t> PeersOf(size_t r, int32_t group) {
    const auto& members = table_.groups[static_cast<size_t>(group)].ranks;
    const size_t n = members.size();
    const auto own =
        static_cast<size_t>(std::lower_bound(members.begin(), members.end(), lanes_[r].rank->rank) - members.begin());
    std::vector<int32_t> peers;
    for (size_t k = 0; k < kPeers; ++k) {
      for (size_t step = 0; step + 1 < n; ++step) {
        const auto at = index_of_rank_.find(members[(own + 1 + (n / 2 + k * n / kPeers + step) % n) % n]);
        if (at == index_of_rank_.end() || static_cast<size_t>(at->second) == r) continue;
        const auto p = static_cast<size_t>(at->second);
        if (lanes_[p].runs.empty() || std::find(peers.begin(), peers.end(), at->second) != peers.end()) continue;
        if (std::find(candidates_[p].begin(), candidates_[p].end(), group) == candidates_[p].end()) continue;
        peers.push_back(at->second);
        break;
      }
    }
    return peers;
  }

  const Togetherness& Agreement(const RankLanes& a, const LaneRun& mine, const RankLanes& b, const LaneRun& theirs) {
    // The same pair is asked for from both sides and in every round.
    const bool swap = a.rank_index > b.rank_index;
    const auto run_index = [](const RankLanes& l, const LaneRun& run) { return &run - l.runs.data(); };
    const auto key = swap ? std::tuple(b.rank_index, run_index(b, theirs), a.rank_index, run_index(a, mine))
                          : std::tuple(a.rank_index, run_index(a, mine), b.rank_index, run_index(b, theirs));
    if (const auto known = agreement_.find(key); known != agreement_.end()) return known->second;
    const RankLanes& x = swap ? b : a;
    const RankLanes& y = swap ? a : b;
    const CommSequence first = x.Sequence(swap ? theirs : mine), second = y.Sequence(swap ? mine : theirs);
    return agreement_[key] = JudgeTogether(first, second, offset_(x.rank_index, y.rank_index));
  }

  int64_t Publish() {
    int64_t assigned = 0;
    for (size_t r = 0; r < lanes_.size(); ++r) {
      for (size_t k = 0; k < chosen_[r].size(); ++k) {
        if (chosen_[r][k] < 0) continue;
        const LaneRun& run = lanes_[r].runs[static_cast<size_t>(chosen_[r][k])];
        for (int32_t l = run.first; l < run.first + run.count; ++l) {
          const auto local = static_cast<size_t>(lanes_[r].locals[static_cast<size_t>(l)]);
          table_.of_local[r][local] = candidates_[r][k];
          ++assigned;
        }
      }
    }
    return assigned;
  }

  const std::vector<RankLanes>& lanes_;
  const ClockOffset& offset_;
  GroupTable& table_;
  std::unordered_map<RankId, int32_t> index_of_rank_;
  std::vector<std::vector<int32_t>> candidates_;  // per rank: groups in order of creation
  std::vector<std::vector<int32_t>> chosen_;      // per rank and candidate: run or -1
  std::vector<char> lacks_partners_;              // per rank: nobody else of one of its groups has a file
  std::map<std::string_view, size_t> typical_;
  std::map<std::tuple<int32_t, std::ptrdiff_t, int32_t, std::ptrdiff_t>, Togetherness> agreement_;
};

}  // namespace

int64_t AssignLanesToDeclared(const std::vector<RankLanes>& lanes, const ClockOffset& offset, GroupTable* table) {
  return LaneAssigner(lanes, offset, table).Assign();
}

}  // namespace headway::trace
