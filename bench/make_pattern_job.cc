// SPDX-License-Identifier: Apache-2.0
// Writes the patterns of a made job to a folder, for timing `headway diagnose` on very many ranks:
//   make_pattern_job DIR RANKS [STEPS] [FUNCTIONS]
// tp groups of 8 (one host) meet 40 times a step, dp groups across the hosts 10 times: with 20 steps 1,000 collectives
// a rank. Three ranks are slow: RANKS / 7 in its loader by 15 ms a step, RANKS / 3 in its kernels by 20 ms, and RANKS *
// 5 / 6 once by 400 ms. All other times vary by 1 %.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "pattern/hwp_writer.h"
#include "pattern/pattern.h"

namespace {

using headway::kMicrosecond;
using headway::kMillisecond;
using headway::Nanos;
using headway::pattern::RankPattern;
using headway::pattern::WorkClass;

constexpr int kTp = 8;
constexpr int kMeetings = 50;  // a step; every fifth is dp
constexpr int kLoader = 1;     // function indices
constexpr int kFirstKernel = 2;

struct Job {
  int ranks, steps, functions;
  std::vector<RankPattern> patterns;
  std::vector<Nanos> now;
  std::mt19937_64 random{42};
};

Nanos Vary(std::mt19937_64* random, Nanos mean) {
  std::normal_distribution<double> noise(1.0, 0.01);
  return static_cast<Nanos>(static_cast<double>(mean) * std::max(0.5, noise(*random)));
}

void Prepare(Job* job) {
  headway::pattern::FunctionTable table;
  table.push_back({"(waiting for communication)", -1, WorkClass::kCommunication, ""});
  table.push_back({"data.py(12): read_shard", -1, WorkClass::kInput, ""});
  for (int f = kFirstKernel; f < job->functions; ++f) {
    table.push_back(
        {"void kernel_" + std::to_string(f) + "<float>(float*, long)", -1, WorkClass::kCompute, "occupancy"});
  }
  const auto shared = std::make_shared<const headway::pattern::FunctionTable>(std::move(table));
  job->patterns.resize(static_cast<size_t>(job->ranks));
  job->now.assign(static_cast<size_t>(job->ranks), 1'000'000 * kMillisecond);
  for (int r = 0; r < job->ranks; ++r) {
    RankPattern& p = job->patterns[static_cast<size_t>(r)];
    p.meta.rank = r;
    p.meta.world_size = job->ranks;
    p.meta.host = "n" + std::to_string(r / kTp);
    p.meta.source = "made";
    p.has_device = true;
    p.function_table = shared;
    p.functions.resize(shared->size());
    p.comms.rank = r;
    p.comms.host = p.meta.host;
    p.comms.host_known = true;
    for (int kind = 0; kind < 2; ++kind) {
      headway::trace::ProcessGroup group{std::to_string(kind), kind == 0 ? "mesh_tp" : "mesh_dp", "nccl", {}};
      if (kind == 0) {
        for (int i = 0; i < kTp; ++i) group.ranks.push_back(r / kTp * kTp + i);
      } else {
        for (int i = r % kTp; i < job->ranks; i += kTp) group.ranks.push_back(i);
      }
      headway::trace::LocalGroup local;
      local.name = group.name;
      local.desc = group.desc;
      local.ranks = group.ranks;
      local.is_device = true;
      p.comms.groups.push_back(local);
      p.comms.declared.push_back(std::move(group));
    }
    p.window_start = job->now[static_cast<size_t>(r)];
  }
}

// One step's own time of a function, and what that adds to its totals.
void AddFunctionStep(RankPattern* p, int step, int function, Nanos own, int32_t calls) {
  p->function_steps.push_back({step, function, own, calls});
  headway::pattern::FunctionTotals& totals = p->functions[static_cast<size_t>(function)];
  totals.calls += calls;
  totals.total += own;
  totals.uncovered += own;
  if (function < kFirstKernel) return;
  totals.mu = 0.5 + 0.0625 * (function % 8);
  totals.sigma = 0.0625;
}

Nanos Excess(const Job& job, int rank, int step, int meeting) {
  if (rank == job.ranks / 7 && meeting == 0) return 15 * kMillisecond;
  if (rank == job.ranks / 3) return 20 * kMillisecond / kMeetings;
  if (rank == job.ranks * 5 / 6 && step == job.steps / 2 && meeting == 25) return 400 * kMillisecond;
  return 0;
}

void Meet(Job* job, int step, int meeting, const std::vector<Nanos>& arrival) {
  const bool dp = meeting % 5 == 4;
  const int groups = dp ? kTp : job->ranks / kTp;
  std::vector<Nanos> latest(static_cast<size_t>(groups), 0);
  const auto group_of = [&](int r) { return static_cast<size_t>(dp ? r % kTp : r / kTp); };
  for (int r = 0; r < job->ranks; ++r) {
    latest[group_of(r)] = std::max(latest[group_of(r)], arrival[static_cast<size_t>(r)]);
  }
  for (int r = 0; r < job->ranks; ++r) {
    RankPattern& p = job->patterns[static_cast<size_t>(r)];
    const auto tick = [](Nanos t) { return t / headway::trace::kCommTick * headway::trace::kCommTick; };
    headway::trace::CommInstance instance;
    instance.start = tick(arrival[static_cast<size_t>(r)]);
    instance.end =
        tick(latest[group_of(r)] + (dp ? 900 : 200) * kMicrosecond + static_cast<Nanos>(job->random() % 5000));
    instance.exposed = instance.end - instance.start;
    instance.exposed_begin = instance.start;
    instance.exposed_end = instance.end;
    instance.bytes = dp ? 50 << 20 : 8 << 20;
    instance.local_group = dp ? 1 : 0;
    instance.step = step;
    instance.op = headway::trace::CommOp::kAllReduce;
    p.comms.instances.push_back(instance);
    p.steps.back().by_class[static_cast<size_t>(WorkClass::kCommunication)] += instance.exposed;
    job->now[static_cast<size_t>(r)] = instance.end;
  }
}

void RunStep(Job* job, int step) {
  for (int r = 0; r < job->ranks; ++r) {
    RankPattern& p = job->patterns[static_cast<size_t>(r)];
    headway::pattern::Step s;
    s.number = step;
    s.start = job->now[static_cast<size_t>(r)];
    p.steps.push_back(s);
    p.comms.step_numbers.push_back(step);
    p.comms.step_starts.push_back(s.start);
  }
  std::vector<Nanos> compute(static_cast<size_t>(job->ranks), 0), input(compute);
  std::vector<Nanos> arrival(compute);
  for (int m = 0; m < kMeetings; ++m) {
    for (int r = 0; r < job->ranks; ++r) {
      const auto i = static_cast<size_t>(r);
      const Nanos excess = Excess(*job, r, step, m);
      const Nanos work = Vary(&job->random, 6 * kMillisecond);
      (r == job->ranks / 7 ? input : compute)[i] += excess;
      compute[i] += work;
      arrival[i] = job->now[i] + work + excess;
    }
    Meet(job, step, m, arrival);
  }
  for (int r = 0; r < job->ranks; ++r) {
    const auto i = static_cast<size_t>(r);
    RankPattern& p = job->patterns[i];
    p.steps.back().end = p.steps.back().marked_end = job->now[i];
    p.steps.back().by_class[static_cast<size_t>(WorkClass::kCompute)] = compute[i];
    p.steps.back().by_class[static_cast<size_t>(WorkClass::kInput)] = input[i];
    if (input[i] > 0) AddFunctionStep(&p, step, kLoader, input[i] / kMicrosecond * kMicrosecond, 1);
    const int kernels = job->functions - kFirstKernel;
    for (int f = 0; f < kernels; ++f) {
      AddFunctionStep(&p, step, kFirstKernel + f, compute[i] / kernels / kMicrosecond * kMicrosecond, 4);
    }
    p.window_end = job->now[i];
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make_pattern_job DIR RANKS [STEPS] [FUNCTIONS]\n");
    return 2;
  }
  Job job;
  job.ranks = std::atoi(argv[2]) / kTp * kTp;
  job.steps = argc > 3 ? std::atoi(argv[3]) : 20;
  job.functions = argc > 4 ? std::atoi(argv[4]) : 500;
  Prepare(&job);
  for (int s = 0; s < job.steps; ++s) RunStep(&job, s);
  std::filesystem::create_directories(argv[1]);
  for (const RankPattern& p : job.patterns) {
    const std::string path = std::string(argv[1]) + "/rank" + std::to_string(p.meta.rank) + ".hwp";
    if (auto written = headway::pattern::WriteHwpFile(path, {&p, 1}); !written) {
      std::fprintf(stderr, "%s\n", written.error().ToString().c_str());
      return 3;
    }
  }
  std::printf("%d ranks in %s; slow: %d (loader, 15 ms), %d (kernels, 20 ms), %d (once, 400 ms)\n", job.ranks, argv[1],
              job.ranks / 7, job.ranks / 3, job.ranks * 5 / 6);
}
