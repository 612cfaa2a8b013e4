// SPDX-License-Identifier: Apache-2.0
#include "diagnose/suspects.h"

#include <algorithm>
#include <cmath>

namespace headway::diagnose {

namespace {

// How far the usual excess must lie from what chance gives, in deviations.
constexpr double kFromPeers = 3.5;
constexpr double kFromNoise = 5;

bool IsLasting(const AnalysisInput& in, size_t rank) {
  const auto c = static_cast<size_t>(in.job.peer_class[rank]);
  if (in.job.num_steps() < 3) return false;
  const double error =
      static_cast<double>(in.excess.step_noise[c]) / std::sqrt(static_cast<double>(in.job.num_steps()));
  const double level = static_cast<double>(in.excess.typical[rank]);
  return level > std::max({static_cast<double>(in.job.median_step) / 100,
                           kFromPeers * static_cast<double>(in.excess.rank_noise[c]), kFromNoise * error});
}

// Steps in which the excess reaches `least`.
Suspect Strike(const AnalysisInput& in, size_t rank, Nanos least) {
  Suspect suspect;
  suspect.rank = rank;
  suspect.cost.assign(in.job.num_steps(), 0);
  for (size_t s = 0; s < suspect.cost.size(); ++s) {
    const Nanos x = in.excess.At(rank, s);
    if (x == kNoValue || x < least || x <= 0) continue;
    suspect.cost[s] = x;
    suspect.total += x;
    ++suspect.struck;
  }
  return suspect;
}

}  // namespace

std::vector<size_t> Suspect::StruckSteps() const {
  std::vector<size_t> steps;
  for (size_t s = 0; s < cost.size(); ++s) {
    if (cost[s] > 0) steps.push_back(s);
  }
  return steps;
}

Suspect StrikeSingleSteps(const AnalysisInput& in, size_t rank) {
  const Nanos noise = in.excess.step_noise[static_cast<size_t>(in.job.peer_class[rank])];
  return Strike(in, rank, std::max(3 * noise, in.job.median_step / 100));
}

std::vector<Suspect> FindSuspects(const AnalysisInput& in) {
  std::vector<Suspect> suspects;
  const Nanos step = in.job.median_step;
  const auto steps = static_cast<Nanos>(in.job.num_steps());
  for (size_t r = 0; r < in.job.num_ranks(); ++r) {
    const auto c = static_cast<size_t>(in.job.peer_class[r]);
    if (in.job.classes[c].size() < 2) continue;
    const Nanos noise = in.excess.step_noise[c];
    Suspect suspect = StrikeSingleSteps(in, r);
    if (IsLasting(in, r)) {
      Suspect lasting = Strike(in, r, in.excess.typical[r] / 2);
      if (lasting.total > suspect.total) suspect = std::move(lasting);
    }
    const Nanos worst = steps == 0 ? 0 : *std::max_element(suspect.cost.begin(), suspect.cost.end());
    const bool far_in_one = worst >= std::max(6 * noise, step / 50);
    if (suspect.struck > 0 && (far_in_one || suspect.total >= steps * step / 200))
      suspects.push_back(std::move(suspect));
  }
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const Suspect& a, const Suspect& b) { return a.total > b.total; });
  return suspects;
}

}  // namespace headway::diagnose
