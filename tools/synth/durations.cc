// SPDX-License-Identifier: Apache-2.0
#include "synth/durations.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace headway::synth {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t cut = text.find(separator); cut != std::string_view::npos; cut = text.find(separator)) {
    parts.push_back(text.substr(0, cut));
    text.remove_prefix(cut + 1);
  }
  parts.push_back(text);
  return parts;
}

double Number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  HEADWAY_CHECK(error == std::errc() && end == text.data() + text.size());
  return value;
}

}  // namespace

double Spread::Ratio(double u, double scale) const {
  const auto above = std::lower_bound(kProbabilities.begin(), kProbabilities.end(), u);
  double ratio;
  if (above == kProbabilities.begin()) {
    ratio = ratios.front();
  } else if (above == kProbabilities.end()) {
    ratio = ratios.back();
  } else {
    const auto i = static_cast<size_t>(above - kProbabilities.begin());
    const double part = (u - kProbabilities[i - 1]) / (kProbabilities[i] - kProbabilities[i - 1]);
    ratio = ratios[i - 1] + part * (ratios[i] - ratios[i - 1]);
  }
  return std::max(0.05, 1 + scale * (ratio - 1));
}

Durations::Durations(std::string_view table) {
  for (std::string_view line : Split(table, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> cells = Split(line, '\t');
    HEADWAY_CHECK(cells.size() >= 6);
    if (cells[0] == "shape") {
      HEADWAY_CHECK(cells.size() == 11);
      shapes_[std::string(cells[1])].push_back({std::string(cells[10]), std::string(cells[5]), std::string(cells[6]),
                                                std::string(cells[3]), std::string(cells[4]), std::string(cells[7]),
                                                std::string(cells[8]), std::string(cells[9])});
    } else if (cells[0] == "link") {
      links_[std::string(cells[1])] = {Number(cells[3]), Number(cells[4])};
    } else {
      Spread spread;
      spread.median_us = Number(cells[3]);
      const std::vector<std::string_view> ratios = Split(cells[4], ',');
      HEADWAY_CHECK(ratios.size() == kQuantiles);
      std::transform(ratios.begin(), ratios.end(), spread.ratios.begin(), Number);
      spreads_[std::string(cells[0])][std::string(cells[1])] = spread;
    }
  }
}

const Durations& Durations::Measured() {
  static const Durations kMeasured(DurationsTable());
  return kMeasured;
}

const Spread& Durations::Of(std::string_view section, std::string_view kind) const {
  const auto kinds = spreads_.find(section);
  HEADWAY_CHECK(kinds != spreads_.end());
  const auto found = kinds->second.find(kind);
  HEADWAY_CHECK(found != kinds->second.end());
  return found->second;
}

const std::vector<KernelShape>& Durations::Shapes(std::string_view kind) const {
  const auto found = shapes_.find(kind);
  HEADWAY_CHECK(found != shapes_.end());
  return found->second;
}

double Durations::StartupUs(std::string_view link) const { return links_.find(link)->second[0]; }
double Durations::BusGbs(std::string_view link) const { return links_.find(link)->second[1]; }

}  // namespace headway::synth
