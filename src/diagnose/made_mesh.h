// SPDX-License-Identifier: Apache-2.0
// Test support: writes a job of several groups, hosts and devices by hand, call by call, and looks at it.
//
// Each rank has a clock that Work and Meet move on; what they record are the rows that a fold would leave. Exact: no
// noise, and all hosts' clocks agree. Times in whole multiples of trace::kCommTick.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "diagnose/analysis.h"
#include "pattern/pattern.h"

namespace headway::diagnose {

[[nodiscard]] inline Nanos Ms(int64_t ms) { return ms * kMillisecond; }
[[nodiscard]] inline Nanos Us(int64_t us) { return us * kMicrosecond; }

class MadeMesh {
 public:
  struct Layout {
    int ranks = 4;
    int per_host = 1 << 20;  // ranks of a host: "n0", "n1", …
    bool device = true;
  };
  using Members = std::vector<int>;

  explicit MadeMesh(const Layout& layout) : layout_(layout), ranks_(static_cast<size_t>(layout.ranks)) {
    for (int r = 0; r < layout.ranks; ++r) {
      pattern::RankPattern& p = At(r);
      p.meta.rank = p.comms.rank = r;
      p.meta.world_size = layout.ranks;
      p.meta.host = p.comms.host = "n" + std::to_string(r / layout.per_host);
      p.comms.host_known = true;
      p.has_device = layout.device;
    }
    now_.assign(ranks_.size(), kSecond);
    table_.push_back({"(nothing recorded)", -1, pattern::WorkClass::kIdle, ""});
  }

  // A process group; `desc` gives its role ("mesh_tp"). Returns its number, for Meet and Send.
  int Group(const std::string& desc, const Members& members) {
    trace::LocalGroup group;
    group.name = std::to_string(groups_.size());
    group.desc = desc;
    group.ranks.assign(members.begin(), members.end());
    group.is_device = layout_.device;
    for (const int r : members) {
      local_[{static_cast<int>(groups_.size()), r}] = static_cast<int32_t>(At(r).comms.groups.size());
      At(r).comms.groups.push_back(group);
      At(r).comms.declared.push_back({group.name, desc, "x", group.ranks});
    }
    groups_.push_back(members);
    return static_cast<int>(groups_.size()) - 1;
  }
  // One group for each of `all`; their numbers.
  std::vector<int> Groups(const std::string& desc, const std::vector<Members>& all) {
    std::vector<int> out;
    for (const Members& members : all) out.push_back(Group(desc, members));
    return out;
  }

  // The next step begins, on each rank where its clock stands.
  void Step() {
    EndStep();
    for (int r = 0; r < layout_.ranks; ++r) {
      pattern::Step step;
      step.number = steps_;
      step.start = Now(r);
      At(r).steps.push_back(step);
      At(r).comms.step_numbers.push_back(steps_);
      At(r).comms.step_starts.push_back(Now(r));
    }
    ++steps_;
  }
  // The rank stands still before its first step, or between two.
  void Delay(int rank, Nanos time) { Now(rank) += time; }

  // Own time of the rank in one function. Names are those of kernels, operators or Python frames.
  void Work(int rank, pattern::WorkClass work_class, const std::string& name, Nanos time, int calls = 1) {
    if (time <= 0) return;
    StepOf(rank).by_class[static_cast<size_t>(work_class)] += time;
    const auto function = FunctionOf(work_class, name);
    rows_[{rank, steps_ - 1, function}].first += time;
    rows_[{rank, steps_ - 1, function}].second += calls;
    Now(rank) += time;
  }
  // The same with nothing recorded at all, in one piece.
  void Hole(int rank, Nanos time) {
    Work(rank, pattern::WorkClass::kIdle, "(nothing recorded)", time);
    StepOf(rank).longest_stretch = std::max(StepOf(rank).longest_stretch, time);
  }
  void Compute(int rank, Nanos time) { Work(rank, pattern::WorkClass::kCompute, "gemm", time); }
  // The same of all ranks.
  void ComputeAll(Nanos time) {
    for (int r = 0; r < layout_.ranks; ++r) Compute(r, time);
  }

  // All members are blocked until the operation ends: `transfer` after the last one came, or transfer[i] for member i.
  void Meet(int group, trace::CommOp op, Bytes bytes, const std::vector<Nanos>& transfer) {
    const Members& members = groups_[static_cast<size_t>(group)];
    Nanos latest = 0;
    for (const int r : members) latest = std::max(latest, Now(r));
    for (size_t i = 0; i < members.size(); ++i) Block(group, members[i], op, bytes, latest + transfer[i]);
  }
  void Meet(int group, trace::CommOp op, Bytes bytes, Nanos transfer) {
    Meet(group, op, bytes, std::vector<Nanos>(groups_[static_cast<size_t>(group)].size(), transfer));
  }
  // The same beside the members' work: they go on at once.
  void MeetBeside(int group, trace::CommOp op, Bytes bytes, Nanos transfer) {
    const Members& members = groups_[static_cast<size_t>(group)];
    Nanos latest = 0;
    for (const int r : members) latest = std::max(latest, Now(r));
    for (const int r : members) Row(group, r, op, bytes, Now(r), latest + transfer);
  }
  // A send of the group's first member to its second one, or back; both are blocked.
  void Send(int group, int from, Bytes bytes, Nanos transfer) {
    const Members& members = groups_[static_cast<size_t>(group)];
    const int to = members[members[0] == from ? 1 : 0];
    const Nanos end = std::max(Now(from), Now(to)) + transfer;
    Block(group, from, trace::CommOp::kSend, bytes, end).peer = members[0] == from ? 1 : 0;
    Block(group, to, trace::CommOp::kRecv, bytes, end).peer = members[0] == from ? 0 : 1;
  }

  pattern::Step& StepOf(int rank) { return At(rank).steps.back(); }  // for figures beside time, such as `syncs`

  [[nodiscard]] std::vector<pattern::RankPattern> Make() {
    EndStep();
    const auto table = std::make_shared<const pattern::FunctionTable>(table_);
    for (pattern::RankPattern& p : ranks_) {
      p.function_table = table;
      p.functions.resize(table_.size());
      p.window_start = p.steps.front().start;
      p.window_end = p.steps.back().end;
      std::stable_sort(p.comms.instances.begin(), p.comms.instances.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; });
    }
    for (const auto& [key, value] : rows_) {
      const auto [rank, step, function] = key;
      At(rank).function_steps.push_back({step, function, value.first, value.second});
      pattern::FunctionTotals& totals = At(rank).functions[static_cast<size_t>(function)];
      totals.total += value.first;
      totals.calls += value.second;
    }
    return std::move(ranks_);
  }

 private:
  pattern::RankPattern& At(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  Nanos& Now(int rank) { return now_[static_cast<size_t>(rank)]; }

  void EndStep() {
    if (steps_ == 0) return;
    for (int r = 0; r < layout_.ranks; ++r) StepOf(r).end = StepOf(r).marked_end = Now(r);
  }

  pattern::FunctionId FunctionOf(pattern::WorkClass work_class, const std::string& name) {
    const auto it = std::find_if(table_.begin(), table_.end(),
                                 [&](const auto& f) { return f.name == name && f.work_class == work_class; });
    if (it != table_.end()) return static_cast<pattern::FunctionId>(it - table_.begin());
    table_.push_back({name, -1, work_class, ""});
    return static_cast<pattern::FunctionId>(table_.size() - 1);
  }

  trace::CommInstance& Row(int group, int rank, trace::CommOp op, Bytes bytes, Nanos start, Nanos end) {
    trace::CommInstance row;
    row.start = row.exposed_begin = row.exposed_end = start;
    row.end = end;
    row.bytes = bytes;
    row.step = steps_ - 1;
    row.op = op;
    row.local_group = local_.at({group, rank});
    At(rank).comms.instances.push_back(row);
    return At(rank).comms.instances.back();
  }

  trace::CommInstance& Block(int group, int rank, trace::CommOp op, Bytes bytes, Nanos end) {
    trace::CommInstance& row = Row(group, rank, op, bytes, Now(rank), end);
    row.exposed = end - row.start;
    row.exposed_end = end;
    StepOf(rank).by_class[static_cast<size_t>(pattern::WorkClass::kCommunication)] += row.exposed;
    Now(rank) = end;
    return row;
  }

  Layout layout_;
  std::vector<pattern::RankPattern> ranks_;
  std::vector<Members> groups_;
  std::map<std::pair<int, int>, int32_t> local_;  // (group, rank) -> the rank's local group
  std::vector<Nanos> now_;
  pattern::FunctionTable table_;
  std::map<std::tuple<int, int, pattern::FunctionId>, std::pair<Nanos, int>> rows_;  // (rank, step, function)
  int steps_ = 0;
};

// A job as the analyses see it.
class Look {
 public:
  explicit Look(std::vector<pattern::RankPattern> ranks) : job(JoinJob(std::move(ranks))) {}
  Look(const Look&) = delete;  // the view refers to the job
  Look& operator=(const Look&) = delete;

  Job job;
  ExcessTable excess = ComputeExcess(job);
  ExcessTable beside_compute = ComputeExcess(job, OwnPart::kBesideCompute);
  WaitTable waits = SplitWaits(job);
  std::vector<Channel> channels = CollectChannels(job);
  FunctionView view{job};

  [[nodiscard]] AnalysisInput In() { return {job, excess, beside_compute, waits, channels, &view}; }
  // What one analysis hands in.
  [[nodiscard]] AnalysisOutput Run(void (*analysis)(const AnalysisInput& in, AnalysisOutput* out)) {
    AnalysisOutput out;
    analysis(In(), &out);
    return out;
  }
};

}  // namespace headway::diagnose
