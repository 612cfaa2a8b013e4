// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stages.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

#include "diagnose/excess.h"
#include "diagnose/launch_steps.h"

namespace headway::diagnose {

using pattern::WorkClass;

namespace {

// Of the ranks that have most steps the one that takes as long as the stage is taken to: what else strikes a rank is
// not told of all.
size_t SpeakerOf(const AnalysisInput& in, const Stage& stage) {
  const auto steps_of = [&](size_t r) { return in.job.ranks[r].steps.size(); };
  size_t most = 0, best = stage.ranks.front();
  for (const size_t r : stage.ranks) most = std::max(most, steps_of(r));
  Nanos least = INT64_MAX;
  for (const size_t r : stage.ranks) {
    if (steps_of(r) < most) continue;
    std::vector<Nanos> apart;
    for (size_t s = 0; s < stage.own.size(); ++s) {
      const Nanos own = in.excess.own[r * in.job.num_steps() + s];
      if (own != kNoValue && stage.own[s] != kNoValue) apart.push_back(std::abs(own - stage.own[s]));
    }
    const Nanos usual = Median(std::move(apart));
    if (usual < least) best = r;
    least = std::min(least, usual);
  }
  return best;
}

}  // namespace

std::vector<Stage> Stages(const AnalysisInput& in) {
  std::map<int32_t, Stage> stages;
  for (size_t r = 0; r < in.job.num_ranks(); ++r) {
    const int32_t number = in.job.coordinates[r].stage;
    if (number < 0) continue;
    stages[number].number = number;
    stages[number].is_number = !in.job.coordinates[r].stage_unnumbered;
    stages[number].ranks.push_back(r);
  }
  std::vector<Stage> out;
  for (auto& [number, stage] : stages) {
    for (size_t s = 0; s < in.job.num_steps(); ++s) {
      std::vector<Nanos> values;
      for (const size_t r : stage.ranks) {
        if (const Nanos own = in.excess.own[r * in.job.num_steps() + s]; own != kNoValue) values.push_back(own);
      }
      // The faster quarter of a stage speaks for it: slow ranks in it, a host of them even, are findings of their own.
      std::sort(values.begin(), values.end());
      stage.own.push_back(values.empty() ? kNoValue : values[(values.size() - 1) / 4]);
    }
    stage.speaker = SpeakerOf(in, stage);
    out.push_back(std::move(stage));
  }
  return out;
}

std::vector<Stage> WithoutWaits(const Job& job, std::vector<Stage> stages) {
  for (Stage& stage : stages) {
    const pattern::RankPattern& rank = job.ranks[stage.speaker];
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const pattern::Step* step = job.StepOf(stage.speaker, s);
      if (step == nullptr || stage.own[s] == kNoValue) continue;
      stage.own[s] -= step->by_class[static_cast<size_t>(WorkClass::kInput)];
      if (rank.has_device) stage.own[s] -= IdleBehindLaunches(rank, *step);
    }
  }
  return stages;
}

std::vector<Stage> OnlyInput(const Job& job, std::vector<Stage> stages) {
  for (Stage& stage : stages) {
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const pattern::Step* step = job.StepOf(stage.speaker, s);
      const bool known = step != nullptr && stage.own[s] != kNoValue;
      stage.own[s] = known ? step->by_class[static_cast<size_t>(WorkClass::kInput)] : kNoValue;
    }
  }
  return stages;
}

std::vector<Nanos> BeyondOthers(const Job& job, const Stage& stage, const std::vector<Stage>& stages) {
  std::vector<Nanos> out(job.num_steps(), 0);
  for (size_t s = 0; s < out.size(); ++s) {
    std::vector<Nanos> others;
    for (const Stage& other : stages) {
      if (other.number != stage.number) others.push_back(other.own[s]);
    }
    const bool known = stage.own[s] != kNoValue && std::find(others.begin(), others.end(), kNoValue) == others.end();
    out[s] = known ? stage.own[s] - Median(std::move(others)) : 0;
  }
  return out;
}

std::vector<Nanos> InputBeyondOthers(const Job& job, const Stage& stage, const std::vector<Stage>& stages) {
  const auto input = [&](const Stage& of, size_t s) {
    const pattern::Step* step = job.StepOf(of.speaker, s);
    return step == nullptr ? 0 : step->by_class[static_cast<size_t>(WorkClass::kInput)];
  };
  std::vector<Nanos> out;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    std::vector<Nanos> others;
    for (const Stage& other : stages) {
      if (other.number != stage.number) others.push_back(input(other, s));
    }
    out.push_back(std::max<Nanos>(0, input(stage, s) - Median(std::move(others))));
  }
  return out;
}

}  // namespace headway::diagnose
