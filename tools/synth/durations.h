// SPDX-License-Identifier: Apache-2.0
// Durations measured in real traces (durations.tsv, written by extract_durations.py, compiled in).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headway::synth {

inline constexpr size_t kQuantiles = 17;
// Probabilities of the recorded quantiles.
inline constexpr std::array<double, kQuantiles> kProbabilities = {0.01, 0.04, 0.10, 0.16, 0.23, 0.30, 0.37, 0.44, 0.50,
                                                                  0.56, 0.63, 0.70, 0.77, 0.84, 0.90, 0.96, 0.99};

// One kind of operation. Ratios are duration / median of operations that should take the same time.
struct Spread {
  double median_us = 0;
  std::array<double, kQuantiles> ratios{};
  // A draw of the ratio, around 1; `scale` stretches the deviation from 1. u in (0, 1).
  double Ratio(double u, double scale) const;
};

// The launch of a real kernel, for the arguments of kernel events.
struct KernelShape {
  std::string name, grid, block;
  std::string registers, shared_memory, blocks_per_sm, warps_per_sm, occupancy;
};

class Durations {
 public:
  // Parses the table; a malformed one is a bug of the build (CHECK).
  explicit Durations(std::string_view table);
  // The table compiled in; parsed once.
  static const Durations& Measured();

  // section: kernel, call, host, cpu, copy. An unknown kind is a bug (CHECK).
  const Spread& Of(std::string_view section, std::string_view kind) const;
  const std::vector<KernelShape>& Shapes(std::string_view kind) const;
  double StartupUs(std::string_view link) const;
  double BusGbs(std::string_view link) const;

 private:
  std::map<std::string, std::map<std::string, Spread, std::less<>>, std::less<>> spreads_;  // by section and kind
  std::map<std::string, std::vector<KernelShape>, std::less<>> shapes_;
  std::map<std::string, std::array<double, 2>, std::less<>> links_;
};

// The text of durations.tsv.
std::string_view DurationsTable();

}  // namespace headway::synth
