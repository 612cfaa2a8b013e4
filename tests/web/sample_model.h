// SPDX-License-Identifier: Apache-2.0
// The made-up job behind the sample reports: own time by class of every rank in every step, and who waits how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/web/sample_report.h"

namespace headway::sample {

inline constexpr RankId kSlowRank = 19;
inline constexpr int32_t kSlowHost = 5;
inline constexpr RankId kMissingRank = 41;

struct Cell {
  Nanos compute = 0;
  Nanos memory = 0;
  Nanos host = 0;
  Nanos input = 0;
  Nanos transfer = 0;
  Nanos wait = 0;
  [[nodiscard]] Nanos Own() const { return compute + memory + host + input; }
  [[nodiscard]] Nanos Step() const { return Own() + transfer + wait; }
};

struct Model {
  Shape shape;
  std::vector<Cell> cells;  // ranks x steps
  std::vector<Nanos> steps;
  std::vector<Nanos> without_slow_rank;

  [[nodiscard]] const Cell& At(int32_t rank, int32_t step) const {
    return cells[static_cast<size_t>(rank * shape.steps + step)];
  }
};

[[nodiscard]] Model Simulate(const Shape& shape);

// A number in [-1, 1] that depends on its arguments alone (splitmix64).
[[nodiscard]] double Noise(uint64_t a, uint64_t b, uint64_t c);
[[nodiscard]] Nanos Ms(double ms);
[[nodiscard]] Nanos Quantile(std::vector<Nanos> values, size_t percent);

// Sections and fields of the report, from the model.
void AddPlaces(const Shape& shape, report::ReportDoc* doc);
void AddBreakdown(const Model& model, report::ReportDoc* doc);
void AddBars(const Model& model, report::ReportDoc* doc);
void AddHeat(const Model& model, report::ReportDoc* doc);
void AddStepTimes(const Model& model, report::ReportDoc* doc);
void AddTables(const Shape& shape, report::ReportDoc* doc);
void AddQuality(const Shape& shape, report::ReportDoc* doc);

}  // namespace headway::sample
