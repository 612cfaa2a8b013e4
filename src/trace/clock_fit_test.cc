// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace headway::trace {
namespace {

constexpr Nanos kStart = 1'700'000'000'000'000'000;

struct Truth {
  std::vector<Nanos> offset;
  std::vector<double> drift;

  // What the clock shows at a true time.
  [[nodiscard]] Nanos Own(size_t clock, Nanos time) const {
    const double d = clock < drift.size() ? drift[clock] : 0;
    return time + offset[clock] + static_cast<Nanos>(d * static_cast<double>(time - kStart));
  }
};

// `count` rounds over `span`, every clock in each, ends scattered by `noise(clock)`.
template <typename Noise>
ClockRounds MakeRounds(const Truth& truth, int count, Nanos span, Noise noise) {
  ClockRounds rounds;
  for (int k = 0; k < count; ++k) {
    const Nanos time = kStart + span / count * k;
    for (size_t c = 0; c < truth.offset.size(); ++c) {
      rounds.readings.push_back({.clock = static_cast<int32_t>(c), .end = truth.Own(c, time + noise(c))});
    }
    rounds.Close();
  }
  return rounds;
}

Nanos Aligned(const ClockFit& fit, Nanos own) {
  return own + fit.offset + static_cast<Nanos>(fit.drift * static_cast<double>(own - fit.reference));
}

TEST(FitClocks, FindsOffsets) {
  const Truth truth{{0, 50'000'000, -50'000'000, 123'000}, {}};
  std::mt19937 random(1);
  std::uniform_int_distribution<Nanos> jitter(-5'000, 5'000);
  const ClockFits fits = FitClocks(MakeRounds(truth, 200, kSecond / 2, [&](size_t) { return jitter(random); }), 4, 0);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(static_cast<double>(fits.clocks[c].offset), static_cast<double>(-truth.offset[c]), 1000) << c;
    EXPECT_EQ(fits.clocks[c].drift, 0) << c;
    EXPECT_EQ(fits.clocks[c].rounds, 200);
    EXPECT_LE(fits.clocks[c].residual, 11'000);
  }
}

TEST(FitClocks, FindsADriftOfAHundredPpmWithinFive) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Truth truth{{0, 20'000'000, -3'000'000}, {0, 100e-6, -100e-6}};
    std::mt19937 random(seed);
    std::normal_distribution<double> jitter(0, 5'000);
    const auto noise = [&](size_t) { return static_cast<Nanos>(jitter(random)); };
    const ClockFits fits = FitClocks(MakeRounds(truth, 200, 2 * kSecond, noise), 3, 0);
    EXPECT_NEAR(fits.clocks[1].drift, -100e-6, 5e-6) << seed;
    EXPECT_NEAR(fits.clocks[2].drift, 100e-6, 5e-6) << seed;
    for (const Nanos at : {Nanos{0}, kSecond, 2 * kSecond}) {
      for (size_t c = 1; c < 3; ++c) {
        const double error = static_cast<double>(Aligned(fits.clocks[c], truth.Own(c, kStart + at)) - (kStart + at));
        EXPECT_LT(std::abs(error), 5'000) << seed;
      }
    }
  }
}

TEST(FitClocks, DriftOfTheReferenceShowsInTheOthers) {
  const Truth truth{{0, 1'000'000, 2'000'000}, {40e-6, 0, 0}};
  std::mt19937 random(5);
  std::normal_distribution<double> jitter(0, 3'000);
  const auto noise = [&](size_t) { return static_cast<Nanos>(jitter(random)); };
  const ClockFits fits = FitClocks(MakeRounds(truth, 400, 4 * kSecond, noise), 3, 0);
  EXPECT_EQ(fits.clocks[0].drift, 0);
  EXPECT_EQ(fits.clocks[0].offset, 0);
  EXPECT_NEAR(fits.clocks[1].drift, 40e-6, 2e-6);
  EXPECT_NEAR(fits.clocks[2].drift, 40e-6, 2e-6);
}

TEST(FitClocks, InventsNoDrift) {
  int invented = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const Truth truth{{0, 20'000'000, -3'000'000, 11'000, 500}, {}};
    std::mt19937 random(seed);
    std::normal_distribution<double> jitter(0, 5'000);
    const auto noise = [&](size_t) { return static_cast<Nanos>(jitter(random)); };
    const ClockFits fits = FitClocks(MakeRounds(truth, 200, 2 * kSecond, noise), 5, 0);
    for (const ClockFit& fit : fits.clocks) {
      invented += fit.drift != 0 ? 1 : 0;
      EXPECT_LT(std::abs(fit.drift), 2e-6);
    }
  }
  EXPECT_EQ(invented, 0);
}

TEST(FitClocks, TooFewRoundsOrTooShortAWindowGiveNoDrift) {
  const Truth truth{{0, 0}, {0, 100e-6}};
  const auto quiet = [](size_t) { return Nanos{0}; };
  EXPECT_EQ(FitClocks(MakeRounds(truth, 40, 4 * kSecond, quiet), 2, 0).clocks[1].drift, 0);
  EXPECT_EQ(FitClocks(MakeRounds(truth, 400, kSecond / 2, quiet), 2, 0).clocks[1].drift, 0);
}

TEST(FitClocks, ConstantsAddedToClocksComeOutExactly) {
  const Truth truth{{7, 0, 90, -4'000}, {0, 30e-6, 0, -80e-6}};
  std::mt19937 random(2);
  std::exponential_distribution<double> late(1.0 / 20'000);
  const ClockRounds rounds =
      MakeRounds(truth, 300, 3 * kSecond, [&](size_t) { return static_cast<Nanos>(late(random)); });
  const ClockFits before = FitClocks(rounds, 4, 0);
  const std::vector<Nanos> added{123'456'789, -50'000'000, 1, 7'000'000'000};
  ClockRounds moved = rounds;
  for (ClockReading& reading : moved.readings) reading.end += added[static_cast<size_t>(reading.clock)];
  const ClockFits after = FitClocks(moved, 4, 0);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(after.clocks[c].offset, before.clocks[c].offset - added[c] + added[0]) << c;
    EXPECT_EQ(after.clocks[c].drift, before.clocks[c].drift) << c;
    EXPECT_EQ(after.clocks[c].residual, before.clocks[c].residual) << c;
    EXPECT_EQ(after.clocks[c].reference, before.clocks[c].reference + added[c]) << c;
  }
}

// The receiver of a slow link ends last by 5 to 15 ms in two thirds of the rounds; the tight rounds tell its clock.
TEST(FitClocks, OneMemberThatMostlyEndsLateKeepsItsClock) {
  const Truth truth{{0, 4'000'000, -6'000'000, 1'000'000}, {}};
  std::mt19937 random(3);
  std::uniform_int_distribution<Nanos> jitter(-50'000, 50'000), late(5'000'000, 15'000'000);
  int round = 0;
  const auto noise = [&](size_t c) {
    round += c == 0 ? 1 : 0;
    return jitter(random) + (c == 2 && round % 3 != 0 ? late(random) : 0);
  };
  const ClockFits fits = FitClocks(MakeRounds(truth, 240, kSecond, noise), 4, 0);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(static_cast<double>(fits.clocks[c].offset), static_cast<double>(-truth.offset[c]), 300'000) << c;
  }
}

// Clock 1 always ends 2 ms late, which no median can tell from an offset; but it was last to begin in rounds that
// others ended 10 us later, so the order allows it at most these.
TEST(FitClocks, NobodyEndsBeforeTheLastHasBegun) {
  ClockRounds rounds;
  for (int k = 0; k < 60; ++k) {
    const Nanos time = kStart + k * 10 * kMillisecond;
    rounds.readings.push_back({.clock = 0, .end = time, .first_end = time, .last_start = time - 5 * kMillisecond});
    const Nanos late = 2 * kMillisecond;
    rounds.readings.push_back(
        {.clock = 1, .end = time + late, .first_end = time + late, .last_start = time - 10 * kMicrosecond});
    rounds.Close();
  }
  const ClockFits fits = FitClocks(rounds, 2, 0);
  // Without bounds the offset would be -2 ms and clock 1 would begin 2.01 ms before clock 0 ends: allowed. The other
  // way round it is not: shift every end of clock 0 behind clock 1's start.
  EXPECT_EQ(fits.violations, 0);
  ClockRounds other = rounds;
  for (ClockReading& reading : other.readings) {
    if (reading.clock == 1) reading.end -= 4 * kMillisecond;
  }
  const ClockFits bounded = FitClocks(other, 2, 0);
  // The ends alone would say +2 ms; then clock 1 begins 1.99 ms after clock 0 has ended. Allowed is +10 us and a slack
  // of 1.
  EXPECT_LE(bounded.clocks[1].offset, 11'500);
  EXPECT_EQ(bounded.violations, 0);
}

TEST(FitClocks, ClocksThatNeverMeetStandApart) {
  ClockRounds rounds;
  for (int k = 0; k < 10; ++k) {
    for (const int32_t c : {0, 1}) rounds.readings.push_back({.clock = c, .end = kStart + k * kMillisecond + c * 500});
    rounds.Close();
    for (const int32_t c : {3, 4}) rounds.readings.push_back({.clock = c, .end = kStart + k * kMillisecond + c * 900});
    rounds.Close();
  }
  const ClockFits fits = FitClocks(rounds, 5, 0);
  EXPECT_EQ(fits.clocks[0].component, fits.clocks[1].component);
  EXPECT_EQ(fits.clocks[3].component, fits.clocks[4].component);
  EXPECT_NE(fits.clocks[0].component, fits.clocks[3].component);
  EXPECT_EQ(fits.clocks[2].component, -1);
  EXPECT_EQ(fits.clocks[1].offset, -500);
  EXPECT_EQ(fits.clocks[4].offset, -900);
}

// Behind a slow link clock 2 ends every long operation 3 ms late, and there are twenty to one; the short ones tell.
TEST(FitClocks, ShortOperationsPinAClockThatLongOnesMislead) {
  const Truth truth{{0, 4'000'000, -6'000'000}, {0, 50e-6, -80e-6}};
  std::mt19937 random(4);
  std::uniform_int_distribution<Nanos> jitter(-3'000, 3'000);
  ClockRounds rounds;
  for (int k = 0; k < 840; ++k) {
    const bool is_long = k % 21 != 0;
    const Nanos time = kStart + k * 5 * kMillisecond;
    for (size_t c = 0; c < 3; ++c) {
      const Nanos late = jitter(random) + (is_long && c == 2 ? 3 * kMillisecond : 0);
      rounds.readings.push_back({.clock = static_cast<int32_t>(c), .end = truth.Own(c, time + late)});
    }
    rounds.Close(is_long ? 1e6 : 5e3);  // a tenth of 10 ms
  }
  const ClockFits fits = FitClocks(rounds, 3, 0);
  for (size_t c = 1; c < 3; ++c) {
    for (const Nanos at : {Nanos{0}, 4 * kSecond}) {
      const double error = static_cast<double>(Aligned(fits.clocks[c], truth.Own(c, kStart + at)) - (kStart + at));
      EXPECT_LT(std::abs(error), 5'000) << c;
    }
    EXPECT_LT(fits.clocks[c].residual, 10'000);
  }
}

// In 2.4 s 24 barriers tell how four clocks drift. Of operations of 0.9 ms between two of them, 1,120 a pair, those of
// one pair end 140 us apart each time, as its link is slow one way: a constant, which says nothing against a drift.
TEST(FitClocks, ALinkThatIsAlwaysSlowHidesNoDrift) {
  const Truth truth{{0, 4'000'000, -6'000'000, 1'000'000}, {0, 64e-6, 107e-6, -40e-6}};
  std::mt19937 random(4);
  std::uniform_int_distribution<Nanos> jitter(-9'000, 9'000);
  ClockRounds rounds;
  for (int k = 0; k < 1144; ++k) {
    const Nanos time = kStart + k * 2400 * kMillisecond / 1144;
    const bool is_barrier = k % 48 == 0;
    for (const std::vector<int32_t>& members : is_barrier ? std::vector<std::vector<int32_t>>{{0, 1, 2, 3}}
                                                          : std::vector<std::vector<int32_t>>{{1, 2}, {0, 3}}) {
      for (const int32_t c : members) {
        const Nanos late = jitter(random) + (!is_barrier && c == 2 ? 140 * kMicrosecond : 0);
        rounds.readings.push_back({.clock = c, .end = truth.Own(static_cast<size_t>(c), time + late)});
      }
      rounds.Close(is_barrier ? 5e3 : 9e4);
    }
  }
  const ClockFits fits = FitClocks(rounds, 4, 0);
  // The operations weigh (5 / 90)^2 * 1120 = 3.5 against the 24: they pull the clocks by an eighth of their 140 us at
  // most. Ends of barriers scatter by 9 us / sqrt(3) * sqrt(4 / 3) = 6 us: over 24 of them in 2.4 s, 0.7 s from their
  // middle, that is 1.8 ppm of one clock, 2.5 of two; fewer of them count than there are.
  for (size_t c = 1; c < 4; ++c) {
    EXPECT_NEAR(fits.clocks[c].drift, -truth.drift[c], 12e-6) << c;
    for (const Nanos at : {Nanos{0}, 2 * kSecond}) {
      const double error = static_cast<double>(Aligned(fits.clocks[c], truth.Own(c, kStart + at)) - (kStart + at));
      EXPECT_LT(std::abs(error), 30'000) << c;
    }
  }
}

// A chain of hosts, each pair sharing its own rounds only: errors must not pile up.
TEST(FitClocks, HoldsAlongAChain) {
  constexpr int kClocks = 40;
  std::mt19937 random(9);
  std::normal_distribution<double> jitter(0, 5'000);
  std::uniform_int_distribution<Nanos> any(-50'000'000, 50'000'000);
  Truth truth;
  for (int c = 0; c < kClocks; ++c) truth.offset.push_back(c == 0 ? 0 : any(random));
  ClockRounds rounds;
  for (int k = 0; k < 200; ++k) {
    for (int c = 0; c + 1 < kClocks; ++c) {
      const Nanos time = kStart + k * 5 * kMillisecond;
      for (const int member : {c, c + 1}) {
        const auto noise = static_cast<Nanos>(jitter(random));
        rounds.readings.push_back({.clock = member, .end = truth.Own(static_cast<size_t>(member), time + noise)});
      }
      rounds.Close();
    }
  }
  const ClockFits fits = FitClocks(rounds, kClocks, 0);
  for (size_t c = 0; c < kClocks; ++c) {
    // One link is known to 5 us * sqrt(2 / 200) = 0.5 us, 39 of them to about 3 us; a mode is less efficient than a
    // mean.
    EXPECT_NEAR(static_cast<double>(fits.clocks[c].offset + truth.offset[c]), 0, 10'000) << c;
  }
}

}  // namespace
}  // namespace headway::trace
