// SPDX-License-Identifier: Apache-2.0
#include "diagnose/common_steps.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {
namespace {

using pattern::RankPattern;

bool IsCut(const RankPattern& rank) {
  return rank.log.Count("truncated-tail") + rank.log.Count("file-damaged") + rank.log.Count("file-unreadable") > 0;
}

// Of a file that was cut off: how many steps are whole. Files are written lane by lane within a stretch of time, so
// marks may reach further than kernels: the step in which anything ends that others wait for is the last with any.
size_t WholeSteps(const RankPattern& rank) {
  size_t communicates = 0, computes = 0;  // steps up to the last one that does
  for (const trace::CommInstance& row : rank.comms.instances) {
    communicates = std::max(communicates, static_cast<size_t>(row.step + 1));
  }
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    if (rank.steps[i].device_rows > 0) computes = i + 1;
  }
  size_t reached = rank.steps.size();
  if (communicates > 0) reached = std::min(reached, communicates);
  if (rank.has_device) reached = std::min(reached, computes);
  return reached == 0 ? 0 : reached - 1;
}

std::string DropBrokenSteps(bool alone, RankPattern* rank) {
  std::string text = "the file of rank " + std::to_string(rank->meta.rank) + " is cut off or damaged";
  const size_t whole = WholeSteps(*rank);
  if (rank->steps.empty() || (whole == 0 && !alone)) {
    if (!rank->steps.empty()) SelectSteps(1, 0, rank);
    return text + ", no step of it is whole";
  }
  if (whole == 0) return text + ", its first step, too";  // of one rank that is all there is
  SelectSteps(INT64_MIN, rank->steps[whole - 1].number, rank);
  return text + ": its last whole step is #" + std::to_string(rank->steps.back().number) +
         ", what follows is not compared";
}

std::vector<int64_t> NumbersOfMost(const std::vector<RankPattern>& ranks) {
  std::map<int64_t, size_t> seen;
  size_t with_steps = 0;
  for (const RankPattern& rank : ranks) {
    with_steps += rank.steps.empty() ? 0 : 1;
    for (const pattern::Step& step : rank.steps) ++seen[step.number];
  }
  std::vector<int64_t> out;
  for (const auto& [number, count] : seen) {
    if (count * 4 >= with_steps * 3) out.push_back(number);
  }
  return out;
}

std::string Range(int64_t first, int64_t last) {
  return (first == last ? "step #" : "steps #") + std::to_string(first) +
         (first == last ? "" : "-" + std::to_string(last));
}

// "ranks 0, 2 have steps #1-5, ranks 1, 3 have steps #6-10"
std::string WhoHasWhich(const std::vector<RankPattern>& ranks) {
  constexpr size_t kKindsNamed = 3, kRanksNamed = 6;
  std::map<std::pair<int64_t, int64_t>, std::vector<RankId>> kinds;
  for (const RankPattern& rank : ranks) {
    if (!rank.steps.empty()) {
      kinds[{rank.steps.front().number, rank.steps.back().number}].push_back(rank.meta.rank);
    }
  }
  // Most ranks first: who is odd shows beside them.
  std::vector<std::pair<std::vector<RankId>, std::pair<int64_t, int64_t>>> sorted;
  for (auto& [range, members] : kinds) sorted.emplace_back(std::move(members), range);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::string text;
  for (size_t i = 0; i < std::min(kKindsNamed, sorted.size()); ++i) {
    const auto& [members, range] = sorted[i];
    text += (i > 0 ? ", " : "") + std::string(members.size() == 1 ? "rank " : "ranks ") +
            FormatRanks(members, kRanksNamed) + (members.size() == 1 ? " has " : " have ") +
            Range(range.first, range.second);
  }
  return text + (sorted.size() > kKindsNamed ? ", the rest others" : "");
}

}  // namespace

CommonSteps KeepCommonSteps(std::vector<RankPattern>* ranks) {
  CommonSteps out;
  for (RankPattern& rank : *ranks) {
    if (IsCut(rank)) out.damage.push_back(DropBrokenSteps(ranks->size() == 1, &rank));
  }
  out.numbers = NumbersOfMost(*ranks);
  const auto differs = [&](const RankPattern& rank) {
    if (rank.steps.empty() || IsCut(rank)) return false;
    return !std::equal(rank.steps.begin(), rank.steps.end(), out.numbers.begin(), out.numbers.end(),
                       [](const pattern::Step& step, int64_t number) { return step.number == number; });
  };
  if (std::none_of(ranks->begin(), ranks->end(), differs)) return out;
  out.apart = WhoHasWhich(*ranks);
  if (out.numbers.empty()) return out;
  const int64_t first = out.numbers.front(), last = out.numbers.back();
  out.apart += ": only " + Range(first, last) + " " + (first == last ? "is" : "are") + " compared";
  for (RankPattern& rank : *ranks) {
    const bool beyond = !rank.steps.empty() && (rank.steps.front().number < first || rank.steps.back().number > last);
    if (beyond) SelectSteps(first, last, &rank);
  }
  return out;
}

}  // namespace headway::diagnose
