// SPDX-License-Identifier: Apache-2.0
// FormatRanks and ParseRanks of base/text.h.
#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace headway {
namespace {

constexpr size_t kMaxRanks = 10'000'000;

std::unexpected<Error> BadRanks(std::string_view text) {
  return MakeError(ErrorCode::kInvalidArgument,
                   "\"" + Printable(text, 80) + "\" is not a list of ranks; write for example 0-7,9");
}

// Takes a number from the front of `text`, with spaces around it.
bool TakeRank(std::string_view* text, RankId* rank) {
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *rank);
  if (error != std::errc() || *rank < 0) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  return true;
}

}  // namespace

std::string FormatRanks(std::span<const RankId> ranks, size_t max_parts) {
  std::string out;
  size_t parts = 0;
  const auto separate = [&] { out += parts++ == 0 ? "" : ", "; };
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] - ranks[last] <= 1) ++last;
    if (max_parts != 0 && parts >= max_parts) {
      const auto distinct =
          ranks.size() - static_cast<size_t>(std::count_if(ranks.begin() + 1, ranks.end(),
                                                           [](const RankId& rank) { return rank == *(&rank - 1); }));
      return out + ", … (" + FormatCount(static_cast<int64_t>(distinct)) + " in all)";
    }
    separate();
    out += std::to_string(ranks[i]);
    if (ranks[last] - ranks[i] == 1) {
      separate();
      out += std::to_string(ranks[last]);
    } else if (ranks[last] > ranks[i]) {
      out += "-" + std::to_string(ranks[last]);
    }
    i = last + 1;
  }
  return out;
}

Result<std::vector<RankId>> ParseRanks(std::string_view text) {
  std::vector<RankId> ranks;
  std::string_view rest = text;
  while (true) {
    RankId first = 0;
    if (!TakeRank(&rest, &first)) return BadRanks(text);
    RankId last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      if (!TakeRank(&rest, &last) || last < first) return BadRanks(text);
    }
    if (ranks.size() + static_cast<size_t>(last - first) >= kMaxRanks) {
      return MakeError(ErrorCode::kInvalidArgument, "this list holds more than 10 million ranks");
    }
    for (int64_t rank = first; rank <= last; ++rank) ranks.push_back(static_cast<RankId>(rank));
    if (rest.empty()) break;
    if (!rest.starts_with(',')) return BadRanks(text);
    rest.remove_prefix(1);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace headway
