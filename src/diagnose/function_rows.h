// SPDX-License-Identifier: Apache-2.0
// Functions over all ranks: those that hold a share of the window worth listing, and what each rank measured of them.
#pragma once

#include <string>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// Functions of two classes (which may be one), each on its own or summed by name, whatever called them.
struct FunctionKind {
  pattern::WorkClass a, b;
  bool by_name = false;
};

struct FunctionSample {  // one function on one rank
  size_t rank = 0;       // rank index
  double beta = 0;       // uncovered time / window
  double mu = 0, sigma = 0;
  Nanos mean_execution = 0;
  double calls_per_step = 0;
};

struct FunctionRow {
  std::string path;
  std::string resource;
  std::vector<FunctionSample> samples;  // by rank; ranks that did not call it are left out
  double median_beta = 0;               // over all ranks of the job
};

// For each kind the functions whose beta is at least `least_beta` on some rank, by median beta, largest first; of
// equals by path. O(functions x ranks), twice; memory for what is listed only. The answer does not depend on `threads`.
[[nodiscard]] std::vector<std::vector<FunctionRow>> CollectFunctionRows(const Job& job,
                                                                        const std::vector<FunctionKind>& kinds,
                                                                        double least_beta, int threads);

}  // namespace headway::diagnose
