// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_validate.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace headway::pattern::hwp {
namespace {

// The structs whose fields are columns (hwp_functions.cc, hwp_steps.cc, hwp_instances): a field that is added to one of
// them stops this from compiling until the format has it.
[[maybe_unused]] void EveryField(const FunctionName& name, const FunctionTotals& totals, const FunctionStep& row,
                                 const Step& step, const trace::CommInstance& instance) {
  [[maybe_unused]] const auto& [n1, n2, n3, n4] = name;
  [[maybe_unused]] const auto& [t1, t2, t3, t4, t5] = totals;
  [[maybe_unused]] const auto& [r1, r2, r3, r4] = row;
  [[maybe_unused]] const auto& [s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, s16, s17] = step;
  [[maybe_unused]] const auto& [i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12] = instance;
}

bool Below(int64_t index, size_t size) { return index >= 0 && static_cast<uint64_t>(index) < size; }

const char* BrokenFunctionSteps(const RankPattern& p) {
  const FunctionStep* last = nullptr;
  for (const FunctionStep& row : p.function_steps) {
    if (!Below(row.step, p.steps.size())) return "a function's own time is in a step that does not exist";
    if (!Below(row.function, p.functions.size())) return "own time is of a function that does not exist";
    if (last != nullptr && (row.step < last->step || (row.step == last->step && row.function <= last->function))) {
      return "own times are not in the order of steps and functions";
    }
    last = &row;
  }
  return nullptr;
}

const char* BrokenComms(const trace::RankComms& comms) {
  for (const trace::CommInstance& c : comms.instances) {
    if (!Below(c.local_group, comms.groups.size())) return "an operation is of a group that does not exist";
    if (c.step != -1 && !Below(c.step, comms.step_numbers.size()))
      return "an operation is in a step that does not exist";
    if (c.op > trace::CommOp::kCoalesced) return "an operation is of no known kind";
  }
  return nullptr;
}

}  // namespace

const char* BrokenPromise(const FunctionTable& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].parent != -1 && !Below(table[i].parent, i)) return "a function's parent is not before it";
    if (static_cast<int>(table[i].work_class) >= kWorkClasses) return "a function is of no known class";
  }
  return nullptr;
}

const char* BrokenReference(const RankPattern& pattern) {
  if (pattern.function_table == nullptr) return "there is no function table";
  if (pattern.functions.size() != pattern.function_table->size()) return "functions and their names differ in number";
  for (const FunctionTotals& totals : pattern.functions) {
    if (!std::isfinite(totals.mu) || !std::isfinite(totals.sigma)) return "a function's utilisation is not a number";
  }
  for (const Step& step : pattern.steps) {
    for (const FunctionId f : {step.longest_stretch_function, step.host_stretch_function}) {
      if (f != -1 && !Below(f, pattern.functions.size())) {
        return "a step's longest stretch is of a function that does not exist";
      }
    }
  }
  if (pattern.comms.step_starts.size() != pattern.comms.step_numbers.size()) {
    return "steps and their starts differ in number";
  }
  return nullptr;
}

const char* BrokenPromise(const RankPattern& pattern) {
  if (const char* broken = BrokenReference(pattern)) return broken;
  if (const char* broken = BrokenFunctionSteps(pattern)) return broken;
  return BrokenComms(pattern.comms);
}

}  // namespace headway::pattern::hwp
