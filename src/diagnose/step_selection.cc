// SPDX-License-Identifier: Apache-2.0
#include "diagnose/step_selection.h"

#include <algorithm>
#include <charconv>

namespace headway::diagnose {

namespace {

// An empty text leaves `*value` as it is.
bool ParseNumber(std::string_view text, int64_t* value) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<std::pair<int64_t, int64_t>> ParseSteps(std::string_view text) {
  int64_t first = INT64_MIN, last = INT64_MAX;
  const size_t colon = text.find(':');
  const bool one = colon == std::string_view::npos;
  const bool good = !text.empty() && ParseNumber(text.substr(0, colon), &first) &&
                    (one || ParseNumber(text.substr(colon + 1), &last));
  if (one) last = first;
  if (!good || first > last) {
    return MakeError(ErrorCode::kInvalidArgument, "--steps takes the first and the last step, such as 100:110");
  }
  return std::pair(first, last);
}

void SelectSteps(int64_t first, int64_t last, pattern::RankPattern* rank) {
  std::vector<int32_t> place(rank->steps.size(), -1);  // old index -> new one
  std::vector<pattern::Step> steps;
  for (size_t i = 0; i < rank->steps.size(); ++i) {
    if (rank->steps[i].number < first || rank->steps[i].number > last) {
      rank->unread_steps.push_back(rank->steps[i]);
      continue;
    }
    place[i] = static_cast<int32_t>(steps.size());
    steps.push_back(rank->steps[i]);
  }
  rank->steps = std::move(steps);
  std::vector<pattern::FunctionStep> rows;
  for (pattern::FunctionStep row : rank->function_steps) {
    row.step = place[static_cast<size_t>(row.step)];
    if (row.step >= 0) rows.push_back(row);
  }
  rank->function_steps = std::move(rows);
  trace::RankComms& comms = rank->comms;
  comms.step_numbers.clear();
  comms.step_starts.clear();
  for (const pattern::Step& step : WithoutTail(*rank)) {
    comms.step_numbers.push_back(step.number);
    comms.step_starts.push_back(step.start);
  }
  for (trace::CommInstance& instance : comms.instances) {
    const auto step = static_cast<size_t>(instance.step);  // a pattern file may number more steps than it holds
    if (instance.step >= 0) instance.step = step < place.size() ? place[step] : -1;
    if (instance.step < 0) instance.exposed = 0;
  }
  if (!rank->steps.empty()) {
    rank->window_start = rank->steps.front().start;
    rank->window_end = WithoutTail(*rank).back().end;
  }
}

void KeepSelected(const pattern::RankPattern& rank, std::vector<pattern::FunctionStep>* rows) {
  if (rank.unread_steps.empty()) return;
  std::vector<std::pair<Nanos, int32_t>> all;  // start, new index
  for (size_t i = 0; i < rank.steps.size(); ++i) all.emplace_back(rank.steps[i].start, static_cast<int32_t>(i));
  for (const pattern::Step& step : rank.unread_steps) {
    // A tail that was joined (last_step.h) lies in its step.
    const bool joined =
        !rank.steps.empty() && step.start > rank.steps.back().start && step.end <= rank.steps.back().end;
    all.emplace_back(step.start, joined ? static_cast<int32_t>(rank.steps.size()) - 1 : -1);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (pattern::FunctionStep& row : *rows) row.step = all[static_cast<size_t>(row.step)].second;
  std::erase_if(*rows, [](const pattern::FunctionStep& row) { return row.step < 0; });
}

}  // namespace headway::diagnose
