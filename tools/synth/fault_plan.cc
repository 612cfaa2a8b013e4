// SPDX-License-Identifier: Apache-2.0
#include "synth/fault_plan.h"

#include <algorithm>
#include <cmath>

#include "synth/draws.h"

namespace headway::synth {

FaultPlan::FaultPlan(const JobSpec& spec, const Mesh& mesh) : spec_(spec), mesh_(mesh), any_(!spec.faults.empty()) {}

bool FaultPlan::Targets(const FaultSpec& fault, int rank) const {
  if (fault.rank >= 0) return rank == fault.rank;
  if (fault.host >= 0) return mesh_.Host(rank) == fault.host;
  if (fault.stage >= 0) return mesh_.At(rank).pp == fault.stage;
  return true;
}

double FaultPlan::Total(FaultKind kind, int rank, int step) const {
  double total = 0;
  if (!any_) return total;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind == kind && Targets(fault, rank)) total += fault.size * Strength(fault, step);
  }
  return total;
}

Time FaultPlan::Added(FaultKind kind, int rank, int step) const {
  return any_ ? std::llround(Total(kind, rank, step) * 1e6) : 0;
}

int FaultPlan::LongReplica(int step) const {
  return static_cast<int>(Uniform(Key(spec_.noise_seed(), 0x105e9, step)) * spec_.dp);
}

double FaultPlan::Kernel(int rank, int step) const {
  if (!any_) return 1;
  double factor = 1 + Total(FaultKind::kSlowCompute, rank, step);
  factor *= 1 + Total(FaultKind::kUniformSlowdown, rank, step);
  if (mesh_.At(rank).dp == LongReplica(step)) factor *= 1 + Total(FaultKind::kRandomImbalance, rank, step);
  return factor;
}

double FaultPlan::Expert(int rank, int step) const {
  if (!any_ || spec_.ep == 1) return 1;
  double factor = 1;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind != FaultKind::kExpertImbalance) continue;
    const double more = fault.size * Strength(fault, step);
    const Coordinate hot = mesh_.At(std::max(0, fault.rank));
    const Coordinate mine = mesh_.At(rank);
    // Every expert-parallel group routes its tokens alike: the hot expert's copies are hot in all of them. The
    // tokens are those of the healthy job, so the other experts get less.
    factor *= mine.ep == hot.ep ? 1 + more : std::max(0.05, 1 - more / (spec_.ep - 1));
  }
  return factor;
}

double FaultPlan::Host(int rank, int step) const { return 1 + Total(FaultKind::kSlowHost, rank, step); }

double FaultPlan::Copy(int rank, int step) const {
  return any_ ? (1 + Total(FaultKind::kSlowCopy, rank, step)) * (1 + Total(FaultKind::kUnpinnedCopy, rank, step)) : 1;
}

double FaultPlan::Fabric(int step) const {
  double factor = 1;
  if (!any_) return factor;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind == FaultKind::kSlowFabric) factor *= 1 + fault.size * Strength(fault, step);
  }
  return factor;
}

double FaultPlan::Egress(int rank, int step, bool between_hosts) const {
  double factor = 1;
  if (!any_) return factor;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind != FaultKind::kSlowLink || !Targets(fault, rank)) continue;
    if (fault.host >= 0 && !between_hosts) continue;  // the host's card carries nothing inside the host
    factor *= 1 + fault.size * Strength(fault, step);
  }
  return factor;
}

Time FaultPlan::LateEntry(int rank) const {
  double ms = 0;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind != FaultKind::kLateEntry) continue;
    ms += fault.size * Uniform(Key(spec_.noise_seed(), 0x1a7e, rank));
  }
  return std::llround(ms * 1e6);
}

Time FaultPlan::Function(int rank, int step, const std::string& name) const {
  double ms = 0;
  if (!any_) return 0;
  for (const FaultSpec& fault : spec_.faults) {
    if (fault.kind == FaultKind::kSlowFunction && fault.function == name && Targets(fault, rank)) {
      ms += fault.size * Strength(fault, step);
    }
  }
  return std::llround(ms * 1e6);
}

double FaultPlan::StageExtra(int rank, int step) const { return Total(FaultKind::kStageImbalance, rank, step); }

int FaultPlan::HiddenSyncs(int rank, int step) const {
  return static_cast<int>(std::lround(Total(FaultKind::kHiddenSync, rank, step)));
}

Time FaultPlan::PerOperation(int rank, int step) const {
  return any_ ? std::llround(Total(FaultKind::kLaunchBound, rank, step) * 1e3) : 0;
}

bool FaultPlan::Unpinned(int rank, int step) const { return Total(FaultKind::kUnpinnedCopy, rank, step) > 0; }

bool FaultPlan::LostOverlap(int step) const { return Total(FaultKind::kLostOverlap, 0, step) > 0; }

int FaultPlan::BucketsPerLayer(int step) const {
  return static_cast<int>(std::lround(Total(FaultKind::kSmallCollectives, 0, step)));
}

std::vector<int> FaultPlan::Struck(size_t index, int step) const {
  const FaultSpec& fault = spec_.faults[index];
  std::vector<int> ranks;
  if (fault.kind == FaultKind::kLateEntry ? step != spec_.warmup : Strength(fault, step) == 0) return ranks;
  for (int r = 0; r < mesh_.world(); ++r) {
    bool struck = Targets(fault, r);
    if (fault.kind == FaultKind::kExpertImbalance) struck = mesh_.At(r).ep == mesh_.At(std::max(0, fault.rank)).ep;
    if (fault.kind == FaultKind::kRandomImbalance) struck = mesh_.At(r).dp == LongReplica(step);
    if (struck) ranks.push_back(r);
  }
  return ranks;
}

bool BlamesNobody(FaultKind kind) {
  switch (kind) {
    case FaultKind::kRandomImbalance:
    case FaultKind::kLateEntry:
    case FaultKind::kSlowFabric:
    case FaultKind::kLostOverlap:
    case FaultKind::kSmallCollectives: return true;
    default: return false;
  }
}

bool IsCommonCause(const FaultSpec& fault, const Mesh& mesh) {
  const bool all_hosts = fault.host >= 0 && mesh.hosts() == 1;
  return BlamesNobody(fault.kind) || all_hosts || (fault.rank < 0 && fault.host < 0 && fault.stage < 0);
}

}  // namespace headway::synth
