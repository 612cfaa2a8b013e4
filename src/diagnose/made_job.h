// SPDX-License-Identifier: Apache-2.0
// Test support: patterns of a job in which all ranks run one function and then meet in one all-reduce per step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pattern/pattern.h"

namespace headway::diagnose {

struct MadeJob {
  int ranks = 4;
  int steps = 6;
  Nanos transfer = 2 * kMillisecond;
  // Own time of a rank in a step, and the function it is spent in.
  std::function<Nanos(int rank, int step)> own = [](int, int) { return 100 * kMillisecond; };
  std::function<Nanos(int rank, int step)> extra = [](int, int) { return Nanos{0}; };  // in `extra_function`
  std::string extra_function = "train.py(7): read_shard";
  pattern::WorkClass extra_class = pattern::WorkClass::kInput;
  Nanos entry_skew = 0;  // rank 0 enters this much later than the others
};

// Each step: own time, then the all-reduce, which ends `transfer` after the last rank arrived. Exact: no noise.
inline std::vector<pattern::RankPattern> Make(const MadeJob& made) {
  using pattern::WorkClass;
  const auto table = std::make_shared<const pattern::FunctionTable>(
      pattern::FunctionTable{{"aten::mm", -1, WorkClass::kCompute, ""},
                             {made.extra_function, -1, made.extra_class, ""},
                             {"gloo:all_reduce", -1, WorkClass::kCommunication, ""}});
  std::vector<pattern::RankPattern> out(static_cast<size_t>(made.ranks));
  std::vector<Nanos> now(out.size(), kSecond);
  now[0] += made.entry_skew;
  for (size_t r = 0; r < out.size(); ++r) {
    pattern::RankPattern& p = out[r];
    p.meta.rank = static_cast<RankId>(r);
    p.meta.world_size = made.ranks;
    p.meta.host = "n0";
    p.function_table = table;
    p.functions.resize(3);
    p.window_start = now[r];
    p.comms.rank = p.meta.rank;
    p.comms.host = "n0";
    p.comms.host_known = true;
    trace::ProcessGroup world{"0", "default_pg", "gloo", {}};
    for (int i = 0; i < made.ranks; ++i) world.ranks.push_back(i);
    p.comms.declared = {world};
    trace::LocalGroup group;
    group.name = "0";
    group.desc = "default_pg";
    group.ranks = world.ranks;
    p.comms.groups = {group};
  }
  for (int s = 0; s < made.steps; ++s) {
    std::vector<Nanos> arrival(out.size());
    Nanos latest = 0;
    for (size_t r = 0; r < out.size(); ++r) {
      const int rank = static_cast<int>(r);
      arrival[r] = now[r] + made.own(rank, s) + made.extra(rank, s);
      latest = std::max(latest, arrival[r]);
    }
    for (size_t r = 0; r < out.size(); ++r) {
      pattern::RankPattern& p = out[r];
      const int rank = static_cast<int>(r);
      const Nanos end = latest + made.transfer;
      pattern::Step step;
      step.number = s;
      step.start = now[r];
      step.end = step.marked_end = end;
      step.by_class[0] = made.own(rank, s);
      step.by_class[static_cast<size_t>(made.extra_class)] += made.extra(rank, s);
      step.by_class[static_cast<size_t>(WorkClass::kCommunication)] = end - arrival[r];
      p.steps.push_back(step);
      p.function_steps.push_back({s, 0, made.own(rank, s), 1});
      if (made.extra(rank, s) > 0) p.function_steps.push_back({s, 1, made.extra(rank, s), 1});
      p.function_steps.push_back({s, 2, end - arrival[r], 1});
      trace::CommInstance instance;
      instance.start = arrival[r];
      instance.end = end;
      instance.exposed = end - arrival[r];
      instance.exposed_begin = arrival[r];
      instance.exposed_end = end;
      instance.step = s;
      instance.op = trace::CommOp::kAllReduce;
      p.comms.instances.push_back(instance);
      p.comms.step_numbers.push_back(s);
      p.comms.step_starts.push_back(now[r]);
      p.window_end = now[r] = end;
    }
  }
  return out;
}

}  // namespace headway::diagnose
