// SPDX-License-Identifier: Apache-2.0
// Ranks whose own time is longer than their peers', and in which steps.
#pragma once

#include <set>
#include <vector>

#include "diagnose/analysis.h"
#include "diagnose/work_classes.h"

namespace headway::diagnose {

struct Suspect {
  size_t rank = 0;
  std::vector<Nanos> cost;             // by axis step: beyond the peers; 0 = not struck
  Nanos total = 0;                     // sum of `cost`
  size_t struck = 0;                   // steps above zero
  const ExcessTable* table = nullptr;  // what `cost` is taken from
  bool is_part = false;                // another cause strikes the rank too: which steps are whose is settled
  WorkClasses classes = kAllWork;      // the work it is about
  FunctionView::Node within = -1;      // the function it is about; -1 = any
  std::vector<size_t> shared;          // steps that both strike: what the rank does in them says nothing of this one

  // Sets `cost`, and the other two by it. What is not above zero strikes nothing.
  void SetCost(std::vector<Nanos> by_step);
  // Takes as much of a step as there is; returns what that was.
  Nanos Take(size_t step, Nanos amount);

  [[nodiscard]] std::vector<size_t> StruckSteps() const;
  // Those that tell what it is about: not the shared ones, unless there are no others.
  [[nodiscard]] std::vector<size_t> TellingSteps() const;
};

// `table`: what `cost` is taken from; it has to outlive the suspect.
[[nodiscard]] Suspect MakeSuspect(size_t rank, const ExcessTable& table, std::vector<Nanos> cost);

// Middle one of those costs that are `least` or more; 0 of none.
[[nodiscard]] Nanos MedianOfStruck(const std::vector<Nanos>& cost, Nanos least);

// The rank in single steps: those whose excess (of a rank that is usually ahead of its peers: beyond its usual one)
// stands out of the noise of a step (the table's, or `noise`) and of 1 % of the step.
[[nodiscard]] Suspect StrikeSingleSteps(const Job& job, const ExcessTable& table, size_t rank);
[[nodiscard]] Suspect StrikeSingleSteps(const Job& job, const ExcessTable& table, size_t rank, Nanos noise);

// Longest first, ties by rank. Of a job with devices, ranks that are not suspect by all of their own time are looked at
// beside what their device computes. A rank is suspect
//   - in single steps, where its excess stands out of the noise of a step (and of 1 % of the step), if that adds up to
//     half a per cent of the window, stands out far in one step, or (with devices) well in three and in
//     one of twenty;
//   - over all steps, where its usual excess stands out of its peers' and of what the mean over the steps can be off
//   by.
[[nodiscard]] std::vector<Suspect> FindSuspects(const AnalysisInput& in);

// Where several ranks of a class are slow they hide one that is less so: how far the class is apart says nothing any
// more. Looks at the others again without those `found` (and without those that are `explained` otherwise); where under
// four are left, only one of them counts, and only if its own other steps show it. `table`:
// what the new suspects' costs are taken from; it has to outlive them. Longest first.
[[nodiscard]] std::vector<Suspect> LookAgain(const AnalysisInput& in, const std::vector<Suspect>& found,
                                             const std::set<size_t>& explained, ExcessTable* table);

}  // namespace headway::diagnose
