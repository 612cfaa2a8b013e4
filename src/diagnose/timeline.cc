// SPDX-License-Identifier: Apache-2.0
#include "diagnose/timeline.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/rank_intervals.h"

namespace headway::diagnose {

using report::Mark;
using report::TimeClass;
using report::Timeline;

namespace {

constexpr size_t kMaxVictims = 2;
constexpr size_t kMaxPeers = 2;

struct Shown {
  size_t rank = 0;
  Mark mark = Mark::kNone;
};

std::vector<Shown> WhoToShow(const Job& job, const report::Finding& finding) {
  std::vector<Shown> shown;
  const auto has = [&shown](size_t r) {
    return std::any_of(shown.begin(), shown.end(), [r](const Shown& s) { return s.rank == r; });
  };
  std::map<RankId, size_t> index;
  for (size_t r = 0; r < job.num_ranks(); ++r) index[job.ranks[r].meta.rank] = r;
  // An end of a link may have no trace.
  for (const RankId rank : finding.scope.ranks) {
    if (shown.size() < 2 && index.count(rank) > 0) shown.push_back({index.at(rank), Mark::kCulprit});
  }
  size_t victims = 0;
  for (const RankId rank : finding.victims) {
    if (victims++ < kMaxVictims && index.count(rank) > 0) shown.push_back({index.at(rank), Mark::kVictim});
  }
  if (shown.empty()) return shown;
  size_t peers = 0;
  for (const int32_t p : job.classes[static_cast<size_t>(job.peer_class[shown.front().rank])]) {
    const auto r = static_cast<size_t>(p);
    if (peers < kMaxPeers && !has(r)) {
      shown.push_back({r, Mark::kPeer});
      ++peers;
    }
  }
  return shown;
}

Nanos StepStart(const Job& job, size_t rank, size_t step) {
  const pattern::Step* s = job.StepOf(rank, step);
  return s == nullptr ? 0 : Align(job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[rank])], s->start);
}

class Painter {
 public:
  Painter(const Job& job, Nanos from, Nanos to) : job_(job), from_(from), to_(to) {
    picture_.origin = from;
    picture_.length = to - from;
  }

  uint32_t AddLane(const std::string& owner, const std::string& label, RankId rank, Mark mark) {
    picture_.lanes.push_back({owner, label, rank, mark});
    return static_cast<uint32_t>(picture_.lanes.size() - 1);
  }
  void AddRect(uint32_t lane, Nanos start, Nanos end, TimeClass time_class, const std::string& name, Mark mark) {
    start = std::max(start, from_);
    end = std::min(end, to_);
    if (end <= start || picture_.rects.size() >= Timeline::kMaxRects) return;
    picture_.rects.push_back({lane, start - from_, end - start, time_class, Name(name), mark});
  }
  // From the latest arriver, where it is shown, to a rank that waited for it.
  void AddArrow(uint32_t from_lane, uint32_t to_lane, Nanos at, const std::string& name) {
    if (at < from_ || at > to_ || picture_.arrows.size() >= 500) return;
    picture_.arrows.push_back({from_lane, to_lane, at - from_, at - from_, Name(name)});
  }
  Timeline& picture() { return picture_; }
  [[nodiscard]] const Job& job() const { return job_; }

 private:
  uint32_t Name(const std::string& name) {
    const auto [it, fresh] = names_.try_emplace(name, static_cast<uint32_t>(picture_.names.size()));
    if (fresh) picture_.names.push_back(name);
    return it->second;
  }
  const Job& job_;
  Nanos from_, to_;
  Timeline picture_;
  std::map<std::string, uint32_t> names_;
};

TimeClass ClassOf(IntervalKind kind) {
  return kind == IntervalKind::kOwn    ? TimeClass::kOwn
         : kind == IntervalKind::kWait ? TimeClass::kWait
                                       : TimeClass::kTransfer;
}

void PaintRank(Painter* painter, const Shown& shown, const std::map<int32_t, uint32_t>& own_lanes, uint32_t own_lane) {
  const Job& job = painter->job();
  const std::span<const int32_t> collective_of = job.graph.CollectivesOfRows(shown.rank);
  const pattern::RankPattern& pattern = job.ranks[shown.rank];
  for (const Interval& interval : RankIntervals(job, shown.rank)) {
    const std::string name =
        interval.kind == IntervalKind::kOwn ? "own time" : CollectiveName(job, interval.collective);
    painter->AddRect(own_lane, interval.start, interval.end, ClassOf(interval.kind), name, shown.mark);
    if (interval.kind != IntervalKind::kWait || interval.collective < 0) continue;
    const auto from = own_lanes.find(job.graph.collectives[static_cast<size_t>(interval.collective)].last_rank);
    if (from != own_lanes.end() && from->second != own_lane)
      painter->AddArrow(from->second, own_lane, interval.end, name);
  }
  const uint32_t comm_lane = own_lane + 1;
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[shown.rank])];
  for (size_t i = 0; i < pattern.comms.instances.size(); ++i) {
    const trace::CommInstance& row = pattern.comms.instances[i];
    painter->AddRect(comm_lane, Align(clock, row.start), Align(clock, row.end), TimeClass::kTransfer,
                     CollectiveName(job, collective_of[i]), Mark::kNone);
  }
}

}  // namespace

std::string CollectiveName(const Job& job, int32_t c) {
  if (c < 0) return "communication (not paired)";
  const trace::Collective& collective = job.comms.collectives[static_cast<size_t>(c)];
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(collective.group)];
  std::string name = trace::ToString(collective.op);
  if (!group.desc.empty()) name += " " + group.desc;
  return name + " [" + FormatRanks(group.ranks, 4) + "]";
}

report::Section TimelineOf(const Diagnosis& d, const report::Finding& finding, const std::string& name) {
  report::Section section;
  section.name = name;
  section.title = "Around: " + finding.headline;
  section.intro =
      "Own time, waiting and transfers on aligned clocks, in the step where it costs most. Arrows run from the "
      "latest arrival to those that waited for it.";
  const Job& job = d.job;
  const std::vector<Shown> shown = WhoToShow(job, finding);
  if (shown.empty() || job.comms.collectives.empty() || finding.cost_by_step.empty()) return section;
  const auto worst = static_cast<size_t>(std::max_element(finding.cost_by_step.begin(), finding.cost_by_step.end()) -
                                         finding.cost_by_step.begin());
  const size_t r0 = shown.front().rank;
  const pattern::Step* step = job.StepOf(r0, worst);
  if (step == nullptr) return section;
  const Nanos start = StepStart(job, r0, worst);
  const Nanos margin = (step->end - step->start) / 4;
  Painter painter(job, start - margin, start + (step->end - step->start) + margin);
  Timeline& picture = painter.picture();
  picture.finding = finding.id;
  for (const trace::HostClock& clock : job.comms.clocks)
    picture.clock_residual = std::max(picture.clock_residual, clock.residual);
  std::map<int32_t, uint32_t> lanes;
  for (const Shown& s : shown) {
    const RankId rank = job.ranks[s.rank].meta.rank;
    std::string owner = "rank " + std::to_string(rank);
    if (job.ranks[s.rank].comms.host_known) owner += " (" + job.ranks[s.rank].meta.host + ")";
    lanes[static_cast<int32_t>(s.rank)] = painter.AddLane(owner, "own / waiting", rank, s.mark);
    (void)painter.AddLane(owner, "communication", rank, Mark::kNone);
  }
  for (const Shown& s : shown) PaintRank(&painter, s, lanes, lanes[static_cast<int32_t>(s.rank)]);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const Nanos at = StepStart(job, r0, s) - picture.origin;
    if (at >= 0 && at <= picture.length) picture.ticks.push_back({at, "step #" + std::to_string(job.steps[s])});
  }
  section.body = std::move(picture);
  return section;
}

}  // namespace headway::diagnose
