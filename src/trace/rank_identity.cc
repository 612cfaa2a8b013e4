// SPDX-License-Identifier: Apache-2.0
#include "trace/rank_identity.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/letter_case.h"
#include "trace/name_rules.h"

namespace headway::trace {
namespace {

constexpr size_t kMostDigits = 6;  // of kLargestRank

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number whose digits begin at `i`; -1 where there is none or it is beyond kLargestRank.
RankId NumberAt(std::string_view text, size_t i) {
  RankId number = 0;
  const size_t begin = i;
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    if (i - begin >= kMostDigits) return -1;
    number = number * 10 + (text[i] - '0');
  }
  return i > begin ? number : -1;
}

// The number behind `word` and at most one separator.
RankId NumberBehind(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    size_t i = at + word.size();
    if (i < text.size() && (text[i] == '-' || text[i] == '_' || text[i] == '.' || text[i] == '=' || text[i] == ' '))
      ++i;
    if (const RankId rank = NumberAt(text, i); rank >= 0) return rank;
  }
  return -1;
}

std::string_view Stem(std::string_view name) {
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view ending : {".gz", ".zst", ".json", ".trace", ".pt", ".raw", ".tmp"}) {
      if (name.ends_with(ending)) {
        name.remove_suffix(ending.size());
        cut = true;
      }
    }
  }
  return name;
}

// "x_3", "x-3", "x.3", "3": digits at the end behind a separator.
RankId TrailingRank(std::string_view stem) {
  size_t begin = stem.size();
  while (begin > 0 && IsDigit(stem[begin - 1])) --begin;
  if (begin == stem.size()) return -1;
  if (begin > 0 && stem[begin - 1] != '_' && stem[begin - 1] != '-' && stem[begin - 1] != '.') return -1;
  return NumberAt(stem, begin);
}

std::string_view LastPart(std::string_view path) {
  const size_t slash = path.find_last_of("/\\:");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

RankId RankFromFileName(std::string_view source) {
  const std::string lower = Lower(source);
  const std::string_view path = lower;
  const std::string_view name = LastPart(path);
  const std::string_view folders = path.substr(0, path.size() - name.size());
  const std::string_view folder = LastPart(folders.empty() ? folders : folders.substr(0, folders.size() - 1));
  for (const std::string_view word : {"rank", "worker"}) {
    if (const RankId rank = NumberBehind(name, word); rank >= 0) return rank;
  }
  if (const RankId rank = NumberBehind(folder, "rank"); rank >= 0) return rank;
  return TrailingRank(Stem(name));
}

Result<RankMap> RankMap::Parse(std::string_view text, const std::string& where) {
  RankMap map;
  int line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty()) continue;
    const size_t gap = line.find_last_of(" \t");
    const RankId rank = gap == std::string_view::npos ? -1 : NumberAt(line, gap + 1);
    if (rank < 0 || !std::all_of(line.begin() + static_cast<std::ptrdiff_t>(gap) + 1, line.end(), IsDigit)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "A line of the rank map must be: path-or-glob rank, the rank a whole number from 0 to " +
                           std::to_string(kLargestRank) + ".",
                       where + ", line " + std::to_string(line_number));
    }
    std::string_view pattern = line.substr(0, gap);
    while (pattern.ends_with(' ') || pattern.ends_with('\t')) pattern.remove_suffix(1);
    map.entries_.emplace_back(pattern, rank);
  }
  return map;
}

RankId RankMap::Find(std::string_view source) const {
  for (const auto& [pattern, rank] : entries_) {
    if (MatchGlob(pattern, source) || MatchGlob(pattern, LastPart(source))) return rank;
  }
  return -1;
}

std::vector<size_t> AssignRanks(const std::vector<RankMeta*>& metas, const RankMap& map, ImportLog* log) {
  std::vector<size_t> order(metas.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return metas[a]->source < metas[b]->source; });

  for (const size_t i : order) {
    RankMeta& meta = *metas[i];
    if (meta.rank <= kLargestRank) continue;
    log->Add(ProblemKind::kGuessed, "rank-out-of-range", -1, std::to_string(meta.rank) + " in " + meta.source);
    meta.rank = RankFromFileName(meta.source);
    meta.rank_source = "file name";
  }
  std::map<RankId, std::vector<size_t>> claims;  // of the content
  for (const size_t i : order) {
    RankMeta& meta = *metas[i];
    if (const RankId rank = map.Find(meta.source); rank >= 0) {
      meta.rank = rank;
      meta.rank_source = "--rank-map";
    } else if (meta.rank >= 0 && meta.rank_source == "content") {
      claims[meta.rank].push_back(i);
    }
  }
  for (const auto& [rank, files] : claims) {
    std::set<RankId> names;
    for (const size_t i : files) names.insert(RankFromFileName(metas[i]->source));
    if (files.size() < 2 || names.size() != files.size() || names.contains(-1)) continue;
    for (const size_t i : files) {
      metas[i]->rank = RankFromFileName(metas[i]->source);
      metas[i]->rank_source = "file name";
    }
    log->Add(ProblemKind::kGuessed, "rank-conflict", -1, metas[files[0]]->source);
  }

  std::vector<size_t> left_out;
  std::set<RankId> taken;
  for (const size_t i : order) {
    if (metas[i]->rank < 0 || taken.insert(metas[i]->rank).second) continue;
    log->Add(ProblemKind::kDropped, "duplicate-rank", -1, metas[i]->source);
    left_out.push_back(i);
  }
  RankId next = 0;
  for (const size_t i : order) {
    if (metas[i]->rank >= 0) continue;
    while (taken.contains(next)) ++next;
    taken.insert(next);
    metas[i]->rank = next;
    metas[i]->rank_source = "assumed";
    log->Add(ProblemKind::kGuessed, "rank-assumed", -1, metas[i]->source);
  }
  std::sort(left_out.begin(), left_out.end());
  return left_out;
}

std::vector<RankId> MissingRanks(const std::vector<RankMeta*>& metas, int world_size) {
  std::set<RankId> present;
  for (const RankMeta* meta : metas) present.insert(meta->rank);
  std::vector<RankId> missing;
  for (RankId rank = 0; rank < world_size; ++rank) {
    if (!present.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

}  // namespace headway::trace
