// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pattern/hwp_functions.h"
#include "pattern/hwp_wrap.h"

namespace headway::pattern::hwp {
namespace {

// The time that `step` has in no class but the last: what the last one usually is.
int64_t Unclassed(const Step& step) {
  int64_t rest = WrapSubtract(step.end, step.start);
  for (size_t c = 0; c + 1 < step.by_class.size(); ++c) rest = WrapSubtract(rest, step.by_class[c]);
  return rest;
}

// Each number as its difference to the one it usually equals or follows.
Step Predicted(Step step, const Step& before) {
  step.by_class.back() = WrapSubtract(step.by_class.back(), Unclassed(step));
  step.longest_stretch_start = WrapSubtract(step.longest_stretch_start, step.start);
  step.marked_end = WrapSubtract(step.marked_end, step.end);
  step.end = WrapSubtract(step.end, step.start);
  step.start = WrapSubtract(step.start, before.end);
  step.number = WrapSubtract(step.number, before.number);
  return step;
}

void Undo(Step* step, const Step& before) {
  step->number = WrapAdd(step->number, before.number);
  step->start = WrapAdd(step->start, before.end);
  step->end = WrapAdd(step->end, step->start);
  step->marked_end = WrapAdd(step->marked_end, step->end);
  step->longest_stretch_start = WrapAdd(step->longest_stretch_start, step->start);
  step->by_class.back() = WrapAdd(step->by_class.back(), Unclassed(*step));
}

// Calls visit with an accessor of each field, in the order of the columns.
template <typename Visit>
void ForEachField(Visit visit) {
  visit([](auto& s) -> auto& { return s.number; });
  visit([](auto& s) -> auto& { return s.start; });
  visit([](auto& s) -> auto& { return s.end; });
  visit([](auto& s) -> auto& { return s.marked_end; });
  for (size_t c = 0; c < kWorkClasses; ++c) visit([c](auto& s) -> auto& { return s.by_class[c]; });
  visit([](auto& s) -> auto& { return s.longest_stretch; });
  visit([](auto& s) -> auto& { return s.longest_stretch_start; });
  visit([](auto& s) -> auto& { return s.longest_stretch_function; });
  visit([](auto& s) -> auto& { return s.host_stretch; });
  visit([](auto& s) -> auto& { return s.host_stretch_function; });
  visit([](auto& s) -> auto& { return s.launches; });
  visit([](auto& s) -> auto& { return s.device_rows; });
  visit([](auto& s) -> auto& { return s.syncs; });
  visit([](auto& s) -> auto& { return s.sync_time; });
  visit([](auto& s) -> auto& { return s.launch_delay; });
  visit([](auto& s) -> auto& { return s.comm_overlapped; });
}

}  // namespace

void WriteStepColumns(const std::vector<Step>& steps, ColumnWriter* columns) {
  std::vector<Step> predicted;
  predicted.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) predicted.push_back(Predicted(steps[i], i == 0 ? Step() : steps[i - 1]));
  std::vector<int64_t> values(steps.size());
  ForEachField([&](auto field) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = field(predicted[i]);
    columns->Row(values);
  });
}

bool ReadStepColumns(uint64_t count, ColumnReader* columns, DecodeBudget* budget, std::vector<Step>* steps) {
  if (count > columns->MostValues() || !budget->Take(count, sizeof(Step))) return false;
  steps->resize(static_cast<size_t>(count));
  std::vector<int64_t> values(steps->size());
  bool fits = true;
  ForEachField([&](auto field) {
    columns->Row(values);
    for (size_t i = 0; i < values.size(); ++i) {
      auto& to = field((*steps)[i]);
      to = static_cast<std::remove_reference_t<decltype(to)>>(values[i]);
      fits &= to == values[i];
    }
  });
  for (size_t i = 0; i < steps->size(); ++i) Undo(&(*steps)[i], i == 0 ? Step() : (*steps)[i - 1]);
  return fits && !columns->failed();
}

std::string WriteStepSlices(const std::vector<Step>& steps) {
  std::string out;
  for (const Step& step : steps) out.append(step.behind_host.begin(), step.behind_host.end());
  return out.find_first_not_of('\0') == std::string::npos ? std::string() : out;
}

bool ReadStepSlices(std::string_view block, std::vector<Step>* steps) {
  if (block.empty()) return true;
  if (block.size() != steps->size() * kStepSlices) return false;
  for (Step& step : *steps) {
    std::copy_n(block.begin(), kStepSlices, step.behind_host.begin());
    block.remove_prefix(kStepSlices);
  }
  return true;
}

}  // namespace headway::pattern::hwp
