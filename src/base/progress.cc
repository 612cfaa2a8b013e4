// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace headway {
namespace {

constexpr Nanos kFirstDraw = kSecond;
constexpr Nanos kBetweenDraws = kSecond / 10;
constexpr int kBarWidth = 24;

Nanos SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void WriteToStandardError(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// Eighths of a column.
std::string Bar(double share) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(share * kBarWidth * 8);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[static_cast<size_t>(eighths % 8)];
  return PadRight(bar, kBarWidth);
}

}  // namespace

bool ProgressWanted(bool quiet) {
  if (quiet || ::isatty(STDERR_FILENO) == 0) return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

int TerminalWidth() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  if (!options_.now) options_.now = SteadyNow;
  if (!options_.sink) options_.sink = WriteToStandardError;
}

void Progress::Start(std::string_view what, int64_t total, bool in_bytes) {
  if (!options_.enabled) return;
  Clear();
  const std::scoped_lock lock(mutex_);
  what_ = Printable(what);
  total_ = total;
  in_bytes_ = in_bytes;
  started_ = options_.now();
  done_ = 0;
  next_draw_ = started_ + kFirstDraw;
}

void Progress::Advance(int64_t units) {
  if (!options_.enabled) return;
  done_.fetch_add(units, std::memory_order_relaxed);
  const Nanos now = options_.now();
  if (now < next_draw_.load(std::memory_order_relaxed)) return;
  // Somebody else drawing right now is as good.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && now >= next_draw_) Draw(now);
}

void Progress::Draw(Nanos now) {
  next_draw_ = now + kBetweenDraws;
  visible_ = true;
  options_.sink("\r" + Truncate(Line(now), std::max(options_.width - 1, 1)) + "\x1b[K");
}

std::string Progress::Line(Nanos now) const {
  const int64_t done = done_.load(std::memory_order_relaxed);
  const auto amount = [this](int64_t units) { return in_bytes_ ? FormatBytes(units) : FormatCount(units); };
  if (total_ <= 0) return what_ + "  " + amount(done);
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total_), 0.0, 1.0);
  std::string line = what_ + " [" + Bar(share) + "] " + PadLeft(FormatPercent(share), 5) + "  " + amount(done) +
                     " of " + amount(total_);
  if (share > 0.02) {
    const double left = static_cast<double>(now - started_) * (1 - share) / share;
    line += ", " + FormatDuration(std::llround(left / kSecond) * kSecond) + " left";
  }
  return line;
}

void Progress::Clear() {
  const std::scoped_lock lock(mutex_);
  if (!visible_) return;
  visible_ = false;
  options_.sink("\r\x1b[K");
}

}  // namespace headway
