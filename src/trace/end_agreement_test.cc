// SPDX-License-Identifier: Apache-2.0
#include "trace/end_agreement.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::trace {
namespace {

std::vector<EndPair> Ends(Nanos offset, double drift, Nanos jitter, int count) {
  std::mt19937 random(1);
  std::uniform_int_distribution<Nanos> off(-jitter, jitter);
  std::vector<EndPair> ends;
  for (int k = 0; k < count; ++k) {
    const Nanos t = k * 90 * kMillisecond;
    ends.push_back({t, t + offset + static_cast<Nanos>(drift * static_cast<double>(t)) + off(random)});
  }
  return ends;
}

// A uniform jitter of 3 us lies 1.5 us from its middle in the median; over 11 ends some 2.
TEST(AgreementOfEnds, OffsetAndDriftDoNotCount) {
  for (const double drift : {0.0, 150e-6, -80e-6}) {
    const EndAgreement found = AgreementOfEnds(Ends(40 * kMillisecond, drift, 3'000, 11));
    EXPECT_LT(found.scatter, 4'000) << drift;
    EXPECT_NEAR(static_cast<double>(found.At(900 * kMillisecond)), 40e6 + drift * 900e6, 10e3) << drift;
  }
}

TEST(AgreementOfEnds, RanksInStepScatterMore) { EXPECT_GT(AgreementOfEnds(Ends(0, 0, 200'000, 40)).scatter, 50'000); }

// No clock gains 1 ms a second: that is another operation each time.
TEST(AgreementOfEnds, NoClockRunsAwayLikeThat) {
  const EndAgreement found = AgreementOfEnds(Ends(0, 1e-3, 0, 20));
  EXPECT_EQ(found.slope, 0);
  EXPECT_GT(found.scatter, 100'000);
}

TEST(AgreementOfEnds, FewEndsHaveNoSlope) {
  EXPECT_EQ(AgreementOfEnds({}).scatter, 0);
  EXPECT_EQ(AgreementOfEnds(Ends(5, 100e-6, 0, 4)).slope, 0);
}

}  // namespace
}  // namespace headway::trace
