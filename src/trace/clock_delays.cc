// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_delays.h"

#include <algorithm>

namespace headway::trace {
namespace {

constexpr size_t kMostStretches = 64;
constexpr double kDriftWithin = 1e-4;  // what drift may move a clock within a stretch
constexpr Nanos kLoose = 100 * kMicrosecond;

struct Stretch {
  int32_t up = 0, down = 0;            // messages
  Nanos least_up = 0, least_down = 0;  // delays
  Nanos at_up = 0, at_down = 0;

  [[nodiscard]] Nanos HalfSum() const { return std::max<Nanos>(0, (least_up + least_down) >> 1); }
};

void Keep(int32_t* count, Nanos* least, Nanos* at, Nanos delay, Nanos when) {
  if ((*count)++ > 0 && (delay > *least || (delay == *least && when >= *at))) return;
  *least = delay;
  *at = when;
}

std::vector<Stretch> Divide(const DelayRounds::Pair& pair, Nanos first, Nanos width, size_t count) {
  std::vector<Stretch> stretches(count);
  for (const auto& d : pair.up) {
    Stretch& s = stretches[static_cast<size_t>((d.at - first) / width)];
    Keep(&s.up, &s.least_up, &s.at_up, d.delay, d.at);
  }
  for (const auto& d : pair.down) {
    Stretch& s = stretches[static_cast<size_t>((d.at - first) / width)];
    Keep(&s.down, &s.least_down, &s.at_down, d.delay, d.at);
  }
  return stretches;
}

Nanos HalfSumAt(const std::vector<Stretch>& stretches, double q) {
  std::vector<Nanos> sums;
  for (const Stretch& s : stretches) sums.push_back(s.HalfSum());
  std::sort(sums.begin(), sums.end());
  return sums[static_cast<size_t>(q * static_cast<double>(sums.size() - 1))];
}

// A message that was paired with the wrong one may seem received long before it was sent: nothing far below what one in
// twenty is below counts. Two clocks may drift apart by `within` over the window.
std::vector<DelayRounds::Delay> Credible(const std::vector<DelayRounds::Delay>& delays, Nanos within) {
  std::vector<Nanos> sorted;
  for (const auto& d : delays) sorted.push_back(d.delay);
  std::sort(sorted.begin(), sorted.end());
  const Nanos least = sorted[sorted.size() / 20] - within - kRecordedLate;
  std::vector<DelayRounds::Delay> out;
  for (const auto& d : delays) {
    if (d.delay >= least) out.push_back(d);
  }
  return out;
}

// When the first and the last of them was.
std::pair<Nanos, Nanos> WindowOf(const DelayRounds::Pair& pair) {
  const DelayRounds::Delay& any = pair.up.empty() ? pair.down.front() : pair.up.front();
  std::pair<Nanos, Nanos> window{any.at, any.at};
  for (const auto* way : {&pair.up, &pair.down}) {
    for (const auto& d : *way) window = {std::min(window.first, d.at), std::max(window.second, d.at)};
  }
  return window;
}

Nanos DriftOver(Nanos time) { return static_cast<Nanos>(kFastestDrift * static_cast<double>(time)); }

// Whether sends wait for their receives: in a good part of the stretches some receive surely began later than its send
// (by more than the least delay there is), and hardly ever it took less than no time there and back. A send that had
// not waited for that receive would have ended before it, and so by less than no time.
bool DoWait(const DelayRounds::Pair& pair) {
  constexpr size_t kFew = 10, kGoodPart = 8;  // one in so many
  constexpr size_t kEnough = 8;               // delays of one message are never at odds with each other
  const auto [first, last] = WindowOf(pair);
  const size_t count = std::clamp<size_t>(std::min(pair.up.size(), pair.down.size()) / kEnough, 1, kMostStretches);
  const Nanos width = (last - first) / static_cast<Nanos>(count) + 1;
  const Nanos slack = 2 * kRecordedLate + DriftOver(width);
  const std::vector<Stretch> stretches = Divide(pair, first, width, count);
  const auto tells = [](const Stretch& s) { return s.up > 0 && s.down > 0; };
  const auto fails = [&](const Stretch& s) { return tells(s) && s.least_up + s.least_down < -slack; };
  std::vector<bool> waits(count, false);
  const auto note = [&](const std::vector<DelayRounds::Delay>& late, Nanos Stretch::* least) {
    for (const auto& d : late) {
      const auto at = static_cast<size_t>((d.at - first) / width);
      const Stretch& s = stretches[at];
      if (tells(s) && !fails(s) && d.delay > s.*least + slack) waits[at] = true;
    }
  };
  note(pair.late_up, &Stretch::least_up);
  note(pair.late_down, &Stretch::least_down);
  const auto tell = static_cast<size_t>(std::ranges::count_if(stretches, tells));
  return kFew * static_cast<size_t>(std::ranges::count_if(stretches, fails)) <= tell &&
         kGoodPart * static_cast<size_t>(std::ranges::count(waits, true)) >= tell;
}

}  // namespace

void DelayRounds::Add(const Message& message) {
  const bool up = message.from < message.to;
  Pair& pair = pairs_[{std::min(message.from, message.to), std::max(message.from, message.to)}];
  (up ? pair.up : pair.down).push_back({up ? message.sent : message.received, message.received - message.sent});
  if (message.ready == kNoBound || message.left == kNoBound) return;
  (up ? pair.waited_down : pair.waited_up).push_back({up ? message.left : message.ready, message.left - message.ready});
  (up ? pair.late_up : pair.late_down).push_back({up ? message.sent : message.ready, message.ready - message.sent});
}

void DelayRounds::Settle() {
  for (auto& [clocks, pair] : pairs_) {
    if (pair.up.empty() || pair.down.empty()) continue;
    Pair all{pair.up, pair.down, {}, {}, pair.late_up, pair.late_down};
    all.up.insert(all.up.end(), pair.waited_up.begin(), pair.waited_up.end());
    all.down.insert(all.down.end(), pair.waited_down.begin(), pair.waited_down.end());
    if (DoWait(all)) pair = std::move(all);
  }
}

bool DelayRounds::BothWays(int32_t a, int32_t b) const {
  const auto at = pairs_.find({std::min(a, b), std::max(a, b)});
  return at != pairs_.end() && !at->second.up.empty() && !at->second.down.empty();
}

void DelayRounds::AppendTo(ClockRounds* rounds) const {
  for (const auto& [clocks, pair] : pairs_) {
    if (!pair.up.empty() && !pair.down.empty()) AppendPair(clocks.first, clocks.second, pair, rounds);
  }
}

void DelayRounds::AppendPair(int32_t low, int32_t high, const Pair& all, ClockRounds* rounds) {
  const auto [first, last] = WindowOf(all);
  const Nanos apart = DriftOver(last - first);
  const Pair pair{Credible(all.up, apart), Credible(all.down, apart), {}, {}, {}, {}};
  std::vector<Stretch> best;
  double lowest = 0;
  for (size_t count = kMostStretches; count > 0; count /= 2) {
    const Nanos width = (last - first) / static_cast<Nanos>(count) + 1;
    std::vector<Stretch> stretches = Divide(pair, first, width, count);
    std::erase_if(stretches, [](const Stretch& s) { return s.up == 0 || s.down == 0; });
    if (2 * stretches.size() < count) continue;
    const double cost = static_cast<double>(HalfSumAt(stretches, 0.5)) + kDriftWithin * static_cast<double>(width);
    if (!best.empty() && cost >= lowest) continue;
    lowest = cost;
    best = std::move(stretches);
  }
  const Nanos limit = 2 * HalfSumAt(best, 0.25) + kLoose;
  const Nanos bound = std::min(HalfSumAt(best, 0.5), limit) + kRecordedLate;
  std::erase_if(best, [&](const Stretch& s) { return s.HalfSum() > limit; });
  for (const Stretch& s : best) {
    // Shifts round down, so that a constant added to a clock stays that constant.
    const Nanos at = first + ((s.at_up - first + s.at_down - first) >> 1);
    rounds->readings.push_back({.clock = low, .end = at});
    rounds->readings.push_back({.clock = high, .end = at + ((s.least_up - s.least_down) >> 1)});
    rounds->Close(static_cast<double>(std::max(s.HalfSum(), kLoose)), 0, bound, std::min(s.up, s.down));
  }
}

}  // namespace headway::trace
