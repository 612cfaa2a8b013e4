// SPDX-License-Identifier: Apache-2.0
#include "diagnose/class_parts.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "diagnose/call_times.h"
#include "diagnose/excess.h"
#include "diagnose/peers.h"

namespace headway::diagnose {

namespace {

using pattern::WorkClass;

constexpr size_t kMostParts = 3;
constexpr int kLeastPerCent = 2;   // of the step
constexpr size_t kSomePerTen = 6;  // of the steps

WorkClasses ClassesOf(std::initializer_list<WorkClass> classes) {
  WorkClasses out{};
  for (const WorkClass c : classes) out[static_cast<size_t>(c)] = true;
  return out;
}

Nanos TimeIn(const pattern::Step& step, const WorkClasses& classes) {
  Nanos sum = 0;
  for (size_t c = 0; c < classes.size(); ++c) sum += classes[c] ? step.by_class[c] : 0;
  return sum;
}

struct InClasses {
  Nanos mine = 0, peers = 0;  // the middle one's
};

// The suspect's time in these classes in a step, and its peers'; both 0 where either has no such step.
InClasses TimesIn(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers, const WorkClasses& classes,
                  size_t s) {
  const pattern::Step* mine = job.StepOf(suspect.rank, s);
  std::vector<Nanos> others;
  for (const size_t p : peers) {
    if (const pattern::Step* step = job.StepOf(p, s)) others.push_back(TimeIn(*step, classes));
  }
  if (mine == nullptr || others.empty()) return {};
  return {TimeIn(*mine, classes), Median(std::move(others))};
}

// By axis step, where the suspect is struck: its time in these classes beyond that of the middle peer.
std::vector<Nanos> Beyond(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers,
                          const WorkClasses& classes) {
  std::vector<Nanos> out(suspect.cost.size(), 0);
  for (const size_t s : suspect.StruckSteps()) {
    const InClasses times = TimesIn(job, suspect, peers, classes, s);
    const Nanos beyond = times.mine - times.peers;
    if (beyond * 100 >= job.median_step) out[s] = beyond;
  }
  return out;
}

Suspect PartOf(const Suspect& whole, std::vector<Nanos> cost, const WorkClasses& classes) {
  Suspect out = whole;
  out.SetCost(std::move(cost));
  out.classes = classes;
  out.is_part = true;
  return out;
}

// Work that may be a part of its own, if it is one in `one_in` of the excess at least; kAnyShare: where it would make a
// suspect of the rank if it were all of it (Beyond: 1 % of a step).
struct Kind {
  WorkClasses classes;
  Nanos one_in;
};
constexpr Nanos kAnyShare = INT64_MAX;

bool IsEnough(const AnalysisInput& in, const Suspect& suspect, const Suspect& part, Nanos one_in) {
  constexpr Nanos kClear = 3, kOneInOfWindow = 200, kOneInOfSome = 10;
  const Job& job = in.job;
  const auto struck = static_cast<Nanos>(part.struck);
  if (struck == 0) return false;
  if (one_in == kAnyShare) {
    const Nanos noise = part.table->step_noise[static_cast<size_t>(job.peer_class[suspect.rank])];
    const Nanos window = static_cast<Nanos>(job.num_steps()) * job.median_step;
    return part.total >= kClear * noise * struck && part.total * kOneInOfWindow >= window;
  }
  if (part.total * 100 < struck * job.median_step * kLeastPerCent) return false;
  // What strikes a part of the steps only has less time to add up.
  const bool in_some = part.struck * 10 <= suspect.struck * kSomePerTen;
  return part.total * (in_some ? kOneInOfSome : one_in) >= suspect.total;
}

// Those of `kinds` that count, largest first; fewer than two where it is one cause. What is of no kind goes to the
// largest.
std::vector<Suspect> CountingParts(const AnalysisInput& in, const Suspect& suspect, const std::vector<size_t>& peers,
                                   const std::vector<Kind>& kinds) {
  std::vector<Suspect> parts;
  WorkClasses rest = kAllWork;
  for (const auto& [classes, one_in] : kinds) {
    Suspect part = PartOf(suspect, Beyond(in.job, suspect, peers, classes), classes);
    // What its kernels vary by is not in it.
    if (in.job.ranks[suspect.rank].has_device && !Has(classes, WorkClass::kCompute)) part.table = &in.beside_compute;
    if (!IsEnough(in, suspect, part, one_in)) continue;
    for (size_t c = 0; c < rest.size(); ++c) rest[c] = rest[c] && !classes[c];
    parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Suspect& a, const Suspect& b) { return a.total > b.total; });
  for (size_t c = 0; c < rest.size() && !parts.empty(); ++c) parts.front().classes[c] |= rest[c];
  return parts;
}

// Whether the rank's host waits for its device far more often than those of its peers: that has a reason of its own,
// however little of the excess it is.
bool WaitsMoreOften(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers) {
  constexpr int64_t kMore = 3;  // a step
  int64_t mine = 0;
  Nanos theirs = 0;
  for (const size_t s : suspect.StruckSteps()) {
    const pattern::Step* step = job.StepOf(suspect.rank, s);
    std::vector<Nanos> others;
    for (const size_t p : peers) {
      if (const pattern::Step* other = job.StepOf(p, s)) others.push_back(other->syncs);
    }
    if (step == nullptr || others.empty()) continue;
    mine += step->syncs;
    theirs += Median(std::move(others));
  }
  return mine >= theirs + kMore * static_cast<int64_t>(suspect.struck);
}

// Times the peers' time in these classes that the suspect takes; without end where they take none.
double Ratio(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers, const WorkClasses& classes) {
  Nanos mine = 0, theirs = 0;
  for (const size_t s : suspect.StruckSteps()) {
    const InClasses times = TimesIn(job, suspect, peers, classes, s);
    mine += times.mine;
    theirs += times.peers;
  }
  return static_cast<double>(mine) / static_cast<double>(std::max<Nanos>(1, theirs));
}

bool AreOwnMatter(const Job& job, const Suspect& suspect, const std::vector<size_t>& peers,
                  const WorkClasses& classes) {
  const double operators = Ratio(job, suspect, peers, ClassesOf({WorkClass::kCompute}));
  return IsOwnMatter(Ratio(job, suspect, peers, classes), operators);
}

// Neither copies nor a host that are a matter of their own make kernels longer, nor kernels those copies.
std::vector<Suspect> PartsOfDevice(const AnalysisInput& in, const Suspect& suspect, const std::vector<size_t>& peers) {
  constexpr Nanos kPart = 4, kOfOwnMatter = 8;
  const Job& job = in.job;
  const WorkClasses copies = ClassesOf({WorkClass::kMemory});
  const WorkClasses of_host = ClassesOf({WorkClass::kRuntime, WorkClass::kInput, WorkClass::kHost, WorkClass::kIdle});
  const auto are_own_matter = [&](const WorkClasses& classes) {
    const Suspect part = PartOf(suspect, Beyond(job, suspect, peers, classes), classes);
    return job.ranks[suspect.rank].has_device && part.struck > 0 && AreOwnMatter(job, part, peers, classes);
  };
  const bool own_copies = are_own_matter(copies);
  const Nanos of_waits = WaitsMoreOften(job, suspect, peers) ? kOfOwnMatter : kPart;
  std::vector<Kind> kinds = {{copies, own_copies ? kAnyShare : kPart}, {of_host, own_copies ? kAnyShare : of_waits}};
  if (suspect.table != &in.beside_compute) {
    const bool no_share = own_copies || are_own_matter(of_host);
    kinds.insert(kinds.begin(), {ClassesOf({WorkClass::kCompute}), no_share ? kAnyShare : kPart});
  }
  return CountingParts(in, suspect, peers, kinds);
}

// Without devices a slow host makes operators and the rest longer alike: two causes are told by striking other steps.
bool StrikeOtherSteps(const std::vector<Suspect>& parts) {
  size_t least = SIZE_MAX, most = 0;
  for (const Suspect& part : parts) {
    least = std::min(least, part.struck);
    most = std::max(most, part.struck);
  }
  return least * 10 <= most * kSomePerTen;
}

// Batches hardly vary: those that are as slow in other steps, which do not stand out as a whole, are the same matter.
void Widen(const Job& job, const std::vector<size_t>& peers, Suspect* part) {
  constexpr Nanos kPerCent = 35;  // of what they usually are slower by
  const WorkClasses input = ClassesOf({WorkClass::kInput});
  const Nanos least = std::max(job.median_step / 100, MedianOfStruck(part->cost, 1) * kPerCent / 100);
  std::vector<Nanos> cost = part->cost;
  for (size_t s = 0; s < cost.size(); ++s) {
    const InClasses times = TimesIn(job, *part, peers, input, s);
    if (cost[s] == 0 && times.mine - times.peers >= least) cost[s] = times.mine - times.peers;
  }
  part->SetCost(std::move(cost));
}

// Without devices: what it waits for its input and what it does beside operators, where either is a matter of its own,
// and the rest. Where nothing is recorded a host may have been held back.
std::vector<Suspect> OwnMatters(const AnalysisInput& in, const Suspect& suspect, const std::vector<size_t>& peers) {
  const Job& job = in.job;
  constexpr Nanos kPart = 8;
  std::vector<Kind> kinds;
  WorkClasses rest = kAllWork;
  rest[static_cast<size_t>(WorkClass::kCommunication)] = false;  // which grows where it waits for others
  for (const WorkClasses& kind :
       {ClassesOf({WorkClass::kInput}), ClassesOf({WorkClass::kRuntime, WorkClass::kHost, WorkClass::kIdle})}) {
    if (!AreOwnMatter(job, suspect, peers, kind)) continue;
    for (size_t c = 0; c < rest.size(); ++c) rest[c] = rest[c] && !kind[c];
    kinds.push_back({kind, kPart});
  }
  kinds.push_back({rest, kPart});
  std::vector<Suspect> parts = CountingParts(in, suspect, peers, kinds);
  for (Suspect& part : parts) {
    if (Has(part.classes, WorkClass::kInput) && !Has(part.classes, WorkClass::kCompute)) Widen(job, peers, &part);
  }
  return parts;
}

std::vector<Suspect> PartsOf(const AnalysisInput& in, const Suspect& suspect) {
  const std::vector<size_t> peers = SamplePeers(in.job, suspect.rank, {});
  std::vector<Suspect> parts = PartsOfDevice(in, suspect, peers);
  if (in.job.ranks[suspect.rank].has_device || (parts.size() > 1 && StrikeOtherSteps(parts))) return parts;
  return OwnMatters(in, suspect, peers);
}

}  // namespace

std::vector<std::vector<Suspect>> SplitByClass(const AnalysisInput& in, std::vector<Suspect>* suspects) {
  std::vector<std::vector<Suspect>> out(kMostParts - 1);
  for (Suspect& suspect : *suspects) {
    if (suspect.is_part) continue;
    std::vector<Suspect> parts = PartsOf(in, suspect);
    if (parts.size() < 2) continue;
    for (size_t p = 1; p < parts.size(); ++p) out[p - 1].push_back(std::move(parts[p]));
    suspect = std::move(parts.front());
  }
  return out;
}

}  // namespace headway::diagnose
