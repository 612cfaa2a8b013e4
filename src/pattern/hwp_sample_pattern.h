// SPDX-License-Identifier: Apache-2.0
// Generated rank patterns for tests and benchmarks of the .hwp file: shaped like a folded rank, with honest jitter. Not
// part of any library.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pattern/pattern.h"

namespace headway::pattern::hwp {

struct SampleShape {
  int functions = 1000;
  int steps = 20;
  int collectives = 250;  // a step
  RankId rank = 3;
  int world_size = 64;
  double jitter = 0.05;     // of durations and gaps: sigma of a log-normal
  double presence = 1.0;    // probability that a function runs in a step
  uint64_t table_seed = 1;  // ranks with the same one run the same functions
};

class SamplePattern {
 public:
  SamplePattern(const SampleShape& shape, uint64_t seed)
      : shape_(shape), program_(shape.table_seed), random_(seed * 1000003 + 17) {}

  RankPattern Make() {
    MakeMeta();
    MakeTable();
    MakeSteps();
    MakeFunctions();
    MakeComms();
    return std::move(p_);
  }

 private:
  using Random = std::mt19937_64;
  static constexpr Nanos kEpoch = 1'752'000'000'123'456'789;  // a Unix time as clocks write it

  double Jitter() { return std::exp(shape_.jitter * normal_(random_)); }
  static double Uniform(Random& r) { return std::uniform_real_distribution<double>(0, 1)(r); }
  static int Below(Random& r, int n) { return static_cast<int>(r() % static_cast<uint64_t>(n)); }

  std::string NewWord() {
    static constexpr const char* kParts[] = {"at",  "ten",  "tion",  "lin", "ear", "norm", "grad", "for", "ward", "out",
                                             "put", "fuse", "batch", "mul", "add", "view", "load", "opt", "step", "re"};
    std::string word;
    for (int parts = 2 + Below(program_, 3); parts > 0; --parts) {
      word += kParts[Below(program_, static_cast<int>(std::size(kParts)))];
    }
    return word;
  }

  const std::string& Word() {
    if (words_.empty()) {
      for (int i = 0; i < 200; ++i) words_.push_back(NewWord());
    }
    return words_[static_cast<size_t>(Below(program_, static_cast<int>(words_.size())))];
  }

  // Random names that zstd packs no better than those of real traces: these take 10 to 19 bytes for each distinct name
  // (kernels with template arguments, Python frames with lines), and 30 to 80 % of the names of a table are distinct.
  std::string FunctionText(WorkClass work_class) {
    if (work_class == WorkClass::kCompute) {
      return "void at::native::" + Word() + "_kernel<" + std::to_string(Below(program_, 8)) +
             ", at::native::" + Word() + "Functor<c10::BFloat16>, at::detail::Array<char*, 3> >(int, c10::BFloat16*) " +
             std::to_string(1 + Below(program_, 1024)) + "_1_1|" + std::to_string(64 << Below(program_, 4)) + "_1_1";
    }
    return "model/" + Word() + ".py(" + std::to_string(1 + Below(program_, 2000)) + "): " + Word();
  }

  void MakeMeta() {
    trace::RankMeta& m = p_.meta;
    m.rank = shape_.rank;
    m.rank_source = "content";
    m.world_size = shape_.world_size;
    m.host = "node-" + std::to_string(shape_.rank / 8);
    m.backend = "nccl";
    m.source = "run/rank" + std::to_string(shape_.rank) + ".json.gz";
    m.trace_id = "5E3A0B17";
    m.groups = {{"0", "default_pg", "nccl", {}}, {"1", "mesh_dp", "nccl", {}}, {"2", "mesh_tp", "nccl", {}}};
    for (RankId r = 0; r < shape_.world_size; ++r) m.groups[0].ranks.push_back(r);
    for (RankId r = shape_.rank % 8; r < shape_.world_size; r += 8) m.groups[1].ranks.push_back(r);
    for (RankId r = 0; r < 8; ++r) m.groups[2].ranks.push_back(shape_.rank / 8 * 8 + r);
    for (int i = 0; i < 12; ++i) {
      const bool device = i < 6;
      m.lanes.push_back({device, device ? shape_.rank % 8 : -1, device ? 0 : 4711 + shape_.rank, 7 + i * 4,
                         device ? "stream " + std::to_string(7 + i * 4) : "thread " + std::to_string(i)});
    }
    m.devices = {"NVIDIA H100 80GB HBM3"};
    m.versions = {{"cuda_driver_version", "12040"}, {"cuda_runtime_version", "12010"}, {"nccl_version", "2.21.5"}};
    m.with_stack = true;
    m.time_base = kEpoch;
    m.categories = {{"cpu_op", 400'000}, {"kernel", 106'000}, {"python_function", 600'000}};
    p_.has_device = true;
    p_.events = 1'203'311 + static_cast<int64_t>(random_() % 1000);
    p_.overhead = static_cast<Nanos>(random_() % 10'000'000);
    p_.log.AddCount(trace::ProblemKind::kNote, "last-step-kept", 1);
    p_.log.Add(trace::ProblemKind::kRepaired, "control-character", 1034, "Memcpy\\x01");
  }

  void MakeTable() {
    FunctionTable table;
    std::vector<FunctionId> frames;
    for (int i = 0; i < shape_.functions; ++i) {
      FunctionName f;
      f.work_class = i % 5 < 2 ? WorkClass::kCompute : i % 17 == 0 ? WorkClass::kRuntime : WorkClass::kHost;
      // Three of five call paths end in a function that is called elsewhere too.
      f.name = i > 10 && Uniform(program_) < 0.6 ? table[static_cast<size_t>(Below(program_, i))].name
                                                 : FunctionText(f.work_class);
      if (f.work_class == WorkClass::kCompute) f.resource = "occupancy";
      // Depth first: the parent is the latest frame or, now and then, one further out.
      while (!frames.empty() && Uniform(program_) < 0.2) frames.pop_back();
      if (!frames.empty()) f.parent = frames.back();
      if (f.work_class == WorkClass::kHost) frames.push_back(i);
      table.push_back(std::move(f));
    }
    p_.function_table = std::make_shared<const FunctionTable>(std::move(table));
  }

  void MakeSteps() {
    Nanos at = kEpoch;
    for (int s = 0; s < shape_.steps; ++s) {
      Step step;
      step.number = 100 + s;
      step.start = at;
      step.end = at + static_cast<Nanos>(1e9 * Jitter());
      step.marked_end = step.end - static_cast<Nanos>(random_() % 100'000);
      Nanos rest = step.end - step.start;
      for (size_t c = 0; c + 1 < step.by_class.size(); ++c) {
        step.by_class[c] = static_cast<Nanos>(static_cast<double>(rest) * (c == 0 ? 0.6 : 0.3) * Jitter());
        rest -= step.by_class[c];
      }
      step.by_class.back() = rest;
      step.longest_stretch = static_cast<Nanos>(3e7 * Jitter());
      step.longest_stretch_start = step.start + static_cast<Nanos>(4e8 * Jitter());
      step.longest_stretch_function = shape_.functions > 0 ? Below(random_, shape_.functions) : -1;
      step.host_stretch = static_cast<Nanos>(2e6 * Jitter());
      step.host_stretch_function = shape_.functions > 0 ? shape_.functions - 1 : -1;
      step.launches = 5000 + Below(random_, 3);
      step.device_rows = 5300 + Below(random_, 3);
      step.syncs = 4;
      step.sync_time = static_cast<Nanos>(2e6 * Jitter());
      step.launch_delay = static_cast<Nanos>(8e6 * Jitter());
      step.comm_overlapped = static_cast<Nanos>(3e8 * Jitter());
      p_.steps.push_back(step);
      at = step.end;
    }
    p_.window_start = kEpoch;
    p_.window_end = at;
    for (auto* sums : {&p_.device_all, &p_.device_linked}) {
      sums->first = kEpoch + 1234;
      sums->last = at - 321;
      for (Nanos& time : sums->by_kinds) time = static_cast<Nanos>(2e9 * Jitter());
      sums->rows = 106'000;
    }
  }

  // As the fold rounds the times of functions.
  static Nanos Micros(Nanos t) { return (t + kMicrosecond / 2) / kMicrosecond * kMicrosecond; }

  // Mean own times fall as 1/i (Zipf) in random order and add up to nine tenths of a second.
  void MakeFunctions() {
    const int n = shape_.functions;
    double harmonic = 0;
    for (int i = 1; i <= n; ++i) harmonic += 1.0 / i;
    std::vector<double> mean;
    for (int i = 1; i <= n; ++i) mean.push_back(0.9e9 / (i * harmonic));
    std::shuffle(mean.begin(), mean.end(), program_);
    std::vector<int32_t> calls;
    for (int i = 0; i < n; ++i) calls.push_back(1 + Below(program_, 60));
    p_.functions.resize(static_cast<size_t>(n));
    for (int s = 0; s < shape_.steps; ++s) {
      for (int f = 0; f < n; ++f) {
        if (Uniform(random_) >= shape_.presence) continue;
        const auto at = static_cast<size_t>(f);
        const auto own = static_cast<Nanos>(mean[at] * Jitter());
        const bool odd = Uniform(random_) < 0.02;  // a call more or less in one of fifty
        FunctionTotals& t = p_.functions[at];
        t.uncovered += own;
        t.calls += calls[at] + odd;
        p_.function_steps.push_back({s, f, Micros(own), calls[at] + odd});
      }
    }
    for (int f = 0; f < n; ++f) {
      FunctionTotals& t = p_.functions[static_cast<size_t>(f)];
      const WorkClass work_class = (*p_.function_table)[static_cast<size_t>(f)].work_class;
      t.uncovered = Micros(t.uncovered);
      t.total =
          t.uncovered + Micros(f % 3 == 0 ? static_cast<Nanos>(static_cast<double>(t.uncovered) * 0.4 * Jitter()) : 0);
      if (work_class != WorkClass::kCompute) continue;
      t.mu = std::round((0.2 + 0.6 * Uniform(random_)) * 65536) / 65536;
      t.sigma = std::round(0.02 * Jitter() * 2097152) / 2097152;
    }
  }

  struct Operation {
    trace::CommOp op;
    int32_t group;
    Bytes bytes;
    Nanos gap;  // to the operation before
    Nanos duration;
    int exposure;  // 0 none, 1 whole, 2 its tail
  };

  void MakeComms() {
    trace::RankComms& c = p_.comms;
    c.rank = shape_.rank;
    c.host = p_.meta.host;
    c.host_known = true;
    c.declared = p_.meta.groups;
    for (const trace::ProcessGroup& g : p_.meta.groups) {
      c.groups.push_back({g.name, g.desc, g.ranks, static_cast<int32_t>(g.ranks.size()),
                          static_cast<trace::LaneId>(c.groups.size()), 7, true, false});
    }
    c.runloop_tids = {4711, 4712, 4790};
    for (const Step& step : p_.steps) {
      c.step_numbers.push_back(step.number);
      c.step_starts.push_back(step.start);
    }
    std::vector<Operation> operations;
    for (int i = 0; i < shape_.collectives; ++i) {
      static constexpr trace::CommOp kOps[] = {trace::CommOp::kAllGather, trace::CommOp::kReduceScatter,
                                               trace::CommOp::kAllReduce};
      const double gap = 0.9e9 / shape_.collectives * (0.2 + 1.6 * Uniform(program_));
      operations.push_back({kOps[i % 3], i % 3, Bytes{1} << (12 + Below(program_, 14)), static_cast<Nanos>(gap),
                            static_cast<Nanos>(std::min(gap * 2, 100'000 * std::exp(2 * Uniform(program_)))),
                            Below(program_, 3)});
    }
    std::vector<int64_t> seq(c.groups.size(), 9000);
    for (int s = 0; s < shape_.steps; ++s) AppendStep(s, operations, &seq);
    std::sort(c.instances.begin(), c.instances.end(), [](const auto& a, const auto& b) {
      return a.start != b.start ? a.start < b.start : a.seq != b.seq ? a.seq < b.seq : a.local_group < b.local_group;
    });
  }

  static Nanos Tick(double t) { return static_cast<Nanos>(t) / trace::kCommTick * trace::kCommTick; }

  void AppendStep(int s, const std::vector<Operation>& operations, std::vector<int64_t>* seq) {
    auto at = static_cast<double>(p_.steps[static_cast<size_t>(s)].start - kEpoch);
    for (const Operation& operation : operations) {
      at += static_cast<double>(operation.gap) * Jitter();
      const double end = at + static_cast<double>(operation.duration) * Jitter();
      trace::CommInstance i;
      i.start = Tick(at) + kEpoch / trace::kCommTick * trace::kCommTick;
      i.end = Tick(end) + kEpoch / trace::kCommTick * trace::kCommTick;
      i.exposed_begin = i.exposed_end = i.start;
      if (operation.exposure == 1) i.exposed_end = i.end;
      if (operation.exposure == 2) {
        i.exposed_begin = i.end - Tick(static_cast<double>(i.end - i.start) * std::min(1.0, 0.4 * Jitter()));
        i.exposed_end = i.end;
      }
      // Floors of an interval and of its two ends differ by up to a tick.
      const Nanos slack = i.exposed_end > i.exposed_begin && random_() % 2 == 0 ? trace::kCommTick : 0;
      i.exposed = i.exposed_end - i.exposed_begin - slack;
      i.bytes = operation.bytes;
      i.seq = (*seq)[static_cast<size_t>(operation.group)]++;
      i.local_group = operation.group;
      i.step = s;
      i.op = operation.op;
      p_.comms.instances.push_back(i);
    }
  }

  SampleShape shape_;
  Random program_;  // what the job does: equal on all its ranks
  Random random_;   // what differs from rank to rank
  std::normal_distribution<double> normal_;
  std::vector<std::string> words_;
  RankPattern p_;
};

[[nodiscard]] inline RankPattern MakeSamplePattern(const SampleShape& shape, uint64_t seed) {
  return SamplePattern(shape, seed).Make();
}

}  // namespace headway::pattern::hwp
