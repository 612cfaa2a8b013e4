// SPDX-License-Identifier: Apache-2.0
#include "diagnose/function_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "diagnose/excess.h"
#include "diagnose/explain.h"
#include "diagnose/peers.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;
using Node = FunctionView::Node;
using Cells = std::vector<FunctionView::Cell>;

bool IsAbove(const FunctionView& view, Node above, Node node) {
  for (; node >= 0; node = view.parent(node)) {
    if (node == above) return true;
  }
  return false;
}

// Code of the host that has a name: sums of small functions and holes are no one function.
bool IsHostCode(const FunctionView& view, Node node) {
  const WorkClass c = view.work_class(node);
  return (c == WorkClass::kHost || c == WorkClass::kInput) && view.name(node).front() != '(';
}

Nanos OwnOf(const Cells& cells, Node node) {
  return static_cast<size_t>(node) < cells.size() ? cells[static_cast<size_t>(node)].own : 0;
}

// What the rank takes in one function, and the middle one of its peers.
struct Times {
  Nanos mine = 0, peers = 0;
};

Times TimesIn(Node node, const Cells& mine, const std::vector<Cells>& peers) {
  std::vector<Nanos> theirs;
  for (const Cells& cells : peers) theirs.push_back(OwnOf(cells, node));
  return {OwnOf(mine, node), Median(std::move(theirs))};
}

bool IsFarLonger(Nanos mine, Nanos peers) {
  return IsOwnMatter(static_cast<double>(mine) / static_cast<double>(std::max<Nanos>(1, peers)), 1);
}

// The function of these classes in which the rank spends most more than its peers beside `first`, at least `least`; -1
// where that is not far longer.
Node SecondOf(const FunctionView& view, const WorkClasses& classes, Node first, const Cells& mine,
              const std::vector<Cells>& peers, Nanos least) {
  Node best = -1;
  for (size_t n = 0; n < view.size(); ++n) {
    const auto node = static_cast<Node>(n);
    if (!Has(classes, view.work_class(node)) || !IsHostCode(view, node)) continue;
    if (IsAbove(view, first, node) || IsAbove(view, node, first)) continue;
    const Times times = TimesIn(node, mine, peers);
    if (times.mine - times.peers < least || !IsFarLonger(times.mine, times.peers)) continue;
    least = times.mine - times.peers;
    best = node;
  }
  return best;
}

// Whether each call of the rank's host takes longer: what of that its device does not hide may be all in two functions.
bool IsHostSlow(size_t rank, const std::vector<size_t>& peers, JobCallTimes* calls_of) {
  std::vector<CallTimes> times;
  for (const size_t p : peers) times.push_back(calls_of->Calls(p));
  // What few of them have is what shows of another slow one.
  const CallTimes usual = TimesAmong(times, 0.5, (times.size() + 1) / 2);
  return IsOfSlowHost(CompareCalls(calls_of->Calls(rank), usual));
}

std::optional<Suspect> SecondPart(const AnalysisInput& in, Suspect* suspect, JobCallTimes* calls_of) {
  constexpr Nanos kOneIn = 8, kOneInOfStep = 50;
  const Job& job = in.job;
  const std::vector<size_t> peers = SamplePeers(job, suspect->rank, {});
  const std::vector<size_t> steps = suspect->TellingSteps();
  const Explanation why =
      Explain(job, in.view, {suspect->rank, steps}, SameSteps(peers, steps), suspect->within, suspect->classes);
  if (why.node < 0 || why.pair || !IsHostCode(*in.view, why.node) || !IsFarLonger(why.node_own, why.node_peers)) {
    return std::nullopt;
  }
  const Cells mine = in.view->Sum(suspect->rank, steps);
  std::vector<Cells> theirs;
  for (const size_t p : peers) theirs.push_back(in.view->Sum(p, steps));
  const Nanos least =
      std::max(suspect->total / kOneIn, static_cast<Nanos>(steps.size()) * job.median_step / kOneInOfStep);
  const Node second = SecondOf(*in.view, suspect->classes, why.node, mine, theirs, least);
  if (second < 0 || IsHostSlow(suspect->rank, peers, calls_of)) return std::nullopt;
  Suspect part = *suspect;
  std::vector<Nanos> cost(suspect->cost.size(), 0);
  for (const size_t s : suspect->StruckSteps()) {
    const size_t step[] = {s};
    std::vector<Cells> others;
    for (const size_t p : peers) {
      if (job.StepOf(p, s) != nullptr) others.push_back(in.view->Sum(p, step));
    }
    const Times times = TimesIn(second, in.view->Sum(suspect->rank, step), others);
    cost[s] = suspect->Take(s, times.mine - times.peers);
  }
  part.SetCost(std::move(cost));
  part.within = second;
  part.classes = {};
  part.classes[static_cast<size_t>(in.view->work_class(second))] = true;
  part.is_part = suspect->is_part = true;
  return part.struck > 0 && suspect->struck > 0 ? std::optional(std::move(part)) : std::nullopt;
}

}  // namespace

std::vector<Suspect> SplitByFunction(const AnalysisInput& in, std::vector<Suspect>* suspects, JobCallTimes* calls_of) {
  std::vector<Suspect> out;
  for (Suspect& suspect : *suspects) {
    if (std::optional<Suspect> second = SecondPart(in, &suspect, calls_of)) out.push_back(std::move(*second));
  }
  return out;
}

}  // namespace headway::diagnose
