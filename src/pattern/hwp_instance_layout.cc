// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_instance_layout.h"

#include <cstddef>

namespace headway::pattern::hwp {
namespace {

constexpr uint32_t kNoRow = UINT32_MAX;

int64_t FloorDivide(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

}  // namespace

uint32_t AssignRows(RowRule rule, std::span<const uint32_t> key_of, std::span<const int64_t> run_lengths,
                    uint32_t key_count, std::vector<uint32_t>* row_of) {
  row_of->assign(key_of.begin(), key_of.end());
  if (rule == RowRule::kKey) return key_count;
  std::vector<uint32_t> first(key_count, kNoRow);   // the key's row of ordinal 0
  std::vector<uint32_t> latest(key_count, kNoRow);  // the key's row used last in run `stamp`
  std::vector<size_t> stamp(key_count, 0);
  std::vector<uint32_t> after;  // row -> the row of the same key with the next ordinal
  size_t i = 0;
  size_t run = 0;
  for (const int64_t length : run_lengths) {
    ++run;
    for (const size_t end = i + static_cast<size_t>(length); i < end; ++i) {
      const uint32_t key = key_of[i];
      const bool seen = stamp[key] == run;
      stamp[key] = run;
      uint32_t row = seen ? after[latest[key]] : first[key];
      if (row == kNoRow) {
        row = static_cast<uint32_t>(after.size());
        after.push_back(kNoRow);
        (seen ? after[latest[key]] : first[key]) = row;
      }
      latest[key] = row;
      (*row_of)[i] = row;
    }
  }
  return static_cast<uint32_t>(after.size());
}

StartPredictor::StartPredictor(StartRule rule, const TickGrid& grid, const trace::RankComms& comms)
    : rule_(rule), grid_(grid), comms_(comms), group_end_(comms.groups.size()), group_run_(comms.groups.size()) {}

void StartPredictor::BeginRun(int64_t step) {
  ++run_;
  first_ = step >= 0 && static_cast<size_t>(step) < comms_.step_starts.size();
  if (first_) {
    run_start_ = FloorDivide(WrapSubtract(comms_.step_starts[static_cast<size_t>(step)], grid_.origin), grid_.tick);
  }
}

int64_t StartPredictor::Expected(int32_t group) const {
  if (first_) return run_start_;
  if (rule_ == StartRule::kLastEnd) return last_end_;
  const auto g = static_cast<size_t>(group);
  return rule_ == StartRule::kLastGroupEnd && group_run_[g] == run_ ? group_end_[g] : last_start_;
}

void StartPredictor::Add(int32_t group, int64_t start, int64_t end) {
  first_ = false;
  last_start_ = start;
  last_end_ = end;
  group_end_[static_cast<size_t>(group)] = end;
  group_run_[static_cast<size_t>(group)] = run_;
}

}  // namespace headway::pattern::hwp
