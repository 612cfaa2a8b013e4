// SPDX-License-Identifier: Apache-2.0
// A progress bar on a terminal for work that takes longer than a second. It never touches results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/units.h"

namespace headway {

struct ProgressOptions {
  bool enabled = false;                        // usually ProgressWanted(quiet)
  int width = 80;                              // columns of the terminal
  std::function<Nanos()> now;                  // empty = the steady clock
  std::function<void(std::string_view)> sink;  // empty = standard error
};

// Whether a bar makes sense: standard error is a terminal that can move its cursor, and the user did not ask for quiet.
[[nodiscard]] bool ProgressWanted(bool quiet);
[[nodiscard]] int TerminalWidth();  // columns of standard error; 80 where unknown

class Progress {
 public:
  explicit Progress(ProgressOptions options);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Finish(); }

  // Begins a piece of work of `total` units; -1 = unknown. `in_bytes` prints amounts as sizes. A bar of the work before
  // is taken away.
  void Start(std::string_view what, int64_t total, bool in_bytes = true);
  // Cheap enough for every chunk; any thread may call it. Draws at most ten times a second, first after one second.
  void Advance(int64_t units);
  // Takes the bar off the terminal. Also before another line is written there (Log::SetBeforeLine).
  void Clear();
  void Finish() { Clear(); }

 private:
  void Draw(Nanos now);
  [[nodiscard]] std::string Line(Nanos now) const;

  ProgressOptions options_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<Nanos> next_draw_ = 0;
  std::mutex mutex_;  // guards all below, and the drawing
  std::string what_;
  int64_t total_ = -1;
  bool in_bytes_ = true;
  Nanos started_ = 0;
  bool visible_ = false;
};

}  // namespace headway
