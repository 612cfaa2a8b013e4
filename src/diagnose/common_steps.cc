// SPDX-License-Identifier: Apache-2.0
#include "diagnose/common_steps.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/text.h"
#include "diagnose/step_selection.h"

namespace headway::diagnose {

using pattern::RankPattern;

bool IsCut(const RankPattern& rank) {
  return rank.log.Count("truncated-tail") + rank.log.Count("file-damaged") + rank.log.Count("file-unreadable") > 0;
}

bool LastsThroughOthers(const RankPattern& rank, size_t i, const std::vector<int64_t>& numbers) {
  if (i + 1 >= rank.steps.size() || rank.steps[i].end < rank.steps[i + 1].start) return false;
  const auto next = std::upper_bound(numbers.begin(), numbers.end(), rank.steps[i].number);
  return next != numbers.end() && *next < rank.steps[i + 1].number;
}

namespace {

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
  // What a selection left out behind these steps, and was recorded: the file broke off there.
  const bool reaches_on = std::any_of(rank.unread_steps.begin(), rank.unread_steps.end(), [&](const auto& step) {
    return !rank.steps.empty() && step.number > rank.steps.back().number && step.device_rows > 0;
  });
  const bool goes_on = std::any_of(rank.comms.instances.begin(), rank.comms.instances.end(), [&](const auto& row) {
    return !rank.steps.empty() && row.start >= rank.steps.back().end;
  });
  if (goes_on && (reaches_on || !rank.has_device)) return rank.steps.size();
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

// "steps #1-5", "steps #1-3, 5": ascending numbers.
std::string Named(const std::vector<int64_t>& numbers) {
  constexpr size_t kParts = 4;
  std::string text;
  size_t parts = 0;
  for (size_t i = 0, j = 0; i < numbers.size(); i = j, ++parts) {
    while (j < numbers.size() && numbers[j] - numbers[i] == static_cast<int64_t>(j - i)) ++j;
    if (parts == kParts) return text + ", …";
    text += (parts == 0 ? (numbers.size() == 1 ? "step #" : "steps #") : ", ") + std::to_string(numbers[i]);
    if (j - i > 1) text += "-" + std::to_string(numbers[j - 1]);
  }
  return numbers.empty() ? "no steps" : text;
}

// "ranks 0, 2 have steps #1-5, ranks 1, 3 have steps #6-10"
std::string WhoHasWhich(const std::vector<RankPattern>& ranks) {
  constexpr size_t kKindsNamed = 3, kRanksNamed = 6;
  std::map<std::vector<int64_t>, std::vector<RankId>> kinds;
  for (const RankPattern& rank : ranks) {
    std::vector<int64_t> numbers;
    for (const pattern::Step& step : rank.steps) numbers.push_back(step.number);
    if (!numbers.empty()) kinds[std::move(numbers)].push_back(rank.meta.rank);
  }
  // Most ranks first: who is odd shows beside them.
  std::vector<std::pair<std::vector<RankId>, std::vector<int64_t>>> sorted;
  for (auto& [numbers, members] : kinds) sorted.emplace_back(std::move(members), numbers);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::string text;
  for (size_t i = 0; i < std::min(kKindsNamed, sorted.size()); ++i) {
    const auto& [members, numbers] = sorted[i];
    text += (i > 0 ? ", " : "") + std::string(members.size() == 1 ? "rank " : "ranks ") +
            FormatRanks(members, kRanksNamed) + (members.size() == 1 ? " has " : " have ") + Named(numbers);
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
  const auto goes_beyond = [&](const RankPattern& rank) {
    return !rank.steps.empty() && (rank.steps.front().number < first || rank.steps.back().number > last);
  };
  if (std::any_of(ranks->begin(), ranks->end(), goes_beyond)) {
    out.apart += ": only " + Named(out.numbers) + " " + (out.numbers.size() == 1 ? "is" : "are") + " compared";
  }
  bool lacks_marks = false;
  for (RankPattern& rank : *ranks) {
    if (goes_beyond(rank)) SelectSteps(first, last, &rank);
    for (size_t i = 0; i < rank.steps.size(); ++i) lacks_marks |= LastsThroughOthers(rank, i, out.numbers);
  }
  if (lacks_marks) out.apart += "; where a rank lacks the mark of a step, its step before is not compared either";
  return out;
}

}  // namespace headway::diagnose
