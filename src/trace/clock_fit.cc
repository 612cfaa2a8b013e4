// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "trace/clock_bias.h"
#include "trace/clock_scatter.h"
#include "trace/clock_start.h"
#include "trace/weighted_quantile.h"

namespace headway::trace {
namespace {

constexpr int kMaxSweeps = 60;
constexpr double kSettled = 0.5;   // ns: a sweep that moves nothing further ends the fit
constexpr double kRounding = 100;  // ns: spreads below it are rounding
constexpr double kWidest = 3;      // times the tighter quarter: what all rounds lie within if alike
constexpr int64_t kDriftRounds = 50;
constexpr double kDriftSpan = 1e9;        // ns
constexpr double kDriftSignificance = 5;  // standard errors
constexpr double kDriftEffect = 1.5;      // a drift must move ends by more than they scatter
constexpr double kFewRounds = 25;
constexpr double kLargestDrift = 1e-3;   // no quartz is that far off
constexpr double kCausalSlack = 1000;    // ns: times may be whole microseconds
constexpr double kSmallViolation = 1e5;  // ns: see EnforceOrder
constexpr double kLargestViolation = 1e9;
constexpr int kBatches = 8;

class Fitter {
 public:
  Fitter(const ClockRounds& rounds, int32_t clocks, int32_t root)
      : rounds_(rounds),
        start_(StartClocks(rounds, clocks, root)),
        theta_(static_cast<size_t>(clocks)),
        slope_(start_.slope) {
    const size_t n = rounds.readings.size();
    x_.resize(n);
    residual_.resize(n);
    weight_.assign(n, 1);
    for (size_t i = 0; i < n; ++i) x_[i] = Local(rounds.readings[i].clock, rounds.readings[i].end);
    centre_.resize(rounds.size());
    spread_.resize(rounds.size());
    narrow_.resize(rounds.size());
    for (size_t r = 0; r < rounds.size(); ++r) {
      const double variance = std::pow(rounds.deviation[r], 2) + (rounds.alike[r] - 1) * std::pow(rounds.lasting[r], 2);
      narrow_[r] = std::pow(ClockRounds::kOfDevices, 2) / variance;
    }
  }

  ClockFits Fit() {
    MarkDriftable();
    Settle();
    DropInsignificantDrift();
    EnforceOrder();
    return Publish();
  }

 private:
  // Time on the first alignment's common axis, from its component's origin: small, and free of any constant that was
  // added to a clock.
  [[nodiscard]] double Local(int32_t clock, Nanos own) const {
    const auto c = static_cast<size_t>(clock);
    return static_cast<double>(own - start_.base[c] - start_.origin[c]);
  }
  [[nodiscard]] double Aligned(int32_t clock, double x) const {
    const auto c = static_cast<size_t>(clock);
    return x - theta_[c] - slope_[c] * x;
  }

  void MarkDriftable() {
    const size_t clocks = theta_.size();
    std::vector<double> low(clocks, 0), high(clocks, 0);
    count_.assign(clocks, 0);
    for (size_t i = 0; i < x_.size(); ++i) {
      const auto c = static_cast<size_t>(rounds_.readings[i].clock);
      low[c] = count_[c] == 0 ? x_[i] : std::min(low[c], x_[i]);
      high[c] = count_[c] == 0 ? x_[i] : std::max(high[c], x_[i]);
      count_[c] += rounds_.operations[RoundOf(static_cast<int32_t>(i))];
    }
    drifts_.resize(clocks);
    for (size_t c = 0; c < clocks; ++c) {
      span_.push_back(high[c] - low[c]);
      drifts_[c] = count_[c] >= kDriftRounds && span_[c] >= kDriftSpan ? 1 : 0;
      if (drifts_[c] == 0) slope_[c] = 0;
    }
    // Drift counts from the component's root, or, where that one has too little, from the clock with most rounds.
    drift_root_ = start_.root;
    for (size_t c = 0; c < clocks; ++c) {
      if (start_.root[c] < 0 || drifts_[static_cast<size_t>(start_.root[c])] != 0 || drifts_[c] == 0) continue;
      int32_t& root = drift_root_[static_cast<size_t>(start_.root[c])];
      if (drifts_[static_cast<size_t>(root)] == 0 || count_[c] > count_[static_cast<size_t>(root)]) {
        root = static_cast<int32_t>(c);
      }
    }
  }

  void Settle() {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      CentreRounds();
      if (MoveClocks() < kSettled) break;
    }
    CentreRounds();
  }

  // The instant of each round as its members' weighted mean, how far they lie apart against what is natural for it, and
  // the scale of the tightest, where rounds count by how much they can tell.
  void CentreRounds() {
    for (size_t r = 0; r < rounds_.size(); ++r) {
      const auto first = static_cast<size_t>(rounds_.begin[r]);
      const auto last = static_cast<size_t>(rounds_.begin[r + 1]);
      double sum = 0, weights = 0;
      for (size_t i = first; i < last; ++i) {
        residual_[i] = Aligned(rounds_.readings[i].clock, x_[i]);
        sum += weight_[i] * residual_[i];
        weights += weight_[i];
      }
      centre_[r] = sum / weights;
      double square = 0;
      for (size_t i = first; i < last; ++i) {
        residual_[i] -= centre_[r];
        square += weight_[i] * residual_[i] * residual_[i];
      }
      const auto n = static_cast<double>(last - first);
      spread_[r] = std::sqrt(square / weights * n / (n - 1)) / rounds_.deviation[r];
    }
    std::vector<Weighted> spreads(rounds_.size());
    for (size_t r = 0; r < rounds_.size(); ++r) spreads[r] = {spread_[r], narrow_[r]};
    const double tight = WeightedQuantile(&spreads, 0.25);
    scale_ = std::min(WeightedQuantile(&spreads, 0.75), kWidest * tight);
  }

  // Tight rounds count, and in them members near the centre: a link that delays one member most of the time must not
  // move its clock.
  double MoveClocks() {
    const size_t clocks = theta_.size();
    std::vector<std::array<double, 5>> sums(clocks, {0, 0, 0, 0, 0});
    for (size_t r = 0; r < rounds_.size(); ++r) {
      const double of_round = RoundWeight(r);
      for (auto i = static_cast<size_t>(rounds_.begin[r]); i < static_cast<size_t>(rounds_.begin[r + 1]); ++i) {
        const double e = residual_[i] / (3 * ScaleOf(r));
        weight_[i] = 1 / ((1 + e * e) * (1 + e * e));
        const double w = weight_[i] * of_round;
        auto& s = sums[static_cast<size_t>(rounds_.readings[i].clock)];
        s[0] += w;
        s[1] += w * x_[i];
        s[2] += w * x_[i] * x_[i];
        s[3] += w * residual_[i];
        s[4] += w * x_[i] * residual_[i];
      }
    }
    std::vector<double> by(clocks, 0), turn(clocks, 0);
    for (size_t c = 0; c < clocks; ++c) {
      const auto& [w, wx, wxx, wr, wxr] = sums[c];
      if (w <= 0) continue;
      const double determinant = w * wxx - wx * wx;
      if (drifts_[c] != 0 && determinant > 0) {
        turn[c] = (w * wxr - wx * wr) / determinant;
        by[c] = (wr - turn[c] * wx) / w;
      } else {
        by[c] = wr / w;
      }
    }
    return Apply(by, turn);
  }

  // Moves by `by` and `turn` less the root's own, which stays where it is. Returns the largest move.
  double Apply(const std::vector<double>& by, const std::vector<double>& turn) {
    double largest = 0;
    for (size_t c = 0; c < theta_.size(); ++c) {
      if (start_.root[c] < 0) continue;
      const auto root = static_cast<size_t>(start_.root[c]);
      const double move = by[c] - by[root];
      const double tilt = drifts_[c] != 0 ? turn[c] - turn[static_cast<size_t>(drift_root_[root])] : 0;
      theta_[c] += move;
      slope_[c] += tilt;
      largest = std::max(largest, std::abs(move) + std::abs(tilt) * kDriftSpan);
    }
    return largest;
  }

  void DropInsignificantDrift() {
    const size_t clocks = theta_.size();
    bool dropped = false;
    for (size_t c = 0; c < clocks; ++c) {
      const bool is_root =
          start_.root[c] >= 0 && drift_root_[static_cast<size_t>(start_.root[c])] == static_cast<int32_t>(c);
      if (drifts_[c] == 0 || is_root) continue;
      const double drift = std::abs(slope_[c]);
      const bool matters = drift * span_[c] > kDriftEffect * ScatterAt(c).ends && drift < kLargestDrift;
      if (matters && drift > kDriftSignificance * DriftError(static_cast<int32_t>(c))) continue;
      drifts_[c] = 0;
      slope_[c] = 0;
      dropped = true;
    }
    if (dropped) Settle();
  }

  // Standard error of a clock's drift against the rest: from independent residuals, and from means of stretches of the
  // window, which sees disturbances that last; the larger counts.
  double DriftError(int32_t clock) {
    std::array<double, kBatches> sum{}, where{}, n{};
    const auto& mine = start_.readings_of[static_cast<size_t>(clock)];
    const auto at = [this](int32_t i) { return x_[static_cast<size_t>(i)]; };
    const auto [least, most] = std::ranges::minmax_element(mine, {}, at);
    const double low = at(*least), high = at(*most);
    double weights = 0, squares = 0, sx = 0;
    for (const int32_t i : mine) {
      const double w = FitWeight(static_cast<size_t>(i));
      weights += w;
      squares += w * w;
      sx += w * x_[static_cast<size_t>(i)];
    }
    const double mean = sx / weights;
    double square = 0, sxx = 0;
    for (const int32_t index : mine) {
      const auto i = static_cast<size_t>(index);
      const auto b = std::min<size_t>(kBatches - 1, static_cast<size_t>((x_[i] - low) / (high - low) * kBatches));
      const double e = FullResidual(i), w = FitWeight(i), x = x_[i] - mean;
      sum[b] += w * e;
      where[b] += w * x_[i];
      n[b] += w;
      square += w * w * x * x * e * e;
      sxx += w * x * x;
    }
    const double independent = std::sqrt(square) / std::max(sxx, 1.0);
    // A constant is none of a drift's: a slow link may part the ends by the same each time.
    const double constant = std::accumulate(sum.begin(), sum.end(), 0.0) / weights;
    double rest = 0, spread = 0, used = 0;
    for (size_t b = 0; b < kBatches; ++b) {
      if (n[b] <= 0) continue;
      rest += std::pow(sum[b] / n[b] - constant, 2);
      spread += (where[b] / n[b] - mean) * (where[b] / n[b] - mean);
      ++used;
    }
    const double lasting = used > 2 && spread > 0 ? std::sqrt(rest / (used - 2) / spread) : independent;
    // Weights that were fitted too make residuals look smaller than they are, the more so the fewer there are.
    return std::max(independent, lasting) * (1 + kFewRounds * squares / (weights * weights));
  }

  // How far the ends of a round lie apart if it is one of the tight ones, ns.
  [[nodiscard]] double ScaleOf(size_t r) const { return std::max(scale_ * rounds_.deviation[r], kRounding); }
  [[nodiscard]] double RoundWeight(size_t r) const {
    const double ratio = spread_[r] * rounds_.deviation[r] / ScaleOf(r);
    return narrow_[r] / (1 + ratio * ratio);
  }
  [[nodiscard]] double FitWeight(size_t reading) const {
    return weight_[reading] * RoundWeight(static_cast<size_t>(start_.round_of[reading]));
  }

  // Distance to the other members: a centre of two lies half way.
  [[nodiscard]] double FullResidual(size_t reading) const {
    const auto r = static_cast<size_t>(start_.round_of[reading]);
    const double n = rounds_.begin[r + 1] - rounds_.begin[r];
    return residual_[reading] * n / (n - 1);
  }

  struct Order {
    int32_t early = -1, late = -1;  // clock that ends, clock that begins
    double violation = 0;           // how much too early; negative = room
  };

  // The tightest order a round demands between two different clocks.
  [[nodiscard]] Order TightestOrder(size_t r) const {
    std::array<std::pair<double, int32_t>, 2> ends{{{0, -1}, {0, -1}}}, starts{{{0, -1}, {0, -1}}};
    for (auto i = static_cast<size_t>(rounds_.begin[r]); i < static_cast<size_t>(rounds_.begin[r + 1]); ++i) {
      const ClockReading& reading = rounds_.readings[i];
      if (reading.first_end != kNoBound) {
        Keep(&ends, -Aligned(reading.clock, Local(reading.clock, reading.first_end)), reading.clock);
      }
      if (reading.last_start != kNoBound) {
        Keep(&starts, Aligned(reading.clock, Local(reading.clock, reading.last_start)), reading.clock);
      }
    }
    Order order;
    for (const auto& [end, early] : ends) {
      for (const auto& [start, late] : starts) {
        if (early < 0 || late < 0 || early == late) continue;
        if (order.early < 0 || start + end > order.violation) order = {early, late, start + end};
      }
    }
    return order;
  }

  static void Keep(std::array<std::pair<double, int32_t>, 2>* top, double value, int32_t clock) {
    if ((*top)[0].second < 0 || value > (*top)[0].first) {
      (*top)[1] = (*top)[0];
      (*top)[0] = {value, clock};
    } else if ((*top)[1].second < 0 || value > (*top)[1].first) {
      (*top)[1] = {value, clock};
    }
  }

  // Pushes clocks apart until nobody ends before the last has begun: first the small violations, then larger ones, as
  // long as all can be met together. What cannot is no matter of clocks (rows that do not belong together): counted.
  void EnforceOrder() {
    const auto narrowest = std::min_element(rounds_.deviation.begin(), rounds_.deviation.end());
    const double scale = narrowest == rounds_.deviation.end() ? 0 : scale_ * *narrowest;
    for (double limit = std::max(kSmallViolation, 20 * scale); limit < kLargestViolation; limit *= 4) {
      const std::vector<double> before = theta_;
      if (PushApart(limit)) continue;
      theta_ = before;
      break;
    }
    CentreRounds();
  }

  // True when no violation of at most `limit` is left.
  bool PushApart(double limit) {
    const std::vector<double> no_turn(theta_.size(), 0);
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      std::vector<double> later(theta_.size(), 0), earlier(theta_.size(), 0);
      bool moved = false;
      for (size_t r = 0; r < rounds_.size(); ++r) {
        const Order order = TightestOrder(r);
        if (order.early < 0 || order.violation <= kCausalSlack || order.violation > limit) continue;
        auto& up = later[static_cast<size_t>(order.early)];
        auto& down = earlier[static_cast<size_t>(order.late)];
        up = std::max(up, order.violation / 2);
        down = std::max(down, order.violation / 2);
        moved = true;
      }
      if (!moved) return true;
      for (size_t c = 0; c < later.size(); ++c) earlier[c] -= later[c];
      Apply(earlier, no_turn);
    }
    return false;
  }

  ClockFits Publish() {
    ClockFits fits;
    fits.clocks.resize(theta_.size());
    constexpr double kUnbounded = 1e18;
    std::vector<double> up(theta_.size(), kUnbounded), down(theta_.size(), kUnbounded);
    for (size_t r = 0; r < rounds_.size(); ++r) {
      const Order order = TightestOrder(r);
      if (order.early < 0) continue;
      if (order.violation > kCausalSlack) {
        ++fits.violations;
        fits.worst_violation = std::max(fits.worst_violation, static_cast<Nanos>(order.violation));
        continue;
      }
      auto& room = down[static_cast<size_t>(order.early)];  // how far its clock may still go back
      room = std::min(room, std::max(0.0, -order.violation));
      auto& ahead = up[static_cast<size_t>(order.late)];
      ahead = std::min(ahead, std::max(0.0, -order.violation));
    }
    const std::vector<Nanos> bias = BiasFromRoots(rounds_, start_.root);
    for (size_t c = 0; c < theta_.size(); ++c) {
      ClockFit& fit = fits.clocks[c];
      fit.rounds = count_[c];
      fit.component = start_.root[c];
      if (fit.component < 0) continue;
      fit.offset = -start_.base[c] - static_cast<Nanos>(std::llround(theta_[c]));
      fit.drift = 0 - slope_[c];
      fit.reference = start_.base[c] + start_.origin[c];
      const double room = (up[c] + down[c]) / 2;
      const Scatter scatter = ScatterAt(c);
      // The room bounds a constant, not what a drift that was not fitted does over the window.
      const double most = std::max(std::min(std::max(scatter.ends, scatter.lasting), room), scatter.wander);
      fit.residual = static_cast<Nanos>(std::ceil(std::max(most, kCausalSlack))) + bias[c];
    }
    return fits;
  }

  [[nodiscard]] Scatter ScatterAt(size_t clock) const {
    std::vector<RoundEnd> ends;
    for (const int32_t i : start_.readings_of[clock]) {
      const size_t r = RoundOf(i);
      const auto at = static_cast<size_t>(i);
      ends.push_back({FullResidual(at), spread_[r], rounds_.lasting[r], narrow_[r], x_[at],
                      rounds_.begin[r + 1] - rounds_.begin[r]});
    }
    return ScatterOf(ends);
  }
  [[nodiscard]] size_t RoundOf(int32_t i) const { return static_cast<size_t>(start_.round_of[static_cast<size_t>(i)]); }

  const ClockRounds& rounds_;
  ClockStart start_;
  std::vector<double> theta_, slope_;          // per clock, against `start_`
  std::vector<char> drifts_;                   // per clock: its slope is fitted
  std::vector<int32_t> drift_root_;            // per root
  std::vector<int64_t> count_;                 // per clock: operations
  std::vector<double> span_;                   // per clock: from its first to its last round
  std::vector<double> x_, residual_, weight_;  // per reading
  std::vector<double> centre_, spread_;        // per round; spreads in deviations
  std::vector<double> narrow_;                 // per round: what its ends can tell; 1 = those of a short operation
  double scale_ = 1;                           // in deviations
};

}  // namespace

ClockFits FitClocks(const ClockRounds& rounds, int32_t clocks, int32_t root) {
  return Fitter(rounds, clocks, root).Fit();
}

}  // namespace headway::trace
