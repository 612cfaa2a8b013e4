// SPDX-License-Identifier: Apache-2.0
#include "diagnose/job.h"

#include <algorithm>
#include <map>
#include <set>

#include "diagnose/common_steps.h"
#include "diagnose/coordinates.h"
#include "diagnose/last_step.h"
#include "diagnose/off_clock.h"
#include "diagnose/one_job.h"
#include "diagnose/peers.h"

namespace headway::diagnose {

using pattern::RankPattern;
using pattern::Step;

Nanos OwnTime(const Step& step) {
  return step.end - step.start - step.by_class[static_cast<size_t>(pattern::WorkClass::kCommunication)];
}

Nanos AlignedEnd(const Job& job, const trace::CollectiveMember& member) {
  const auto rank = static_cast<size_t>(member.rank_index);
  const auto clock = static_cast<size_t>(job.comms.clock_of_rank[rank]);
  const auto& rows = job.ranks[rank].comms.instances;
  return trace::Align(job.comms.clocks[clock], rows[static_cast<size_t>(member.instance)].end);
}

namespace {

void FillSteps(Job* job) {
  job->step_index.assign(job->ranks.size() * job->steps.size(), -1);
  for (size_t r = 0; r < job->ranks.size(); ++r) {
    for (size_t i = 0; i < job->ranks[r].steps.size(); ++i) {
      const int64_t number = job->ranks[r].steps[i].number;
      const auto it = std::lower_bound(job->steps.begin(), job->steps.end(), number);
      if (it == job->steps.end() || *it != number) continue;
      if (LastsThroughOthers(job->ranks[r], i, job->steps)) continue;
      job->step_index[r * job->steps.size() + static_cast<size_t>(it - job->steps.begin())] = static_cast<int32_t>(i);
    }
  }
  for (size_t s = 0; s < job->num_steps(); ++s) {
    Nanos sum = 0;
    int64_t count = 0;
    for (size_t r = 0; r < job->num_ranks(); ++r) {
      const Step* step = job->StepOf(r, s);
      if (step == nullptr) continue;
      sum += step->end - step->start;
      ++count;
    }
    job->step_time.push_back(count > 0 ? sum / count : 0);
  }
  // The last step ends where the ranks last met, so it is no whole step; left out of the typical length.
  std::vector<Nanos> sorted = job->step_time;
  if (sorted.size() >= 3) sorted.pop_back();
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) {
    job->median_step = sorted[sorted.size() / 2];
    job->p95_step = sorted[std::min(sorted.size() - 1, sorted.size() * 95 / 100)];
  }
}

// World sizes beyond this are taken for damage: no list of missing ranks is made of them.
constexpr int32_t kLargestWorld = 4'000'000;

void FillWorld(Job* job) {
  std::set<int32_t> sizes;
  for (const RankPattern& rank : job->ranks) {
    const int32_t world = rank.meta.world_size > kLargestWorld ? 0 : rank.meta.world_size;
    if (world > 0) sizes.insert(world);
    job->world_size = std::max({job->world_size, world, rank.meta.rank + 1});
  }
  if (sizes.size() > 1) {
    job->doubts.push_back("the traces name world sizes from " + std::to_string(*sizes.begin()) + " to " +
                          std::to_string(*sizes.rbegin()) + ": they may be of different jobs");
  }
  size_t next = 0;
  for (RankId rank = 0; rank < job->world_size; ++rank) {
    while (next < job->ranks.size() && job->ranks[next].meta.rank < rank) ++next;
    if (next >= job->ranks.size() || job->ranks[next].meta.rank != rank) job->missing.push_back(rank);
  }
}

}  // namespace

Job JoinJob(std::vector<RankPattern> ranks, int threads) {
  Job job;
  job.ranks = std::move(ranks);
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankPattern& a, const RankPattern& b) { return a.meta.rank < b.meta.rank; });
  FillWorld(&job);
  SettleLastSteps(&job.ranks);
  if (std::string why = DropOffClock(&job.ranks); !why.empty()) job.doubts.push_back(std::move(why));
  CommonSteps common = KeepCommonSteps(&job.ranks);
  job.steps = std::move(common.numbers);
  job.steps_apart = std::move(common.apart);
  job.doubts.insert(job.doubts.end(), common.damage.begin(), common.damage.end());
  if (!job.steps_apart.empty()) job.doubts.push_back(job.steps_apart);
  FillSteps(&job);
  // JoinComms reads the rows in place: they are moved out of the patterns and back.
  std::vector<trace::RankComms> comms;
  comms.reserve(job.ranks.size());
  for (RankPattern& rank : job.ranks) comms.push_back(std::move(rank.comms));
  job.comms = trace::JoinComms(comms, job.world_size, threads);
  for (size_t r = 0; r < job.ranks.size(); ++r) job.ranks[r].comms = std::move(comms[r]);
  job.graph = graph::BuildSegmentGraph(job.ranks, job.comms, threads);
  if (std::string doubt = WhyNotOneJob(job); !doubt.empty()) job.doubts.push_back(std::move(doubt));
  job.base = replay::ReplaySegments(job.graph);
  job.replay_error = replay::CompareSteps(job.graph, job.base, job.ranks);
  job.coordinates = InferCoordinates(job.ranks, job.comms);
  job.peer_class = PeerClasses(job.ranks, job.coordinates, threads);
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const auto c = static_cast<size_t>(job.peer_class[r]);
    if (job.classes.size() <= c) job.classes.resize(c + 1);
    job.classes[c].push_back(static_cast<int32_t>(r));
  }
  return job;
}

}  // namespace headway::diagnose
