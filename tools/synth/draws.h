// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend on *what* is drawn, not on how many draws came before: the job with a fault and the same
// job without it then see exactly the same noise, and their difference is the fault's effect alone.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace headway::synth {

// One step of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit numbers that mixes all bits.
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename... Parts>
constexpr uint64_t Key(uint64_t first, Parts... parts) {
  uint64_t key = Mix(first);
  ((key = Mix(key ^ static_cast<uint64_t>(parts))), ...);
  return key;
}

// Uniform in (0, 1).
constexpr double Uniform(uint64_t key) { return (static_cast<double>(Mix(key) >> 11) + 0.5) * 0x1p-53; }

// Standard normal, by Box and Muller.
inline double Normal(uint64_t key) {
  return std::sqrt(-2.0 * std::log(Uniform(key))) * std::cos(6.283185307179586 * Uniform(key ^ 0x5bd1e995ULL));
}

// exp(sigma N): median 1.
inline double LogNormal(uint64_t key, double sigma) { return sigma == 0 ? 1.0 : std::exp(sigma * Normal(key)); }

// A small stateful source for choices made once per job.
class Chooser {
 public:
  explicit Chooser(uint64_t seed) : state_(Mix(seed)) {}
  double Real(double low, double high) { return low + (high - low) * Uniform(state_ = Mix(state_)); }
  // Uniform in [0, n).
  int Below(int n) { return static_cast<int>(Real(0, n)); }
  bool Chance(double probability) { return Real(0, 1) < probability; }
  template <typename T, size_t N>
  T Pick(const std::array<T, N>& of) {
    return of[static_cast<size_t>(Below(static_cast<int>(N)))];
  }

 private:
  uint64_t state_;
};

}  // namespace headway::synth
