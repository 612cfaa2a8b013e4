// SPDX-License-Identifier: Apache-2.0
// Folds one rank's trace into its behaviour pattern in memory that does not grow with the file: rows go through an
// external sort by time, then once through the critical sweep.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "pattern/pattern.h"
#include "trace/trace_reader.h"

namespace headway::pattern {

struct FoldOptions {
  bool linked_only = false;     // --gpu-events linked
  bool drop_last_step = false;  // --last-step drop
  bool split_steps = false;     // fill RankPattern::step_splits, at 16 bytes for each 16 launches
  size_t sort_buffer_bytes = size_t{16} << 20;
  size_t max_functions = 1000;  // function table budget (30 KB)
  double min_share = 2e-4;      // of the window; smaller functions are folded into their callers
  size_t max_of_group = 32768;  // collectives of one group kept (256 KB)
  std::string spill_dir;        // empty = TMPDIR or /tmp, resolved by base
};

// Feed the reader with this as its sink, then Finish with what the reader knows.
class PatternBuilder : public trace::EventSink {
 public:
  explicit PatternBuilder(const FoldOptions& options);
  ~PatternBuilder() override;

  void OnEvent(const trace::Event& event) override;
  uint32_t OnComm(const trace::CommDetail& detail) override;
  uint32_t OnCopy(const trace::CopyDetail& detail) override;
  uint32_t OnKernel(const trace::KernelDetail& detail) override;

  [[nodiscard]] int64_t events() const;  // rows so far

  // `meta`, `names` and `log` as the reader left them. Fails when the spill directory is full.
  // Time O(n log n) in the rows, memory the sort buffer plus the distinct names, paths and communication rows.
  [[nodiscard]] Result<RankPattern> Finish(trace::RankMeta meta, const StringPool& names, trace::ImportLog log);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace headway::pattern
