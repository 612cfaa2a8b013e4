// SPDX-License-Identifier: Apache-2.0
// What writer and reader of communication instances must do alike: which instances form a row, and which start an
// instance is expected at (docs/hwp-format.md, "Instances").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pattern/hwp_wrap.h"
#include "trace/comm.h"

namespace headway::pattern::hwp {

// Rows of the columns.
enum class RowRule : uint8_t {
  kKeyAndOrdinal,  // the k-th instance of a key in each run (step)
  kKey,            // all instances of a key: for a window that is one step
};

// A key is a distinct (group, op, bytes, peer); a run is a stretch of instances with the same step. Row numbers are
// dense in order of first appearance under kKeyAndOrdinal, the key's under kKey. Gives the number of rows. O(n).
uint32_t AssignRows(RowRule rule, std::span<const uint32_t> key_of, std::span<const int64_t> run_lengths,
                    uint32_t key_count, std::vector<uint32_t>* row_of);

// From which instant an instance's start counts.
enum class StartRule : uint8_t {
  kLastStart,     // start of the instance before
  kLastEnd,       // end of the instance before
  kLastGroupEnd,  // end of the last one of its group in this run, else as kLastStart
};
inline constexpr int kStartRules = 3;

// Where times are counted from, and in what. A folded rank's are whole ticks from its first step on, wherever its clock
// stands; others may be so from 1970 on.
struct TickGrid {
  int64_t tick = 1;
  int64_t origin = 0;  // 0 or the start of the first step

  [[nodiscard]] int64_t Ticks(int64_t time) const { return WrapSubtract(time, origin) / tick; }
  [[nodiscard]] int64_t Time(int64_t ticks) const { return WrapAdd(WrapMultiply(ticks, tick), origin); }
};
[[nodiscard]] inline int64_t FirstStep(const trace::RankComms& comms) {
  return comms.step_starts.empty() ? 0 : comms.step_starts.front();
}

// All times in ticks. The first instance of a run counts from its step's start, where that is known.
class StartPredictor {
 public:
  StartPredictor(StartRule rule, const TickGrid& grid, const trace::RankComms& comms);

  void BeginRun(int64_t step);
  [[nodiscard]] int64_t Expected(int32_t group) const;
  void Add(int32_t group, int64_t start, int64_t end);

 private:
  StartRule rule_;
  TickGrid grid_;
  const trace::RankComms& comms_;
  std::vector<int64_t> group_end_;
  std::vector<uint32_t> group_run_;  // the run that group_end_ belongs to; 0 = none yet
  uint32_t run_ = 0;
  bool first_ = false;  // of its run
  int64_t run_start_ = 0;
  int64_t last_start_ = 0;
  int64_t last_end_ = 0;
};

// How the exposed interval lies in an instance. The low bits of its state byte; the next one is `chained`.
enum class Exposure : uint8_t {
  kZero,   // exposed, exposed_begin and exposed_end are all 0
  kNone,   // exposed is 0, begin and end are the instance's start
  kWhole,  // from the instance's start to its end
  kToEnd,  // from later (or earlier) than its start to its end
  kFromStart,
  kInside,
};
inline constexpr uint8_t kExposureMask = 7;
inline constexpr uint8_t kChainedBit = 8;

// Which of the columns an instance of that exposure has a value in.
[[nodiscard]] constexpr bool HasBegin(Exposure e) { return e == Exposure::kToEnd || e == Exposure::kInside; }
[[nodiscard]] constexpr bool HasEnd(Exposure e) { return e == Exposure::kFromStart || e == Exposure::kInside; }
[[nodiscard]] constexpr bool HasGap(Exposure e) { return e >= Exposure::kWhole; }

}  // namespace headway::pattern::hwp
