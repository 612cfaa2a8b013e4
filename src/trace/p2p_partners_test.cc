// SPDX-License-Identifier: Apache-2.0
#include "trace/p2p_partners.h"

#include <gtest/gtest.h>

namespace headway::trace {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

// Stages 0 1 and 2 3 run in step, so all fit well; partners end 2 us from each other, the others 40.
TEST(ChoosePartners, EndsTellPartnersFromRanksInStep) {
  const auto fit = [](size_t i, size_t j) {
    return PartnerFit{j == i + 2 ? 0.95 : 0.97, (j == i + 2 ? 2 : 40) * kMicrosecond, true};
  };
  EXPECT_EQ(ChoosePartners(4, fit), (Pairs{{0, 2}, {1, 3}}));
}

TEST(ChoosePartners, TwoPartnersAsGoodAreNone) {
  const auto fit = [](size_t, size_t) { return PartnerFit{0.97, 3 * kMicrosecond, true}; };
  EXPECT_TRUE(ChoosePartners(4, fit).empty());
}

// On a host rows end when they were waited for: only the score tells.
TEST(ChoosePartners, WithoutEndsTheBestScoreFirst) {
  const auto fit = [](size_t i, size_t j) { return PartnerFit{i + j == 3 ? 0.9 : 0.7, Nanos(i + j), false}; };
  EXPECT_EQ(ChoosePartners(4, fit), (Pairs{{0, 3}, {1, 2}}));
}

TEST(ChoosePartners, WhoFitsNobodyStaysAlone) {
  const auto fit = [](size_t i, size_t j) { return PartnerFit{i == 0 && j == 2 ? 0.9 : 0.5, 0, true}; };
  EXPECT_EQ(ChoosePartners(3, fit), (Pairs{{0, 2}}));
}

}  // namespace
}  // namespace headway::trace
