// SPDX-License-Identifier: Apache-2.0
#include "synth/simulate.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "synth/draws.h"
#include "synth/step_builder.h"

namespace headway::synth {
namespace {

constexpr double kLoopBytes = 4e6;  // what one round of NCCL's ring carries per rank
constexpr double kGlooGbs = 1.0;    // TCP, as between the processes of cpu_mesh
constexpr double kGlooStartupUs = 250;
constexpr double kNetworkStartupUs = 25;  // between hosts; the inside of a host is measured
// A send and its receive use one path where a collective uses all (collectives/nccl_multinode.csv: sendrecv 24 GB/s
// where all_reduce reaches 48, one GPU per node).
constexpr double kPeerShare = 0.5;

Link LinkOf(const Job& job, bool between_hosts) {
  const Durations& measured = Durations::Measured();
  const double set = between_hosts ? job.spec.net_gbs : job.spec.node_gbs;
  if (job.gloo()) return {std::llround(kGlooStartupUs * 1e3), set > 0 ? set : kGlooGbs};
  const double gbs = set > 0 ? set : measured.BusGbs(between_hosts ? "network" : "node");
  const double startup = between_hosts ? kNetworkStartupUs : measured.StartupUs("node");
  return {std::llround(startup * 1e3), gbs};
}

}  // namespace

Transfer TransferOf(const Job& job) {
  return [&job](const Instance& instance, std::span<Time> ends) {
    const std::vector<int>& members = job.channels[static_cast<size_t>(instance.channel)];
    const CollectiveDetail& detail = job.details[static_cast<size_t>(instance.detail)];
    const size_t n = members.size();
    const bool crosses = std::any_of(members.begin(), members.end(),
                                     [&](int rank) { return job.mesh.Host(rank) != job.mesh.Host(members.front()); });
    const Link link = LinkOf(job, crosses);
    const bool peer = detail.op == Coll::kSend || detail.op == Coll::kRecv;
    const uint64_t key = Key(instance.key, peer ? instance.number : 0);
    const double rate = link.bytes_per_ns * (peer && !job.gloo() ? kPeerShare : 1);
    const double noise = LogNormal(key, 0.02 * job.spec.noise) * job.faults.Fabric(instance.step);
    const Time data =
        std::llround(static_cast<double>(instance.bytes) * BusFactor(detail.op, static_cast<int>(n)) / rate * noise);
    const Time startup = std::llround(static_cast<double>(link.startup) * noise);
    // gloo's all-reduce (and the reduce-scatter made of it) sends to the member before, as a throttled rank of a real
    // job shows (the last to end is the one before it); its all-gather to the one after.
    const bool backwards = job.gloo() && (detail.op == Coll::kAllReduce || detail.op == Coll::kReduceScatter);
    const auto place = [&](size_t i) { return backwards ? n - 1 - i : i; };  // of the i-th in the ring's direction
    std::vector<double> factors(n, 1.0);
    for (size_t i = 0; i < n; ++i) {
      const int member = members[place(i)];
      const bool leaves_host = job.mesh.Host(member) != job.mesh.Host(members[place((i + 1) % n)]);
      factors[i] = job.faults.Egress(member, instance.step, detail.op == Coll::kAllToAll ? crosses : leaves_host);
    }
    if (peer) {
      const Time took = startup + std::llround(static_cast<double>(data) * factors[0]);
      std::fill(ends.begin(), ends.end(), took);
    } else if (detail.op == Coll::kAllToAll) {
      AllToAllEnds(startup, data, factors, ends);
    } else {
      const int loops =
          std::max(1, static_cast<int>(static_cast<double>(instance.bytes) / (kLoopBytes * static_cast<double>(n))));
      RingEnds(startup, data, RingSteps(detail.op, static_cast<int>(n)), loops, factors, ends);
      if (backwards) std::reverse(ends.begin(), ends.end());
    }
    const Time last = *std::max_element(instance.starts.begin(), instance.starts.end());
    for (size_t i = 0; i < n; ++i) {
      const double u = Uniform(Key(key, 0xe4d, i));
      const double jitter_us = job.gloo() ? 20 + 120 * u : 1 + 6 * u;
      ends[i] += last + std::llround(jitter_us * 1e3 * job.spec.noise);
    }
  };
}

JobRun Simulate(const JobSpec& spec) {
  JobRun run;
  run.job = std::make_unique<Job>(spec);
  Job& job = *run.job;
  Engine engine(job.mesh.world(), job.channels, TransferOf(job));
  std::vector<int> next(static_cast<size_t>(job.mesh.world()), 0);
  run.ranks = engine.Run([&](int rank, Program& program) {
    int& step = next[static_cast<size_t>(rank)];
    if (step == spec.warmup + spec.steps) return false;
    StepBuilder(job, rank, step, program).Build();
    ++step;
    return true;
  });
  return run;
}

Time JobRun::StepEnd(int step) const {
  Time end = 0;
  for (const RankRecord& rank : ranks) {
    const StepMark& mark = rank.marks[static_cast<size_t>(step)];
    end = std::max(end, mark.host_end);
    const size_t from = step == 0 ? 0 : rank.marks[static_cast<size_t>(step) - 1].items;
    for (size_t i = from; i < mark.items; ++i) end = std::max(end, rank.items[i].end);
  }
  return end;
}

std::vector<double> JobRun::StepMs() const {
  std::vector<double> ms;
  const int first = job->spec.warmup;
  HEADWAY_CHECK(first >= 1);
  Time before = StepEnd(first - 1);
  for (int step = first; step < first + job->spec.steps; ++step) {
    const Time end = StepEnd(step);
    ms.push_back(static_cast<double>(end - before) / 1e6);
    before = end;
  }
  return ms;
}

}  // namespace headway::synth
