// SPDX-License-Identifier: Apache-2.0
#include "tests/web/sample_timeline.h"

#include <algorithm>
#include <string>
#include <utility>

namespace headway::sample {
namespace {

using report::Mark;
using report::ReportDoc;
using report::TimeClass;
using report::Timeline;

constexpr Nanos kUs = kMicrosecond;
constexpr Nanos kMs = kMillisecond;

enum Name : uint32_t { kGemm, kAttention, kNorm, kAdam, kAllReduce, kWaits, kLaunch, kLoader, kCopy, kSync };

struct Actor {
  RankId rank;
  Mark mark;
  double compute_factor;
  Nanos input;
};

class Painter {
 public:
  Painter(Timeline* timeline, int32_t ranks_per_host) : timeline_(timeline), ranks_per_host_(ranks_per_host) {
    timeline_->names = {
        "gemm_bf16_256x128",  "flash_fwd_kernel", "layer_norm",          "fused_adam",  "AllReduce (dp group 3)",
        "waits in AllReduce", "cudaLaunchKernel", "dataloader.__next__", "Memcpy HtoD", "cudaStreamSynchronize"};
  }

  void AddActor(const Actor& actor) {
    const std::string owner = "rank " + std::to_string(actor.rank) + " (n" +
                              std::to_string(actor.rank / ranks_per_host_) + ", gpu " +
                              std::to_string(actor.rank % ranks_per_host_) + ")";
    for (const char* label : {"compute", "communication", "host"})
      timeline_->lanes.push_back({owner, label, actor.rank, actor.mark});
  }

  // Layers forward and backward on the compute lane; returns where the last one ends.
  Nanos Compute(uint32_t lane, Nanos at, double factor, Mark mark) {
    for (int32_t layer = 0; layer < 48; ++layer) {
      const Name names[] = {kNorm, kGemm, kAttention, kGemm};
      const double us[] = {140, 2300, 1900, 1050};
      for (int32_t k = 0; k < 4; ++k) {
        const auto length = static_cast<Nanos>(us[k] * 1000 * factor);
        Add(lane, at, length, TimeClass::kCompute, names[k], k == 1 && layer % 8 == 0 ? mark : Mark::kNone);
        at += length + 6 * kUs;
      }
    }
    return at;
  }

  void Add(uint32_t lane, Nanos start, Nanos duration, TimeClass time_class, Name name, Mark mark) {
    timeline_->rects.push_back({lane, start, duration, time_class, name, mark});
    timeline_->length = std::max(timeline_->length, start + duration);
  }

  void Arrow(uint32_t from_lane, uint32_t to_lane, Nanos from, Nanos to) {
    timeline_->arrows.push_back({from_lane, to_lane, from, to, kAllReduce});
  }

 private:
  Timeline* timeline_;
  int32_t ranks_per_host_;
};

// One step of all actors from `start`; returns its end. The all-reduce moves data once the last one has arrived.
Nanos PaintStep(Painter* painter, const std::vector<Actor>& actors, Nanos start) {
  std::vector<Nanos> arrivals;
  for (size_t a = 0; a < actors.size(); ++a) {
    const auto lane = static_cast<uint32_t>(3 * a);
    Nanos at = start + 2 * kMs;
    painter->Add(lane + 2, start, actors[a].input + kMs, TimeClass::kInput, kLoader,
                 actors[a].input > 50 * kMs ? actors[a].mark : Mark::kNone);
    at += actors[a].input;
    painter->Add(lane, at - kMs, 700 * kUs, TimeClass::kMemory, kCopy, Mark::kNone);
    const Nanos end = painter->Compute(lane, at, actors[a].compute_factor,
                                       actors[a].compute_factor > 1.1 ? actors[a].mark : Mark::kNone);
    for (Nanos t = at; t < end - 20 * kMs; t += 9 * kMs)
      painter->Add(lane + 2, t, 3 * kMs, TimeClass::kHost, kLaunch, Mark::kNone);
    painter->Add(lane + 2, end - 18 * kMs, 18 * kMs, TimeClass::kHost, kSync, Mark::kNone);
    arrivals.push_back(end + 300 * kUs);
  }
  const auto last = static_cast<size_t>(std::ranges::max_element(arrivals) - arrivals.begin());
  const Nanos finish = arrivals[last] + 24 * kMs;
  for (size_t a = 0; a < actors.size(); ++a) {
    const auto lane = static_cast<uint32_t>(3 * a);
    const Nanos wait = arrivals[last] - arrivals[a];
    if (wait > 0)
      painter->Add(lane + 1, arrivals[a], wait, TimeClass::kWait, kWaits,
                   wait > 20 * kMs && actors[a].mark == Mark::kVictim ? Mark::kVictim : Mark::kNone);
    painter->Add(lane + 1, arrivals[last], 24 * kMs, TimeClass::kTransfer, kAllReduce, Mark::kNone);
    painter->Add(lane, finish, 6 * kMs, TimeClass::kCompute, kAdam, Mark::kNone);
    if (wait > 20 * kMs) painter->Arrow(static_cast<uint32_t>(3 * last) + 1, lane + 1, arrivals[last], arrivals[last]);
  }
  return finish + 8 * kMs;
}

void AddTimeline(const char* name, const char* finding, const std::vector<Actor>& actors, int32_t ranks_per_host,
                 int64_t step, ReportDoc* doc) {
  Timeline timeline;
  timeline.finding = finding;
  timeline.origin = 1'762'165'843'120'004'511;
  timeline.clock_residual = 4'100;
  Painter painter(&timeline, ranks_per_host);
  for (const Actor& actor : actors) painter.AddActor(actor);
  Nanos at = 0;
  for (int64_t s = 0; s < 2; ++s) {
    timeline.ticks.push_back({at, "step #" + std::to_string(step + s)});
    at = PaintStep(&painter, actors, at);
  }
  timeline.length = at;
  doc->sections.push_back(
      {name, "Timeline", "The culprit, two peers and a victim on one clock.", std::move(timeline), false});
}

}  // namespace

void AddTimelines(int32_t ranks, int32_t ranks_per_host, ReportDoc* doc) {
  const Nanos usual = kMs;
  AddTimeline("timeline", "slow-device-19",
              {{19, Mark::kCulprit, 1.31, usual},
               {18, Mark::kPeer, 1.0, usual},
               {20, Mark::kPeer, 1.004, usual},
               {ranks - 1, Mark::kVictim, 0.998, usual}},
              ranks_per_host, doc->steps[2], doc);
  AddTimeline("timeline-2", "slow-input-n5",
              {{42, Mark::kCulprit, 1.0, 96 * kMs},
               {43, Mark::kCulprit, 1.0, 94 * kMs},
               {12, Mark::kVictim, 1.0, usual},
               {3, Mark::kVictim, 1.0, usual}},
              ranks_per_host, doc->steps[doc->steps.size() / 2], doc);
}

}  // namespace headway::sample
