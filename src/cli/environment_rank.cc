// SPDX-License-Identifier: Apache-2.0
#include "cli/environment_rank.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace headway::cli {
namespace {

RankId NumberIn(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return -1;
  const std::string_view text = value;
  RankId rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc() && end == text.data() + text.size() && rank >= 0 ? rank : -1;
}

}  // namespace

RankId EnvironmentRank() {
  // torchrun first: under srun it is started once a host, and Slurm's number is the host's. Many set RANK alone.
  if (NumberIn("WORLD_SIZE") > 0) {
    if (const RankId rank = NumberIn("RANK"); rank >= 0) return rank;
  }
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const RankId rank = NumberIn(name); rank >= 0) return rank;
  }
  return -1;
}

}  // namespace headway::cli
