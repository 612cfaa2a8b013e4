// SPDX-License-Identifier: Apache-2.0
#include "trace/problem_texts.h"

#include <algorithm>
#include <array>

namespace headway::trace {
namespace {

struct ProblemText {
  std::string_view name, done;
};

constexpr auto kProblems = std::to_array<ProblemText>({
#include "trace/data/problems.inc"
});

static_assert(std::ranges::is_sorted(kProblems, {}, &ProblemText::name));

}  // namespace

std::string_view WhatWasDone(std::string_view problem) {
  const auto* found = std::ranges::lower_bound(kProblems, problem, {}, &ProblemText::name);
  return found != kProblems.end() && found->name == problem ? found->done : std::string_view();
}

std::string KindAndWhatWasDone(std::string_view name, const Problem& problem) {
  const std::string_view done = WhatWasDone(name);
  return std::string(ToString(problem.kind)) + (done.empty() ? "" : ": ") + std::string(done);
}

}  // namespace headway::trace
