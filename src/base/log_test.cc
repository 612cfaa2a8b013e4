// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

#include "base/parallel.h"
#include "base/progress.h"

namespace headway {
namespace {

TEST(Log, WritesUpToItsLevel) {
  std::string out;
  Log log(LogLevel::kInfo, [&](std::string_view line) { out += line; });
  log.Error("one");
  log.Warning("two");
  log.Info("three");
  log.Debug("four");
  EXPECT_EQ(out, "headway: error: one\nheadway: warning: two\nheadway: three\n");
  EXPECT_TRUE(log.Enabled(LogLevel::kInfo));
  EXPECT_FALSE(log.Enabled(LogLevel::kDebug));
}

TEST(Log, HostileTextStaysOnItsLine) {
  std::string out;
  Log log(LogLevel::kWarning, [&](std::string_view line) { out += line; });
  log.Warning("name \x1b[2J\nheadway: error: forged");
  EXPECT_EQ(out, "headway: warning: name \\x1b[2J\\nheadway: error: forged\n");
}

TEST(Log, LinesOfThreadsDoNotMix) {
  std::string out;
  Log log(LogLevel::kWarning, [&](std::string_view line) { out += line; });
  ParallelFor(1000, 4, [&](size_t) { log.Warning("a line"); });
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += "headway: warning: a line\n";
  EXPECT_EQ(out, expected);
}

// A terminal and a clock under the test's control.
struct Screen {
  std::string out;
  Nanos now = 0;
  Progress progress{{.enabled = true,
                     .width = 80,
                     .now = [this] { return now; },
                     .sink = [this](std::string_view text) { out += text; }}};
};

TEST(Progress, NothingBeforeASecond) {
  Screen screen;
  screen.progress.Start("reading", 1000);
  for (int i = 0; i < 9; ++i) {
    screen.now += kSecond / 10;
    screen.progress.Advance(100);
  }
  screen.progress.Finish();
  EXPECT_EQ(screen.out, "");
}

TEST(Progress, DrawsAtMostTenTimesASecondAndCleansUp) {
  Screen screen;
  screen.progress.Start("reading", 2'000'000);
  screen.now = kSecond;
  screen.progress.Advance(500'000);
  // A quarter of 24 columns is six; three quarters remain after one second: three seconds.
  EXPECT_EQ(screen.out, "\rreading [██████                  ]  25 %  500 KB of 2.00 MB, 3.00 s left\x1b[K");
  screen.out.clear();
  screen.now += kSecond / 100;
  screen.progress.Advance(500'000);
  EXPECT_EQ(screen.out, "");
  screen.now += kSecond / 10;
  screen.progress.Advance(1);
  EXPECT_NE(screen.out.find(" 50 %"), std::string::npos);
  screen.out.clear();
  screen.progress.Finish();
  EXPECT_EQ(screen.out, "\r\x1b[K");
  screen.out.clear();
  screen.progress.Finish();
  EXPECT_EQ(screen.out, "");
}

TEST(Progress, UnknownTotalsAndTooMuch) {
  Screen screen;
  screen.progress.Start("folding\x1b", -1, false);
  screen.now = kSecond;
  screen.progress.Advance(12'345);
  EXPECT_EQ(screen.out, "\rfolding\\x1b  12,345\x1b[K");
  screen.progress.Start("reading", 10);
  screen.now += 2 * kSecond;
  screen.progress.Advance(1000);
  EXPECT_NE(screen.out.find("100 %"), std::string::npos);
}

TEST(Progress, DisabledWritesNothing) {
  std::string out;
  Progress progress({.enabled = false, .sink = [&](std::string_view text) { out += text; }});
  progress.Start("reading", 10);
  progress.Advance(10);
  progress.Finish();
  EXPECT_EQ(out, "");
  EXPECT_FALSE(ProgressWanted(true));
}

TEST(Progress, LogLinesTakeTheBarAway) {
  Screen screen;
  Log log(LogLevel::kWarning, [&](std::string_view line) { screen.out += line; });
  log.SetBeforeLine([&] { screen.progress.Clear(); });
  screen.progress.Start("reading", 100);
  screen.now = kSecond;
  screen.progress.Advance(50);
  screen.out.clear();
  log.Warning("odd");
  EXPECT_EQ(screen.out, "\r\x1b[Kheadway: warning: odd\n");
}

}  // namespace
}  // namespace headway
