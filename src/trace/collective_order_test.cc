// SPDX-License-Identifier: Apache-2.0
#include "trace/collective_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <tuple>

namespace headway::trace {
namespace {

using Row = std::tuple<int64_t, Nanos, int32_t, int64_t>;

// Sorted by the tuple itself, as the contract says it.
void ExpectSorted(const std::vector<Row>& rows) {
  std::vector<Nanos> arrivals;
  std::vector<Collective> collectives;
  for (const auto& [step, arrival, group, ordinal] : rows) {
    arrivals.push_back(arrival);
    collectives.push_back({.group = group, .ordinal = ordinal, .bytes = arrival, .step = step});  // bytes: to tell
  }
  SortCollectives(arrivals, 3, &collectives);
  std::vector<Row> expected = rows;
  std::sort(expected.begin(), expected.end());
  std::vector<Row> got;
  for (const Collective& c : collectives) got.emplace_back(c.step, c.bytes, c.group, c.ordinal);
  EXPECT_EQ(got, expected);
}

TEST(SortCollectives, ByStepArrivalGroupAndOrdinal) {
  ExpectSorted({});
  ExpectSorted({{2, 5, 0, 0}});
  ExpectSorted({{2, 5, 0, 0}, {1, 9, 0, 0}, {-1, 7, 0, 0}, {1, 8, 1, 3}, {1, 8, 1, 2}, {1, 8, 0, 4}});
}

TEST(SortCollectives, AnyNumbers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  ExpectSorted({{0, kMost, 0, 0}, {0, kLeast, 0, 0}, {0, 0, 0, 0}, {0, 1, 0, 0}});
  ExpectSorted({{kMost, 2, 0, 0}, {kLeast, 1, 0, 0}, {kMost, 1, 0, 0}, {0, kMost, 0, 0}, {0, kLeast, 0, 0}});
  std::mt19937_64 random(7);
  for (const int bits : {3, 20, 40, 63}) {
    std::vector<Row> rows;
    for (int i = 0; i < 10'000; ++i) {
      rows.emplace_back(static_cast<int64_t>(random() >> 60), static_cast<Nanos>(random() >> (64 - bits)),
                        static_cast<int32_t>(random() % 5), static_cast<int64_t>(random() % 1000));
    }
    ExpectSorted(rows);
  }
}

}  // namespace
}  // namespace headway::trace
