// SPDX-License-Identifier: Apache-2.0
// Whole jobs: schedules, groups, faults and what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "synth/random_job.h"
#include "synth/step_builder.h"
#include "synth/truth.h"

namespace headway::synth {
namespace {

// No noise at all, and transfers that cost next to nothing.
JobSpec Quiet(const std::string& more) {
  Result<JobSpec> spec = ParseSpec(
      "noise=0,step_noise=0,common_noise=0,rank_noise=0,host_noise=0,hiccup_rate=0,clock_ms=0,drift_ppm=0,"
      "layer_mb=0.1,activation_mb=0.1,steps=4," +
      more);
  EXPECT_TRUE(spec.has_value());
  Result<JobSpec> valid = Validated(*spec);
  EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().ToString());
  return *valid;
}

Truth TruthOf(const JobSpec& spec) {
  const JobSpec sized = Calibrated(spec);
  return Measure(sized, Simulate(sized));
}

TEST(Mesh, RanksRunTensorFirstThenReplicaThenStage) {
  // 2 stages x 2 replicas x 2 tensor ranks: rank = (pp * 2 + dp) * 2 + tp, as in cpu_mesh/slow-device-3d.
  const Mesh mesh(2, 2, 2, 1, 4);
  EXPECT_EQ(mesh.At(5).pp, 1);
  EXPECT_EQ(mesh.At(5).dp, 0);
  EXPECT_EQ(mesh.At(5).tp, 1);
  EXPECT_EQ(mesh.groups()[static_cast<size_t>(mesh.GroupOf(0, Dim::kPp))].ranks, (std::vector<int>{0, 4}));
  EXPECT_EQ(mesh.groups()[static_cast<size_t>(mesh.GroupOf(0, Dim::kDp))].ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(mesh.groups()[static_cast<size_t>(mesh.GroupOf(0, Dim::kTp))].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(mesh.groups()[static_cast<size_t>(mesh.GroupOf(0, Dim::kDp))].name, "5");  // as there
  EXPECT_EQ(mesh.Host(5), 1);
}

TEST(Pipeline, OneForwardOneBackwardOrder) {
  // Stage 1 of 3 with 3 micro-batches: F0, then F1 B0, F2 B1, then B2.
  const std::vector<PipelineAction> expected = {{true, 0}, {true, 1}, {false, 0}, {true, 2}, {false, 1}, {false, 2}};
  EXPECT_EQ(OneForwardOneBackward(1, 3, 3), expected);
}

// p equal stages, m micro-batches, forward f, backward b, free transfers: (m + p - 1)(f + b), that is a bubble of
// (p - 1) / m of the useful time m (f + b).
TEST(Pipeline, BubbleIsStagesMinusOneOverMicroBatches) {
  constexpr Time kForward = 1000, kBackward = 2000;
  for (const auto& [stages, micro] : {std::pair{2, 4}, {4, 8}, {4, 4}, {3, 7}}) {
    std::vector<std::vector<int>> channels;  // forward s -> s + 1, then backward s + 1 -> s
    for (int s = 0; s + 1 < stages; ++s) channels.push_back({s, s + 1});
    for (int s = 0; s + 1 < stages; ++s) channels.push_back({s + 1, s});
    Engine engine(stages, channels, [](const Instance& instance, std::span<Time> ends) {
      std::fill(ends.begin(), ends.end(), *std::max_element(instance.starts.begin(), instance.starts.end()));
    });
    std::vector<bool> given(static_cast<size_t>(stages), false);
    const std::vector<RankRecord> records = engine.Run([&, n = stages, m = micro](int s, Program& program) {
      if (given[static_cast<size_t>(s)]) return false;
      given[static_cast<size_t>(s)] = true;
      const auto issue = [&](uint8_t stream, Work work) {
        Instr i;
        i.op = OpCode::kIssue;
        i.stream = stream;
        i.work = static_cast<uint32_t>(program.works.size());
        program.works.push_back(work);
        program.instrs.push_back(i);
      };
      const auto depend = [&](uint8_t stream, uint8_t other) {
        Instr i;
        i.op = OpCode::kDepend;
        i.stream = stream;
        i.other = other;
        program.instrs.push_back(i);
      };
      for (const PipelineAction& action : OneForwardOneBackward(s, n, m)) {
        const bool receives = action.forward ? s > 0 : s + 1 < n;
        const bool sends = action.forward ? s + 1 < n : s > 0;
        const uint8_t in = action.forward ? 1 : 2, out = action.forward ? 3 : 4;
        if (receives) {
          issue(in, Work{.channel = action.forward ? s - 1 : n - 1 + s});
          depend(0, in);
        }
        issue(0, Work{.duration = action.forward ? kForward : kBackward});
        depend(out, 0);
        if (sends) issue(out, Work{.channel = action.forward ? s : n - 1 + s - 1});
      }
      return true;
    });
    EXPECT_EQ(records[0].items.back().end, (micro + stages - 1) * (kForward + kBackward)) << stages << " " << micro;
  }
}

TEST(Job, SameSeedSameJobOtherSeedAnother) {
  const JobSpec spec = *Validated(*ParseSpec("dp=2,tp=2,pp=2,steps=3"));
  JobSpec other = spec;
  other.seed = 2;
  EXPECT_EQ(Simulate(spec).StepMs(), Simulate(spec).StepMs());
  EXPECT_NE(Simulate(spec).StepMs(), Simulate(other).StepMs());
}

TEST(Job, AFaultOfSizeZeroChangesNothing) {
  const JobSpec healthy = *Validated(*ParseSpec("dp=2,tp=2,pp=2,ep=2,steps=3"));
  for (const char* fault :
       {"slow_compute:rank=3:size=0", "slow_host:host=0:size=0", "slow_dataloader:rank=1:size=0",
        "slow_link:rank=1:size=0", "data_imbalance:rank=1:size=0", "stage_imbalance:stage=1:size=0",
        "slow_fabric:size=0", "hidden_sync:size=0", "slow_copy:rank=0:size=0", "gc_pause:rank=2:size=0"}) {
    JobSpec spec = healthy;
    spec.faults.push_back(*ParseFault(fault));
    EXPECT_EQ(Simulate(spec).StepMs(), Simulate(healthy).StepMs()) << fault;
  }
}

// Every member of a group issues the same collectives in the same order, whatever the job.
TEST(Job, MembersAgreeOnTheirCollectives) {
  for (uint64_t seed = 0; seed < 25; ++seed) {
    JobSpec spec = RandomJob(seed, 0);
    spec.steps = 2;
    const JobRun run = Simulate(Calibrated([&] {
      JobSpec plain = spec;
      for (FaultSpec& f : plain.faults) f.target_effect = -1;
      return plain;
    }()));
    const Job& job = *run.job;
    std::vector<std::vector<std::pair<Coll, int64_t>>> first(job.mesh.groups().size());
    for (size_t r = 0; r < run.ranks.size(); ++r) {
      std::vector<std::vector<std::pair<Coll, int64_t>>> seen(first.size());
      for (const Item& item : run.ranks[r].items) {
        if (item.work.channel < 0 || static_cast<size_t>(item.work.channel) >= first.size()) continue;
        const CollectiveDetail& detail = job.details[static_cast<size_t>(item.work.detail)];
        seen[static_cast<size_t>(item.work.channel)].emplace_back(detail.op, item.work.bytes);
        EXPECT_LE(item.start, item.last_start);
        EXPECT_GE(item.end, item.last_start);
      }
      for (size_t g = 0; g < first.size(); ++g) {
        if (seen[g].empty()) continue;
        if (first[g].empty()) first[g] = seen[g];
        EXPECT_EQ(seen[g], first[g]) << "seed " << seed << " rank " << r << " group " << g;
      }
    }
  }
}

// All kernels of rank 1 take 1.5 times as long. Its computation alone sets the pace, so the step grows by half of the
// time the device works.
TEST(Fault, SlowDeviceCostsItsShareOfTheWork) {
  const JobSpec spec = Quiet("dp=2,batch_mb=0,fault=slow_compute:rank=1:size=0.5");
  JobSpec healthy = spec;
  healthy.faults.clear();
  const double device_ms = static_cast<double>(Simulate(healthy).ranks[1].marks[2].device_work) / 1e6;
  const Truth truth = TruthOf(spec);
  ASSERT_EQ(truth.faults.size(), 1u);
  // The copy of the loss (1.6 us) is no kernel.
  EXPECT_NEAR(truth.faults[0].magnitude_ms, 0.5 * device_ms, 0.01);
  EXPECT_NEAR(truth.faults[0].recoverable_ms, 0.5 * device_ms, 0.05 * device_ms);
  EXPECT_EQ(truth.faults[0].ranks, std::vector<int>{1});
  ASSERT_EQ(truth.faults[0].victims.size(), 1u);
  EXPECT_EQ(truth.faults[0].victims.at(0).behind, 1);
  EXPECT_EQ(truth.faults[0].victims.at(0).waits_in, "dp");
  EXPECT_EQ(truth.faults[0].steps.size(), 4u);
}

// The loop waits for the loss in every step, so the host has no lead: what one rank's loader takes longer, all steps
// do.
TEST(Fault, SlowLoaderCostsWhatItTakes) {
  for (const char* backend : {"nccl", "gloo"}) {
    const Truth truth =
        TruthOf(Quiet("dp=4,backend=" + std::string(backend) + ",fault=slow_dataloader:rank=2:size=20"));
    EXPECT_NEAR(truth.faults[0].magnitude_ms, 20, 0.001) << backend;
    EXPECT_NEAR(truth.faults[0].recoverable_ms, 20, 0.3) << backend;
    EXPECT_EQ(truth.faults[0].victims.size(), 3u) << backend;
  }
}

TEST(Fault, APauseStrikesOneStep) {
  const Truth truth = TruthOf(Quiet("dp=2,fault=process_pause:rank=0:size=50"));
  EXPECT_EQ(truth.faults[0].steps, std::vector<int>{4});  // the middle of the steps 2 to 5
  // The host is ahead of its device when it is stopped: the pause costs what is left of it once the device runs dry.
  EXPECT_GT(truth.faults[0].struck_step_ms, 20);
  EXPECT_LT(truth.faults[0].struck_step_ms, 50.001);
  EXPECT_NEAR(truth.faults[0].recoverable_ms, truth.faults[0].struck_step_ms / 4, 1e-9);
}

TEST(Fault, PatternsInTime) {
  FaultSpec fault = *ParseFault("gc_pause:rank=0:onset=3:every=2");
  std::vector<double> strengths;
  for (int step = 0; step < 8; ++step) strengths.push_back(Strength(fault, step));
  EXPECT_EQ(strengths, (std::vector<double>{0, 0, 0, 1, 0, 1, 0, 1}));
  fault = *ParseFault("slow_compute:rank=0:sawtooth=4");
  strengths.clear();
  for (int step = 0; step < 6; ++step) strengths.push_back(Strength(fault, step));
  EXPECT_EQ(strengths, (std::vector<double>{0.25, 0.5, 0.75, 1, 0.25, 0.5}));
}

// Two experts' ranks share the tokens: what the hot one gets more, the other gets less.
TEST(Fault, ExpertsShareTheTokens) {
  const JobSpec spec = Quiet("dp=2,ep=2,fault=data_imbalance:rank=1:size=0.5");
  const Mesh mesh(2, 1, 1, 2, 8);
  const FaultPlan plan(spec, mesh);
  EXPECT_DOUBLE_EQ(plan.Expert(1, 2), 1.5);
  EXPECT_DOUBLE_EQ(plan.Expert(0, 2), 0.5);
}

TEST(Fault, LongSequencesStrikeAnotherReplicaInEachStep) {
  const JobSpec spec = Quiet("dp=4,steps=12,fault=data_imbalance_random:size=0.4");
  const Truth truth = TruthOf(spec);
  EXPECT_TRUE(truth.faults[0].ranks.empty());
  const Mesh mesh(4, 1, 1, 1, 8);
  const FaultPlan plan(spec, mesh);
  std::set<int> hit;
  for (int step = 2; step < 14; ++step) {
    ASSERT_EQ(plan.Struck(0, step).size(), 1u);
    hit.insert(plan.Struck(0, step)[0]);
  }
  EXPECT_GE(hit.size(), 3u);
}

TEST(Fault, SizeIsFoundForAWantedEffect) {
  for (const char* fault : {"slow_compute:rank=1:effect=10", "slow_dataloader:rank=0:effect=10",
                            "slow_fabric:effect=10", "data_imbalance_random:effect=10"}) {
    const Truth truth = TruthOf(*Validated(*ParseSpec("dp=4,steps=8,layer_mb=100,fault=" + std::string(fault))));
    EXPECT_NEAR(truth.faults[0].effect_over_noise, 10, 0.5) << fault;
  }
}

// What a fault costs in the presence of another is what the job gains when this one alone is removed.
TEST(Fault, TwoFaultsAreMeasuredOneByOne) {
  const Truth truth = TruthOf(
      Quiet("dp=2,fault=slow_dataloader:rank=0:size=10,fault=slow_function:rank=0:size=5:function=augment_batch"));
  ASSERT_EQ(truth.faults.size(), 2u);
  EXPECT_NEAR(truth.faults[0].recoverable_ms, 10, 0.1);
  EXPECT_NEAR(truth.faults[1].recoverable_ms, 5, 0.1);
  EXPECT_NEAR(truth.recoverable_ms, 15, 0.1);
}

TEST(Spec, RejectsWhatCannotBe) {
  for (const char* text : {"dp=0", "dp=3,ep=2", "layers=5,pp=2", "fault=slow_compute:rank=9",
                           "fault=stage_imbalance:stage=0", "fault=slow_compute", "backend=gloo,fault=unpinned_copy"}) {
    Result<JobSpec> spec = ParseSpec(text);
    EXPECT_FALSE(spec && Validated(*spec)) << text;
  }
  EXPECT_FALSE(ParseSpec("dp=x"));
  EXPECT_FALSE(ParseSpec("nothing=1"));
  EXPECT_FALSE(ParseSpec("fault=nothing"));
}

TEST(Spec, TextGivesTheSameSpec) {
  const std::string text = "seed=7,dp=4,pp=2,backend=gloo,stacks=1,fault=slow_compute:rank=3:every=2:size=0.5";
  EXPECT_EQ(SpecText(*ParseSpec(text)), text);
}

}  // namespace
}  // namespace headway::synth
