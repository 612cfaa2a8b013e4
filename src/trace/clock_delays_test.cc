// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_delays.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/clock_bias.h"

namespace headway::trace {
namespace {

constexpr Nanos kStart = 1'700'000'000'000'000'000;

// Clock 1 is 40 ms ahead. Up takes 0.7 ms, back 0.9 ms, but most receives are waited for 5 ms and more later.
DelayRounds TwoWays(Nanos ahead, double drift, int messages) {
  DelayRounds delays;
  for (int k = 0; k < messages; ++k) {
    const Nanos t = kStart + k * 10 * kMillisecond;
    const auto own = [&](Nanos time) {
      return time + ahead + static_cast<Nanos>(drift * static_cast<double>(time - kStart));
    };
    const Nanos wait = k % 4 == 0 ? 0 : (5 + k % 7) * kMillisecond;
    delays.Add({0, 1, t, own(t + 700 * kMicrosecond + wait)});
    delays.Add({1, 0, own(t + 3 * kMillisecond), t + 3 * kMillisecond + 900 * kMicrosecond + wait});
  }
  return delays;
}

// f = 40.7 ms, b = 0.9 - 40 = -39.1 ms: offset (f - b) / 2 = 39.9 ms, half sum 0.8 ms. The truth, 40 ms, is within.
TEST(DelayRounds, OffsetIsHalfTheDifferenceOfTheTightestDelays) {
  ClockRounds rounds;
  TwoWays(40 * kMillisecond, 0, 64).AppendTo(&rounds);
  ASSERT_GT(rounds.size(), 0u);
  for (size_t r = 0; r < rounds.size(); ++r) {
    const ClockReading& low = rounds.readings[2 * r];
    const ClockReading& high = rounds.readings[2 * r + 1];
    EXPECT_EQ(low.clock, 0);
    EXPECT_EQ(high.end - low.end, 39'900'000);
    EXPECT_EQ(rounds.deviation[r], 800'000);
    EXPECT_EQ(rounds.bias[r], 800'000 + kRecordedLate);
  }
  const ClockFits fits = FitClocks(rounds, 2, 0);
  EXPECT_EQ(fits.clocks[1].offset, -39'900'000);
  EXPECT_GE(fits.clocks[1].residual, 800'000 + kRecordedLate);
}

TEST(DelayRounds, StretchesOfTheWindowShowDrift) {
  ClockRounds rounds;
  TwoWays(-7 * kMillisecond, 100e-6, 2000).AppendTo(&rounds);  // 20 s
  const ClockFits fits = FitClocks(rounds, 2, 0);
  EXPECT_NEAR(fits.clocks[1].drift, -100e-6, 5e-6);
}

// One message in fifty was paired with one sent 200 ms later.
TEST(DelayRounds, AFewWrongPairsDoNotCount) {
  DelayRounds delays = TwoWays(0, 0, 400);
  for (int k = 0; k < 8; ++k) {
    delays.Add({0, 1, kStart + (k * 500 + 200) * kMillisecond, kStart + k * 500 * kMillisecond});
  }
  ClockRounds rounds;
  delays.AppendTo(&rounds);
  EXPECT_NEAR(static_cast<double>(FitClocks(rounds, 2, 0).clocks[1].offset), 100'000, 50'000);
}

TEST(DelayRounds, OneDirectionMakesNoRound) {
  DelayRounds delays;
  delays.Add({0, 1, kStart, kStart + 5});
  EXPECT_FALSE(delays.BothWays(1, 0));
  ClockRounds rounds;
  delays.AppendTo(&rounds);
  EXPECT_EQ(rounds.size(), 0u);
}

// Clock 1 is 40 ms ahead; messages that go up take 0.7 ms. Every other one is sent 4 ms before the other side receives,
// and ends there and here 4.7 ms later; `waits` = so do sends on a backend that waits for the receive, else they end
// after 0.1 ms. `back`: as many go down, 30 ms each.
DelayRounds OneWay(bool waits, bool back) {
  DelayRounds delays;
  for (int k = 0; k < 64; ++k) {
    const Nanos t = kStart + k * 100 * kMillisecond, ahead = 40 * kMillisecond;
    const Nanos ready = k % 2 == 0 ? t - 3 * kMillisecond : t + 4 * kMillisecond;
    const Nanos received = std::max(t, ready) + 700 * kMicrosecond;
    delays.Add({0, 1, t, received + ahead, ready + ahead, waits ? received : t + 100 * kMicrosecond});
    if (back) delays.Add({1, 0, t + 50 * kMillisecond + ahead, t + 80 * kMillisecond});
  }
  delays.Settle();
  return delays;
}

// Forward 40.7 ms; from a receive's start to the end of its send 4.7 - 4 - 40 = -39.3 ms: offset 40, half sum 0.7 ms.
// Without these, and back 30 - 40 = -10 ms: offset (40.7 + 10) / 2, half sum (40.7 - 10) / 2.
TEST(DelayRounds, ASendThatWaitsForItsReceiveBoundsTheOtherWay) {
  for (const bool waits : {true, false}) {
    ClockRounds rounds;
    OneWay(waits, true).AppendTo(&rounds);
    ASSERT_GT(rounds.size(), 0u);
    EXPECT_EQ(rounds.readings[1].end - rounds.readings[0].end, waits ? 40'000'000 : 25'350'000);
    EXPECT_EQ(rounds.bias[0], (waits ? 700'000 : 15'350'000) + kRecordedLate);
  }
}

// Clocks are equal, and sends end after 0.1 ms whatever the other side does: 50 ms before it receives on the way up. On
// the way back so they do, or the other side has received for 50 ms. Messages last 0.2 ms from the later of the two.
DelayRounds Unasked(bool early_back, Nanos varies) {
  DelayRounds delays;
  for (int k = 0; k < 64; ++k) {
    const Nanos t = kStart + k * 100 * kMillisecond, ready = t + 50 * kMillisecond + k % 2 * varies;
    const Nanos back = t + 40 * kMillisecond, back_ready = back + (early_back ? -50 : 50) * kMillisecond;
    const auto add = [&](int32_t from, Nanos sent, Nanos began) {
      const Nanos received = std::max(sent, began) + 200 * kMicrosecond;
      delays.Add({from, 1 - from, sent, received, began, sent + 100 * kMicrosecond});
    };
    add(0, t, ready);
    add(1, back, back_ready);
  }
  delays.Settle();
  return delays;
}

// Forward 50.2 ms, back 0.2 or 50.2 ms: half sum 25.2 or 50.2 ms. If sends had waited, the clock would be 49.9 ms ahead
// at the least, from which the 50.2 ms are not far: 50.05 ms, give or take 0.15.
TEST(DelayRounds, SendsThatAreNotSeenToWaitBoundNothing) {
  for (const bool early_back : {true, false}) {
    for (const Nanos varies : {Nanos{0}, kMillisecond}) {
      ClockRounds rounds;
      Unasked(early_back, varies).AppendTo(&rounds);
      ASSERT_GT(rounds.size(), 0u);
      EXPECT_EQ(rounds.bias[0], (early_back ? 25'200'000 : 50'200'000) + kRecordedLate) << early_back << varies;
    }
  }
}

TEST(DelayRounds, WhereNothingComesBackSendsThatWaitBoundNothing) { EXPECT_FALSE(OneWay(true, false).BothWays(1, 0)); }

TEST(DelayRounds, AConstantAddedToAClockStaysThatConstant) {
  for (const Nanos added : {Nanos{1}, Nanos{123'456'789}, Nanos{-50'000'001}}) {
    ClockRounds before, after;
    TwoWays(3, 50e-6, 100).AppendTo(&before);
    TwoWays(3 + added, 50e-6, 100).AppendTo(&after);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.readings.size(); ++i) {
      const Nanos moved = after.readings[i].clock == 1 ? added : 0;
      EXPECT_EQ(after.readings[i].end, before.readings[i].end + moved);
    }
  }
}

// Clocks 0 and 1 share collectives, so do 2 and 3; messages tie 1 to 2 to 2 ms and 0 to 3 to 5 ms, 4 hangs on 3.
TEST(BiasFromRoots, AddsUpAlongTheBestWay) {
  ClockRounds rounds;
  const auto add = [&](int32_t a, int32_t b, Nanos bias) {
    rounds.readings.push_back({.clock = a, .end = kStart});
    rounds.readings.push_back({.clock = b, .end = kStart});
    rounds.Close(1e3, 0, bias);
  };
  add(0, 1, 0);
  add(2, 3, 0);
  add(1, 2, 2 * kMillisecond);
  add(0, 3, 5 * kMillisecond);
  add(3, 4, kMillisecond);
  EXPECT_EQ(BiasFromRoots(rounds, {0, 0, 0, 0, 0}),
            (std::vector<Nanos>{0, 0, 2 * kMillisecond, 2 * kMillisecond, 3 * kMillisecond}));
}

}  // namespace
}  // namespace headway::trace
