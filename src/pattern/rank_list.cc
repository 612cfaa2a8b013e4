// SPDX-License-Identifier: Apache-2.0
#include "pattern/rank_list.h"

#include <charconv>

namespace headway::pattern {

std::vector<RankId> ParseRankList(std::string_view text, bool* cut) {
  *cut = text.find("...") != std::string_view::npos;
  std::vector<RankId> ranks;
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    if (*p < '0' || *p > '9') {
      ++p;
      continue;
    }
    RankId rank = 0;
    const auto [next, error] = std::from_chars(p, end, rank);
    if (error != std::errc()) return {};
    ranks.push_back(rank);
    p = next;
  }
  return ranks;
}

}  // namespace headway::pattern
