// SPDX-License-Identifier: Apache-2.0
// For tests: what the ranks of an artificial job on a mesh would record, with the truth beside it. Host backends show
// two unnamed threads a group and blocking sends on the main thread (as gloo does), device backends named groups.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/comm.h"

namespace headway::trace {

struct MeshDim {
  std::string name;  // "pp" sends point to point, the others run collectives
  int size = 1;
};

struct TestJobSpec {
  std::vector<MeshDim> dims{{"dp", 2}, {"tp", 2}};  // outermost first, ranks in row-major order
  bool device = false;                              // named groups with sequence numbers
  bool declared = true;                             // metadata lists the groups of each rank
  int ranks_per_host = 1 << 20;
  int steps = 6;
  int per_step = 4;           // collectives of each dimension in a step, sends of each stage
  Nanos compute = 3'000'000;  // before each operation, at most
  Nanos transfer = 300'000;
  Nanos end_jitter = 5'000;   // half width, uniform
  std::vector<Nanos> offset;  // per host; own = true + offset + drift * (true - start)
  std::vector<double> drift;
  unsigned seed = 1;
};

struct TestJob {
  std::vector<RankComms> ranks;
  // Name of the group ("world", "tp:0,1", "pp:0>4") and ordinal in it, for each rank's instances.
  std::vector<std::vector<std::pair<std::string, int>>> truth;
  static constexpr Nanos kStart = 1'700'000'000'000'000'000;
};

class TestJobMaker {
 public:
  explicit TestJobMaker(const TestJobSpec& spec) : spec_(spec), random_(spec.seed) {
    world_ = 1;
    for (const MeshDim& d : spec.dims) world_ *= d.size;
    now_.assign(static_cast<size_t>(world_), TestJob::kStart);
    rows_.resize(static_cast<size_t>(world_));
    job_.ranks.resize(static_cast<size_t>(world_));
    for (int r = 0; r < world_; ++r) Describe(r);
  }

  TestJob Make() {
    for (int step = 0; step < spec_.steps; ++step) {
      for (int r = 0; r < world_; ++r) {
        RankComms& rank = job_.ranks[static_cast<size_t>(r)];
        rank.step_numbers.push_back(step + 3);
        rank.step_starts.push_back(Own(r, now_[static_cast<size_t>(r)]));
      }
      for (size_t d = 0; d < spec_.dims.size(); ++d) {
        for (int k = 0; k < spec_.per_step; ++k) {
          if (spec_.dims[d].name == "pp") {
            Pipeline(d, step);
          } else {
            for (const auto& group : Groups(d))
              Collective(GroupName(d, group), group, OpOf(d, k), 1000 * (k + 1), step);
          }
        }
      }
      std::vector<int> all;
      for (int r = 0; r < world_; ++r) all.push_back(r);
      Collective("world", all, CommOp::kAllReduce, 8, step);
    }
    Finish();
    return std::move(job_);
  }

 private:
  struct Row {
    CommInstance instance;
    std::string group;
    int ordinal = 0;
  };

  [[nodiscard]] int Stride(size_t dim) const {
    int stride = 1;
    for (size_t d = dim + 1; d < spec_.dims.size(); ++d) stride *= spec_.dims[d].size;
    return stride;
  }
  [[nodiscard]] std::vector<int> GroupOf(size_t dim, int rank) const {
    const int stride = Stride(dim), size = spec_.dims[dim].size;
    const int first = rank - rank / stride % size * stride;
    std::vector<int> members;
    for (int i = 0; i < size; ++i) members.push_back(first + i * stride);
    return members;
  }
  [[nodiscard]] std::vector<std::vector<int>> Groups(size_t dim) const {
    std::vector<std::vector<int>> groups;
    for (int r = 0; r < world_; ++r) {
      if (GroupOf(dim, r)[0] == r) groups.push_back(GroupOf(dim, r));
    }
    return groups;
  }
  [[nodiscard]] std::string GroupName(size_t dim, const std::vector<int>& members) const {
    std::string name = spec_.dims[dim].name + ":";
    for (const int m : members) name += (m == members[0] ? "" : ",") + std::to_string(m);
    return name;
  }
  static CommOp OpOf(size_t dim, int k) { return dim == 0 && k % 2 == 1 ? CommOp::kAllGather : CommOp::kAllReduce; }

  // Groups and lanes of a rank: the world, then the dimensions in order; threads are made in that order, two each.
  void Describe(int r) {
    RankComms& rank = job_.ranks[static_cast<size_t>(r)];
    rank.rank = r;
    const int host = r / spec_.ranks_per_host;
    rank.host = "host" + std::to_string(1000 + host);
    rank.host_known = true;
    std::vector<int> all;
    for (int i = 0; i < world_; ++i) all.push_back(i);
    Add(&rank, "world", "0", "default_pg", all, false);
    int name = 1;
    for (size_t d = 0; d < spec_.dims.size(); ++d) {
      const auto groups = Groups(d);
      const auto mine = GroupOf(d, r);
      const auto place = std::find(groups.begin(), groups.end(), mine) - groups.begin();
      const std::string desc = "mesh_" + spec_.dims[d].name;
      Add(&rank, GroupName(d, mine), std::to_string(name + place), desc, mine, spec_.dims[d].name == "pp");
      name += static_cast<int>(groups.size());
    }
  }

  void Add(RankComms* rank, const std::string& key, const std::string& name, const std::string& desc,
           const std::vector<int>& members, bool p2p) {
    const std::vector<RankId> ranks(members.begin(), members.end());
    if (spec_.declared) rank->declared.push_back({.name = name, .desc = desc, .backend = "x", .ranks = ranks});
    auto& lanes = lanes_[{rank->rank, key}];
    if (spec_.device || p2p) {
      LocalGroup group{.lane_tid = spec_.device ? 20 : 100, .is_device = spec_.device, .is_p2p = p2p && !spec_.device};
      if (spec_.device) {
        group.name = name;
        group.desc = desc;
        group.ranks = ranks;
      }
      lanes.assign(2, static_cast<int32_t>(rank->groups.size()));
      rank->groups.push_back(group);
      return;
    }
    for (int t = 0; t < 2; ++t) {
      lanes.push_back(static_cast<int32_t>(rank->groups.size()));
      rank->groups.push_back({.lane_tid = 200 + 10 * rank->rank + static_cast<int>(rank->groups.size())});
      rank->runloop_tids.push_back(rank->groups.back().lane_tid);
    }
  }

  Nanos Up(Nanos most) { return most <= 0 ? 0 : std::uniform_int_distribution<Nanos>(0, most)(random_); }
  Nanos Jitter() { return Up(2 * spec_.end_jitter) - spec_.end_jitter; }

  [[nodiscard]] Nanos Own(int r, Nanos time) const {
    const auto host = static_cast<size_t>(r / spec_.ranks_per_host);
    const Nanos offset = host < spec_.offset.size() ? spec_.offset[host] : 0;
    const double drift = host < spec_.drift.size() ? spec_.drift[host] : 0;
    const Nanos own = time + offset + static_cast<Nanos>(drift * static_cast<double>(time - TestJob::kStart));
    return own - own % kCommTick;
  }

  void Record(int r, const std::string& group, CommOp op, Bytes bytes, int step, Nanos start, Nanos end, int peer) {
    const auto& lanes = lanes_.at({r, group.substr(0, group.find('>'))});
    const int ordinal = count_[{r, group + (op == CommOp::kRecv ? "<" : "")}]++;
    const int turn = turn_[{r, group}]++;
    CommInstance row{.start = Own(r, start), .end = Own(r, end), .bytes = bytes, .step = step, .op = op};
    row.local_group = lanes[static_cast<size_t>(turn % 2)];
    if (spec_.device && op != CommOp::kSend && op != CommOp::kRecv) row.seq = 100 + ordinal;
    if (spec_.device) row.peer = peer;
    rows_[static_cast<size_t>(r)].push_back({row, group, ordinal});
  }

  void Collective(const std::string& name, const std::vector<int>& members, CommOp op, Bytes bytes, int step) {
    std::vector<Nanos> starts;
    for (const int m : members) starts.push_back(now_[static_cast<size_t>(m)] + Up(spec_.compute));
    const Nanos end = *std::max_element(starts.begin(), starts.end()) + spec_.transfer;
    for (size_t i = 0; i < members.size(); ++i) {
      const Nanos mine = end + Jitter();
      Record(members[i], name, op, bytes, step, starts[i], mine, -1);
      now_[static_cast<size_t>(members[i])] = mine;
    }
  }

  // One micro-batch forward and back through every pipeline.
  void Pipeline(size_t dim, int step) {
    for (const auto& stages : Groups(dim)) {
      const std::string name = GroupName(dim, stages);
      for (size_t s = 0; s + 1 < stages.size(); ++s) Send(name, stages, s, s + 1, step);
      for (size_t s = stages.size() - 1; s > 0; --s) Send(name, stages, s, s - 1, step);
    }
  }

  void Send(const std::string& name, const std::vector<int>& stages, size_t from, size_t to, int step) {
    auto& a = now_[static_cast<size_t>(stages[from])];
    auto& b = now_[static_cast<size_t>(stages[to])];
    const Nanos sent = a + spec_.compute / 2 + Up(spec_.compute);
    const Nanos done = std::max(sent, b) + spec_.transfer;
    const std::string flow = name + ">" + std::to_string(stages[from]) + ">" + std::to_string(stages[to]);
    const Nanos a_end = done + Jitter(), b_end = done + Jitter();
    Record(stages[from], flow, CommOp::kSend, 500, step, sent, a_end, static_cast<int>(to));
    Record(stages[to], flow, CommOp::kRecv, 500, step, b, b_end, static_cast<int>(from));
    a = a_end;
    b = b_end;
  }

  void Finish() {
    job_.truth.resize(rows_.size());
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::stable_sort(rows_[r].begin(), rows_[r].end(),
                       [](const Row& x, const Row& y) { return x.instance.start < y.instance.start; });
      for (const Row& row : rows_[r]) {
        job_.ranks[r].instances.push_back(row.instance);
        job_.truth[r].emplace_back(row.group, row.ordinal);
      }
    }
  }

  const TestJobSpec& spec_;
  std::mt19937 random_;
  int world_ = 0;
  std::vector<Nanos> now_;
  std::vector<std::vector<Row>> rows_;
  std::map<std::pair<int, std::string>, std::vector<int32_t>> lanes_;  // rank and group: its local groups
  std::map<std::pair<int, std::string>, int> count_, turn_;
  TestJob job_;
};

inline TestJob MakeTestJob(const TestJobSpec& spec) { return TestJobMaker(spec).Make(); }

// How many collectives of `joined` mix operations that truly are different ones.
inline int64_t CountMixed(const TestJob& job, const JobComms& joined) {
  int64_t mixed = 0;
  for (const Collective& c : joined.collectives) {
    bool same = true;
    for (const CollectiveMember& m : c.members) {
      const auto& first = c.members.front();
      same = same && job.truth[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.instance)] ==
                         job.truth[static_cast<size_t>(first.rank_index)][static_cast<size_t>(first.instance)];
    }
    mixed += same ? 0 : 1;
  }
  return mixed;
}

// Operations that truly took place among two or more of the ranks that are there.
inline int64_t CountTrue(const TestJob& job) {
  std::map<std::pair<std::string, int>, int> members;
  for (const auto& of_rank : job.truth) {
    for (const auto& operation : of_rank) ++members[operation];
  }
  return std::count_if(members.begin(), members.end(), [](const auto& m) { return m.second > 1; });
}

// Leaves only the ranks for which keep(rank) holds.
template <typename Keep>
void KeepRanks(TestJob* job, Keep keep) {
  size_t kept = 0;
  for (size_t r = 0; r < job->ranks.size(); ++r) {
    if (!keep(job->ranks[r].rank)) continue;
    if (kept != r) {
      job->ranks[kept] = std::move(job->ranks[r]);
      job->truth[kept] = std::move(job->truth[r]);
    }
    ++kept;
  }
  job->ranks.resize(kept);
  job->truth.resize(kept);
}

// Removes a rank's rows for which drop(index) holds.
template <typename Drop>
void DropRows(TestJob* job, size_t rank_index, Drop drop) {
  auto& rows = job->ranks[rank_index].instances;
  auto& truth = job->truth[rank_index];
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (drop(i)) continue;
    rows[kept] = rows[i];
    truth[kept] = truth[i];
    ++kept;
  }
  rows.resize(kept);
  truth.resize(kept);
}

}  // namespace headway::trace
