// SPDX-License-Identifier: Apache-2.0
#include "pattern/step_numbers.h"

#include <charconv>
#include <cstddef>

namespace headway::pattern {
namespace {

constexpr int64_t kUnknown = -1;

int64_t NumberIn(std::string_view name) {
  const size_t hash = name.rfind('#');
  if (hash == std::string_view::npos) return kUnknown;
  int64_t number = kUnknown;
  const auto [end, error] = std::from_chars(name.data() + hash + 1, name.data() + name.size(), number);
  return error == std::errc() && number >= 0 && number <= kLargestStepNumber ? number : kUnknown;
}

}  // namespace

StepNumbers NumberSteps(const std::vector<std::string_view>& names) {
  StepNumbers out;
  for (const std::string_view name : names) {
    out.of_mark.push_back(NumberIn(name));
    out.written.push_back(out.of_mark.back() != kUnknown);
  }
  for (size_t i = 0, j = 0; i < names.size(); i = j) {
    j = i + 1;
    if (out.of_mark[i] != kUnknown) continue;
    int64_t steps = 1;
    for (; j < names.size() && out.of_mark[j] == kUnknown; ++j) steps += names[j] != names[j - 1] ? 1 : 0;
    const bool has_next = j < names.size();
    int64_t next = 0;  // of the first of these steps
    if (i > 0) {
      next = out.of_mark[i - 1] + 1;
    } else if (has_next) {
      next = out.of_mark[j] - steps;
    }
    const bool fits = next >= 0 && next <= kLargestStepNumber - steps && (!has_next || next + steps <= out.of_mark[j]);
    (fits ? out.guessed : out.left_out) += steps;
    std::string& first_name = fits ? out.guessed_name : out.left_out_name;
    if (first_name.empty()) first_name = names[i];
    for (size_t k = i; k < j && fits; ++k) {
      if (k > i && names[k] != names[k - 1]) ++next;
      out.of_mark[k] = next;
    }
  }
  return out;
}

}  // namespace headway::pattern
