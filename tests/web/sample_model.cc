// SPDX-License-Identifier: Apache-2.0
#include "tests/web/sample_model.h"

#include <algorithm>
#include <cmath>

namespace headway::sample {
namespace {

constexpr double kSlowFactor = 1.31;

bool InputSlow(const Shape& shape, int32_t rank, int32_t step) {
  return !shape.healthy && rank / shape.ranks_per_host == kSlowHost && step >= shape.steps / 2;
}

Cell OwnCell(const Shape& shape, int32_t rank, int32_t step) {
  const auto r = static_cast<uint64_t>(rank);
  const auto s = static_cast<uint64_t>(step);
  Cell cell;
  cell.compute = Ms(262 * (1 + 0.006 * Noise(r, s, 1) + 0.004 * Noise(r, 0, 2)));
  if (rank == kSlowRank && !shape.healthy)
    cell.compute = static_cast<Nanos>(static_cast<double>(cell.compute) * kSlowFactor);
  cell.memory = Ms(9 + 0.4 * Noise(r, s, 3));
  cell.host = Ms(12 + 1.5 * Noise(r, s, 4));
  cell.input = Ms(2 + 0.8 * Noise(r, s, 5)) + (InputSlow(shape, rank, step) ? Ms(96 + 9 * Noise(r, s, 6)) : 0);
  cell.transfer = Ms(24 + 0.6 * Noise(0, s, 7));
  return cell;
}

}  // namespace

double Noise(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t z =
      a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + c * 0x94d049bb133111ebULL + 0x2545f4914f6cdd1dULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) / static_cast<double>(1ULL << 52) - 1.0;
}

Nanos Ms(double ms) { return static_cast<Nanos>(std::llround(ms * 1e6)); }

Model Simulate(const Shape& shape) {
  Model model{shape, {}, {}, {}};
  for (int32_t rank = 0; rank < shape.ranks; ++rank) {
    for (int32_t step = 0; step < shape.steps; ++step) model.cells.push_back(OwnCell(shape, rank, step));
  }
  for (int32_t step = 0; step < shape.steps; ++step) {
    Nanos latest = 0;
    Nanos latest_other = 0;
    for (int32_t rank = 0; rank < shape.ranks; ++rank) {
      const Nanos own = model.At(rank, step).Own();
      latest = std::max(latest, own);
      if (rank != kSlowRank) latest_other = std::max(latest_other, own);
    }
    for (int32_t rank = 0; rank < shape.ranks; ++rank) {
      Cell& cell = model.cells[static_cast<size_t>(rank * shape.steps + step)];
      cell.wait = latest - cell.Own();
    }
    const Nanos transfer = model.At(0, step).transfer;
    model.steps.push_back(latest + transfer);
    model.without_slow_rank.push_back(latest_other + transfer);
  }
  return model;
}

Nanos Quantile(std::vector<Nanos> values, size_t percent) {
  std::ranges::sort(values);
  return values[(values.size() - 1) * percent / 100];
}

}  // namespace headway::sample
