// SPDX-License-Identifier: Apache-2.0
// What the planted faults do to a rank in a step. With no faults everything is 1, 0 or false.
#pragma once

#include <string>
#include <vector>

#include "synth/engine.h"
#include "synth/mesh.h"
#include "synth/spec.h"

namespace headway::synth {

class FaultPlan {
 public:
  FaultPlan(const JobSpec& spec, const Mesh& mesh);

  // Factors on durations.
  double Kernel(int rank, int step) const;  // device work (gloo: compute operations)
  double Expert(int rank, int step) const;  // the experts' part of it
  double Host(int rank, int step) const;    // everything the host does
  double Copy(int rank, int step) const;    // host to device
  double Fabric(int step) const;
  // What leaves the rank; `between_hosts`: over the host's network card.
  double Egress(int rank, int step, bool between_hosts) const;

  // Time added once per step, in ns.
  Time Loader(int rank, int step) const { return Added(FaultKind::kSlowLoader, rank, step); }
  Time Gc(int rank, int step) const { return Added(FaultKind::kGcPause, rank, step); }
  Time Pause(int rank, int step) const { return Added(FaultKind::kProcessPause, rank, step); }
  Time Checkpoint(int rank, int step) const { return Added(FaultKind::kCheckpointStall, rank, step); }
  Time Compile(int rank, int step) const { return Added(FaultKind::kCompileStall, rank, step); }
  Time LateEntry(int rank) const;
  // The slow function that the rank calls in this step, by name; 0 ns where none of that name is struck.
  Time Function(int rank, int step, const std::string& name) const;

  double StageExtra(int rank, int step) const;  // further layers' work as a share of the stage's own
  int HiddenSyncs(int rank, int step) const;    // per micro-batch
  Time PerOperation(int rank, int step) const;  // added to every operation of the host
  bool Unpinned(int rank, int step) const;
  bool LostOverlap(int step) const;
  int BucketsPerLayer(int step) const;  // 0: as the job is set

  // The ranks that fault i strikes in a step; empty where it does not.
  std::vector<int> Struck(size_t fault, int step) const;
  // Which replica got the long sequences.
  int LongReplica(int step) const;

 private:
  // Sum over faults of the kind of size * strength where the rank is a target.
  double Total(FaultKind kind, int rank, int step) const;
  Time Added(FaultKind kind, int rank, int step) const;
  bool Targets(const FaultSpec& fault, int rank) const;

  const JobSpec& spec_;
  const Mesh& mesh_;
  bool any_;
};

// Whether there is no rank to blame, as everything or another rank in each step is struck.
bool BlamesNobody(FaultKind kind);
// Whether comparing ranks cannot show the fault: nobody is to blame, or all ranks are struck alike.
bool IsCommonCause(const FaultSpec& fault, const Mesh& mesh);

}  // namespace headway::synth
