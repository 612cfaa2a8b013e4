// SPDX-License-Identifier: Apache-2.0
#include "diagnose/comparison_reserve.h"

#include <algorithm>
#include <limits>

namespace headway::diagnose {
namespace {

std::vector<std::string> OfRun(const Diagnosis& d) {
  std::vector<std::string> out;
  if (!d.blind_to.empty()) out.push_back(d.blind_to);
  const bool communicates = std::ranges::any_of(d.job.ranks, [](const auto& r) { return !r.comms.instances.empty(); });
  if (d.job.num_ranks() == 1 && communicates) {
    out.emplace_back("it holds one rank, which does not tell waiting from moving data");
  }
  out.insert(out.end(), d.job.doubts.begin(), d.job.doubts.end());
  return out;
}

}  // namespace

double AlonePerStep(const Job& job) {
  if (LacksCommunication(job)) return std::numeric_limits<double>::infinity();
  int64_t alone = job.comms.unmatched_instances;
  if (job.num_ranks() == 1) alone = std::max(alone, static_cast<int64_t>(job.ranks[0].comms.instances.size()));
  return static_cast<double>(alone) / static_cast<double>(std::max<size_t>(1, job.num_steps()));
}

std::vector<std::string> Reservations(const Diagnosis& before, const Diagnosis& after) {
  std::vector<std::string> out;
  for (const std::string& text : OfRun(before)) out.push_back("of the earlier run: " + text);
  for (const std::string& text : OfRun(after)) out.push_back("of the later run: " + text);
  return out;
}

}  // namespace headway::diagnose
