// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trace/weighted_quantile.h"

namespace headway::trace {
namespace {

constexpr size_t kSlopePoints = 50;  // operations of a clock
constexpr size_t kLeastPoints = 12;  // among them those that count
constexpr Nanos kSlopeSpan = kSecond;
constexpr double kMuchWider = 2;

struct Interval {
  Nanos width = 0;
  Nanos middle = 0;
};

// Shortest interval that holds three tenths of the values, and the median of those within three of its widths: follows
// the tightest cluster, and nearly as exact as a median where there is only one.
Interval Shortest(std::vector<Nanos>* values) {
  std::sort(values->begin(), values->end());
  const size_t n = values->size();
  const size_t inside = std::max<size_t>(std::min<size_t>(n, 2), (3 * n + 9) / 10);
  const auto width = [&](size_t i) { return (*values)[i + inside - 1] - (*values)[i]; };
  size_t best = 0;
  for (size_t i = 1; i + inside <= n; ++i) {
    if (width(i) < width(best)) best = i;
  }
  const Nanos centre = (*values)[best + (inside - 1) / 2], reach = 3 * width(best);
  const auto first = std::lower_bound(values->begin(), values->end(), centre - reach);
  const auto last = std::upper_bound(first, values->end(), centre + reach);
  return {width(best), *(first + (last - first - 1) / 2)};
}

// Median slope between points of the first and of the last third.
double CrossSlope(const std::vector<Nanos>& x, const std::vector<Nanos>& y) {
  const size_t third = x.size() / 3;
  const size_t stride = std::max<size_t>(1, third / 24);
  std::vector<double> slopes;
  for (size_t i = 0; i < third; i += stride) {
    for (size_t j = x.size() - third; j < x.size(); j += stride) {
      if (x[j] > x[i]) slopes.push_back(static_cast<double>(y[j] - y[i]) / static_cast<double>(x[j] - x[i]));
    }
  }
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

class Grower {
 public:
  Grower(const ClockRounds& rounds, int32_t clocks) : rounds_(rounds) {
    const auto n = static_cast<size_t>(clocks);
    start_.base.assign(n, 0);
    start_.origin.assign(n, 0);
    start_.slope.assign(n, 0);
    start_.root.assign(n, -1);
    start_.readings_of.resize(n);
    start_.round_of.resize(rounds.readings.size());
    for (size_t r = 0; r < rounds.size(); ++r) {
      for (int32_t i = rounds.begin[r]; i < rounds.begin[r + 1]; ++i) {
        start_.round_of[static_cast<size_t>(i)] = static_cast<int32_t>(r);
        start_.readings_of[static_cast<size_t>(rounds.readings[static_cast<size_t>(i)].clock)].push_back(i);
      }
    }
    shared_.assign(n, 0);
    time_.assign(rounds.size(), kNoBound);
  }

  ClockStart Grow(int32_t root) {
    if (root >= 0) GrowFrom(root);
    for (size_t c = 0; c < start_.root.size(); ++c) {
      if (start_.root[c] < 0 && !start_.readings_of[c].empty()) GrowFrom(static_cast<int32_t>(c));
    }
    return std::move(start_);
  }

 private:
  void GrowFrom(int32_t root) {
    const auto& mine = start_.readings_of[static_cast<size_t>(root)];
    if (mine.empty()) return;
    Nanos origin = rounds_.readings[static_cast<size_t>(mine.front())].end;
    for (const int32_t i : mine) origin = std::min(origin, rounds_.readings[static_cast<size_t>(i)].end);
    std::vector<int32_t> batch{root};
    while (!batch.empty()) {
      for (const int32_t c : batch) {
        start_.root[static_cast<size_t>(c)] = root;
        start_.origin[static_cast<size_t>(c)] = origin;
      }
      for (const int32_t c : batch) Spread(c);
      batch = Next();
      for (const int32_t c : batch) Align(c, origin);
    }
  }

  [[nodiscard]] Nanos Common(int32_t clock, Nanos own) const {
    const auto c = static_cast<size_t>(clock);
    const Nanos common = own - start_.base[c];
    return common - static_cast<Nanos>(std::llround(start_.slope[c] * static_cast<double>(common - start_.origin[c])));
  }

  // The rounds of a clock that is now aligned get their time; the others in them share one more.
  void Spread(int32_t clock) {
    for (const int32_t i : start_.readings_of[static_cast<size_t>(clock)]) {
      const auto r = static_cast<size_t>(start_.round_of[static_cast<size_t>(i)]);
      if (time_[r] != kNoBound) continue;
      std::vector<Nanos> ends;
      for (int32_t j = rounds_.begin[r]; j < rounds_.begin[r + 1]; ++j) {
        const ClockReading& reading = rounds_.readings[static_cast<size_t>(j)];
        if (start_.root[static_cast<size_t>(reading.clock)] >= 0) {
          ends.push_back(Common(reading.clock, reading.end));
        } else {
          ++shared_[static_cast<size_t>(reading.clock)];
        }
      }
      const auto middle = ends.begin() + static_cast<std::ptrdiff_t>((ends.size() - 1) / 2);
      std::nth_element(ends.begin(), middle, ends.end());
      time_[r] = *middle;
    }
  }

  // Those that share at least half as many timed rounds as the best connected one.
  [[nodiscard]] std::vector<int32_t> Next() const {
    int64_t most = 0;
    for (size_t c = 0; c < shared_.size(); ++c) {
      if (start_.root[c] < 0) most = std::max(most, shared_[c]);
    }
    std::vector<int32_t> batch;
    for (size_t c = 0; c < shared_.size() && most > 0; ++c) {
      if (start_.root[c] < 0 && 2 * shared_[c] >= most) batch.push_back(static_cast<int32_t>(c));
    }
    return batch;
  }

  void Align(int32_t clock, Nanos origin) {
    std::vector<std::pair<Nanos, Nanos>> points;
    const double limit = WidestThatCounts(clock);
    for (const int32_t i : start_.readings_of[static_cast<size_t>(clock)]) {
      const auto r = static_cast<size_t>(start_.round_of[static_cast<size_t>(i)]);
      if (time_[r] == kNoBound || rounds_.deviation[r] > limit) continue;
      points.emplace_back(time_[r], rounds_.readings[static_cast<size_t>(i)].end - time_[r]);
    }
    std::sort(points.begin(), points.end());
    std::vector<Nanos> x, y;
    for (const auto& [time, difference] : points) {
      x.push_back(time);
      y.push_back(difference);
    }
    const RobustLine line = FitRobustLine(x, y, OperationsOf(clock) >= kSlopePoints);
    const auto c = static_cast<size_t>(clock);
    start_.slope[c] = line.slope;
    // The line counts from the first point, the slope of a clock from the origin.
    const double back = line.slope * static_cast<double>(x.front() - origin);
    start_.base[c] = line.base - static_cast<Nanos>(std::llround(back));
  }

  [[nodiscard]] size_t OperationsOf(int32_t clock) const {
    size_t count = 0;
    for (const int32_t i : start_.readings_of[static_cast<size_t>(clock)]) {
      count += static_cast<size_t>(rounds_.operations[static_cast<size_t>(start_.round_of[static_cast<size_t>(i)])]);
    }
    return count;
  }

  // Rounds much wider than those that tell most of a clock would only blur its start.
  [[nodiscard]] double WidestThatCounts(int32_t clock) const {
    std::vector<Weighted> timed;
    for (const int32_t i : start_.readings_of[static_cast<size_t>(clock)]) {
      const auto r = static_cast<size_t>(start_.round_of[static_cast<size_t>(i)]);
      const double deviation = rounds_.deviation[r];
      if (time_[r] != kNoBound) timed.push_back({deviation, 1 / (deviation * deviation)});
    }
    return kMuchWider * WeightedQuantile(&timed, 0.5);
  }

  const ClockRounds& rounds_;
  ClockStart start_;
  std::vector<int64_t> shared_;  // per clock: timed rounds
  std::vector<Nanos> time_;      // per round, common; kNoBound = no aligned member yet
};

}  // namespace

RobustLine FitRobustLine(const std::vector<Nanos>& x, const std::vector<Nanos>& y, bool with_slope) {
  std::vector<Nanos> level = y;
  const Interval flat = Shortest(&level);
  if (!with_slope || y.size() < kLeastPoints || x.back() - x.front() < kSlopeSpan) return {flat.middle, 0};
  const double slope = CrossSlope(x, y);
  for (size_t i = 0; i < y.size(); ++i) {
    level[i] = y[i] - static_cast<Nanos>(std::llround(slope * static_cast<double>(x[i] - x.front())));
  }
  const Interval tilted = Shortest(&level);
  return tilted.width < flat.width ? RobustLine{tilted.middle, slope} : RobustLine{flat.middle, 0};
}

ClockStart StartClocks(const ClockRounds& rounds, int32_t clocks, int32_t root) {
  return Grower(rounds, clocks).Grow(root);
}

}  // namespace headway::trace
