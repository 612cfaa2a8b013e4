// SPDX-License-Identifier: Apache-2.0
#include "diagnose/sibling_merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/disjoint_sets.h"
#include "base/text.h"
#include "diagnose/beyond_host.h"
#include "diagnose/scope.h"
#include "diagnose/siblings.h"
#include "diagnose/uneven_work.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

bool IsOfHost(const std::string& cause) {
  return cause == "slow-host" || cause == "slow-host-code" || cause == "shared-host" || cause == "hidden-sync" ||
         cause == "slow-input" || cause == "paused-process";
}

// What has become of a candidate.
struct Part {
  Candidate* candidate = nullptr;
  std::vector<size_t> ranks;   // rank indices, ascending; empty = joined to another one
  size_t speaker = 0;          // the rank index that `sentence` is about
  std::string sentence;        // before it was joined
  bool is_whole_host = false;  // joined as a host: no member of a group
};

Part PartOf(Candidate* candidate, size_t rank, std::vector<size_t> ranks, bool is_whole_host) {
  const bool joined = !candidate->of_one.empty();
  return {candidate, std::move(ranks), joined ? candidate->speaker : rank,
          joined ? candidate->of_one : candidate->finding.sentence, is_whole_host};
}

// The name all parts agree on (at least two thirds of them); "slow-host" where they agree on no more than that the host
// is to blame; empty = not one cause.
std::string CommonCause(const std::vector<Part*>& parts, bool is_host) {
  std::map<std::string, size_t> counts;
  for (const Part* part : parts) ++counts[part->candidate->finding.cause];
  for (const auto& [cause, n] : counts) {
    if (n * 3 >= parts.size() * 2) return cause;
  }
  const bool of_host = is_host && std::all_of(parts.begin(), parts.end(),
                                              [](const Part* p) { return IsOfHost(p->candidate->finding.cause); });
  return of_host ? "slow-host" : std::string();
}

// One cause strikes its ranks about equally: the least of them costs at least a quarter of the most.
bool AreAlike(const std::vector<Part*>& parts) {
  Nanos least = INT64_MAX, most = 0;
  for (const Part* part : parts) {
    Nanos sum = 0;
    for (const Nanos x : part->candidate->excess) sum += x;
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return least * 4 >= most;
}

// Joins all parts to the first one.
void Join(const Job& job, const std::vector<Part*>& parts, const std::string& cause, bool is_host,
          const std::string& together) {
  const auto named =
      std::find_if(parts.begin(), parts.end(), [&](const Part* p) { return p->candidate->finding.cause == cause; });
  const Part& speaker = named == parts.end() ? *parts.front() : **named;
  Part joined{parts.front()->candidate, {}, speaker.speaker, speaker.sentence, is_host};
  Candidate out = *speaker.candidate;
  out.edit = {};
  for (Part* part : parts) {
    const Candidate& candidate = *part->candidate;
    out.edit.own.insert(out.edit.own.end(), candidate.edit.own.begin(), candidate.edit.own.end());
    for (size_t s = 0; s < out.excess.size(); ++s) out.excess[s] = std::max(out.excess[s], candidate.excess[s]);
    out.only_here = out.only_here && candidate.only_here;
    joined.ranks.insert(joined.ranks.end(), part->ranks.begin(), part->ranks.end());
    part->ranks.clear();
  }
  std::sort(joined.ranks.begin(), joined.ranks.end());
  report::Finding& finding = out.finding;
  report::Scope scope;
  FillScope(job, joined.ranks, &scope);
  scope.function = named == parts.end() ? "" : finding.scope.function;
  finding.scope = scope;
  finding.cause = cause;
  finding.id = cause + "-" + std::to_string(scope.ranks.front());
  finding.headline = Who(job, scope);
  finding.when = ClassifyWhen(out.excess, job.steps);
  if (named == parts.end()) {
    finding.sentence = "All that the host does for its ranks takes longer than on other hosts.";
    finding.suggestion = "look for CPU limits (cgroup quota), low clocks or other processes on this host";
  } else {
    out.speaker = joined.speaker;
    out.of_one = joined.sentence;
    finding.sentence = Counted(static_cast<int64_t>(joined.ranks.size()), "rank") + together + " alike. For rank " +
                       std::to_string(job.ranks[joined.speaker].meta.rank) + ": " + joined.sentence;
  }
  *joined.candidate = std::move(out);
  *parts.front() = std::move(joined);
}

// The parts about `siblings`; empty where they are not struck as one, or already are one part.
std::vector<Part*> StruckAsOne(const Job& job, const Siblings& siblings, std::vector<Part>* parts) {
  std::vector<Part*> here;
  std::map<std::string, size_t> elsewhere_by_cause;
  size_t struck = 0;
  for (Part& part : *parts) {
    if (part.ranks.empty() || job.peer_class[part.ranks.front()] != siblings.peer_class) continue;
    size_t common = 0;
    for (const size_t r : part.ranks) {
      common += std::find(siblings.ranks.begin(), siblings.ranks.end(), r) != siblings.ranks.end() ? 1 : 0;
    }
    if (common == 0 || part.is_whole_host) {
      elsewhere_by_cause[part.candidate->finding.cause] += part.ranks.size();
    } else {
      here.push_back(&part);
      struck += common;
    }
  }
  // Ranks elsewhere that suffer from something else have their own story.
  size_t elsewhere = 0;
  for (const auto& [cause, ranks] : elsewhere_by_cause) {
    const bool same = std::any_of(here.begin(), here.end(),
                                  [&](const Part* part) { return part->candidate->finding.cause == cause; });
    elsewhere += same ? ranks : 0;
  }
  const size_t others = job.classes[static_cast<size_t>(siblings.peer_class)].size() - siblings.ranks.size();
  const size_t least = siblings.is_host ? (siblings.ranks.size() * 3 + 3) / 4 : siblings.ranks.size();
  if (here.size() < 2 || struck < least || others == 0 || elsewhere * 4 > others) here.clear();
  return here;
}

// Leaves those whose part was not joined to another.
void DropJoined(const std::vector<Part>& parts, RankCandidates* candidates) {
  RankCandidates kept;
  for (size_t i = 0; i < candidates->size(); ++i) {
    if (!parts[i].ranks.empty()) kept.push_back(std::move((*candidates)[i]));
  }
  *candidates = std::move(kept);
}

// Devices that are slow in a few steps only: in the very same ones they are so by what they were given.
bool IsOfSomeSteps(const report::Finding& finding) { return finding.cause == "slow-device" && !IsSteady(finding.when); }

bool AreOfSameSteps(const std::vector<Part*>& parts) {
  const report::Finding& first = parts.front()->candidate->finding;
  return std::all_of(parts.begin(), parts.end(), [&](const Part* part) {
    const report::Finding& finding = part->candidate->finding;
    return IsOfSomeSteps(finding) && finding.when.steps == first.when.steps;
  });
}

// What causes of one kind have in common, one of these at least; empty = each stands for itself. One function that is
// longer on several ranks is one matter (an expert with more tokens, on each of its replicas), and so is one habit of
// the program.
std::vector<std::string> KindsOf(const Candidate& candidate) {
  const report::Finding& finding = candidate.finding;
  if (finding.cause == "hidden-sync" || finding.cause == "unpinned-copy" || finding.cause == "slow-copy")
    return {finding.cause};
  const bool of_function =
      finding.cause == "slow-device" || finding.cause == "data-imbalance" || finding.cause == "slow-host-code";
  if (IsOfSomeSteps(finding) && finding.scope.function.empty()) {
    std::string steps = finding.cause;
    for (const int64_t step : finding.when.steps) steps += " #" + std::to_string(step);
    return {steps};
  }
  if (!of_function) return {};
  // Of two functions that share an excess the larger one may hold enough of it elsewhere to stand alone; where both are
  // as large, now one and now the other is named first.
  const std::string& function = finding.scope.function;
  if (function.empty()) return {};
  if (candidate.other.empty()) return {finding.cause + " " + function};
  const std::string first = function.substr(0, function.size() - candidate.other.size() - 2);
  const std::string leaf = LeafOf(first);
  const auto [low, high] = std::minmax(leaf, candidate.other);
  return {finding.cause + " " + first, finding.cause + " " + low + ", " + high};
}

// Whether one runs for long what the others hardly run, for another reason than they take longer for.
bool HasItsOwn(const std::vector<Part*>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part* part) {
    const std::vector<std::string> mine = KindsOf(*part->candidate);
    if (!part->candidate->only_here || mine.empty()) return false;
    return std::any_of(parts.begin(), parts.end(), [&](const Part* other) {
      const std::vector<std::string> theirs = KindsOf(*other->candidate);
      return std::find_first_of(mine.begin(), mine.end(), theirs.begin(), theirs.end()) == mine.end();
    });
  });
}

// Whether some are slow in one function and others in no single one, and at other times: not by what they share.
bool AreTwoMatters(const std::vector<Part*>& parts) {
  const report::Finding* in_function = nullptr;
  const report::Finding* in_all = nullptr;
  for (const Part* part : parts) {
    (part->candidate->finding.scope.function.empty() ? in_all : in_function) = &part->candidate->finding;
  }
  return in_function != nullptr && in_all != nullptr && in_function->when.kind != in_all->when.kind;
}

// The host whose name stands for all ranks of a finding; empty where they are on several, or unnamed.
std::string HostOf(const report::Finding& finding) {
  return finding.scope.hosts.size() == 1 ? finding.scope.hosts.front() : std::string();
}

// Where no file names its host: hosts hold ranks in a row.
bool AreInARow(const Job& job, std::vector<size_t>* ranks) {
  std::sort(ranks->begin(), ranks->end());
  const RankId first = job.ranks[ranks->front()].meta.rank;
  const bool row = job.ranks[ranks->back()].meta.rank - first + 1 == static_cast<RankId>(ranks->size());
  return row && std::none_of(ranks->begin(), ranks->end(), [&](size_t r) { return job.ranks[r].comms.host_known; });
}

size_t RanksOnHost(const Job& job, const std::string& host) {
  const auto on_it = [&](const pattern::RankPattern& r) { return r.comms.host_known && r.meta.host == host; };
  return static_cast<size_t>(std::count_if(job.ranks.begin(), job.ranks.end(), on_it));
}

// Whether `ranks` are most of those that their class has on their host; where hosts are not known they may be.
bool IsAllOfClass(const Job& job, const std::vector<size_t>& ranks) {
  const size_t first = ranks.front();
  if (!job.ranks[first].comms.host_known) return true;
  const auto here = std::count_if(
      job.classes[static_cast<size_t>(job.peer_class[first])].begin(),
      job.classes[static_cast<size_t>(job.peer_class[first])].end(),
      [&](int32_t r) { return job.comms.clock_of_rank[static_cast<size_t>(r)] == job.comms.clock_of_rank[first]; });
  return ranks.size() * 4 >= static_cast<size_t>(here) * 3;
}

}  // namespace

void MergeAlike(const Job& job, RankCandidates* candidates) {
  std::vector<Part> parts;
  std::map<std::string, std::vector<size_t>> of_kind;
  DisjointSets sets(candidates->size());
  for (auto& [rank, candidate] : *candidates) {
    for (const std::string& kind : KindsOf(candidate)) of_kind[kind].push_back(parts.size());
    parts.push_back(PartOf(&candidate, rank, RanksOf(job, candidate.finding.scope), false));
  }
  for (const auto& [kind, members] : of_kind) {
    // Two parts of what one rank takes longer are no two ranks.
    std::set<size_t> seen;
    for (const size_t i : members) {
      const std::vector<size_t>& ranks = parts[i].ranks;
      if (std::any_of(ranks.begin(), ranks.end(), [&](size_t r) { return seen.count(r) > 0; })) continue;
      seen.insert(ranks.begin(), ranks.end());
      sets.Unite(i, members.front());
    }
  }
  std::map<size_t, std::vector<size_t>> alike_in;
  for (size_t i = 0; i < parts.size(); ++i) alike_in[sets.Find(i)].push_back(i);
  for (const auto& [root, members] : alike_in) {
    std::vector<Part*> alike;
    for (const size_t i : members) alike.push_back(&parts[i]);
    if (alike.size() < 2 || !AreAlike(alike)) continue;
    Candidate& first = *alike.front()->candidate;
    const bool same_steps = AreOfSameSteps(alike);
    Join(job, alike, first.finding.cause, false, "");
    if (same_steps) TellAsImbalance("All of them in the very same steps", &first.finding);
  }
  DropJoined(parts, candidates);
}

// So many ranks in a row whose hosts are slow share one; loaders that are equally slow share a storage. Two are soon in
// a row.
constexpr size_t kLeastOfRow = 3;

void MergeHosts(const Job& job, RankCandidates* candidates) {
  std::vector<Part> parts;
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> by_host;  // and cause
  for (auto& [rank, candidate] : *candidates) {
    const std::string host = HostOf(candidate.finding);
    std::vector<size_t> ranks = RanksOf(job, candidate.finding.scope);
    const bool one_host = candidate.finding.scope.hosts.size() < 2;
    const std::string& cause = candidate.finding.cause;
    // Storage of a host whose name is known was told class by class.
    const bool is_input = cause == "slow-input" && host.empty();
    if (one_host && ((cause == "slow-host" && IsAllOfClass(job, ranks)) || is_input)) {
      by_host[{host, cause}].push_back(parts.size());
    }
    parts.push_back(PartOf(&candidate, rank, std::move(ranks), true));
  }
  for (const auto& [key, members] : by_host) {
    const auto& [host, cause] = key;
    std::vector<Part*> here;
    std::vector<size_t> ranks;
    for (const size_t i : members) {
      here.push_back(&parts[i]);
      ranks.insert(ranks.end(), parts[i].ranks.begin(), parts[i].ranks.end());
    }
    const bool is_host = host.empty() ? ranks.size() >= kLeastOfRow && AreInARow(job, &ranks)
                                      : ranks.size() * 4 >= RanksOnHost(job, host) * 3;
    const bool is_input = cause == "slow-input";
    if (here.size() < 2 || !is_host || (is_input && !AreAlike(here))) continue;
    Join(job, here, cause, true, is_input ? " in a row" : " of one host");
  }
  DropJoined(parts, candidates);
}

namespace {

// What single ranks take far beyond the others of their host. These come last: the others speak for the host.
void TakeBeyondHosts(const Job& job, std::vector<Part*>* struck, RankCandidates* beyond) {
  std::vector<std::vector<Nanos>> excess;  // before anything is taken
  for (const Part* part : *struck) excess.push_back(part->candidate->excess);
  std::vector<Part*> whole, shared;
  for (size_t i = 0; i < struck->size(); ++i) {
    Part* part = (*struck)[i];
    std::vector<std::vector<Nanos>> others = excess;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    auto rest = part->ranks.size() == 1 ? TakeBeyondHost(job, others, part->candidate) : std::nullopt;
    if (rest) beyond->emplace_back(part->ranks.front(), std::move(*rest));
    (rest ? shared : whole).push_back(part);
  }
  whole.insert(whole.end(), shared.begin(), shared.end());
  *struck = std::move(whole);
}

}  // namespace

void MergeSiblings(const Job& job, RankCandidates* candidates) {
  if (candidates->size() < 2) return;
  std::vector<Siblings> all = SiblingsOfHosts(job);
  for (Siblings& group : SiblingsOfGroups(job)) all.push_back(std::move(group));
  std::vector<Part> parts;
  RankCandidates beyond;
  for (auto& [rank, candidate] : *candidates) {
    parts.push_back({&candidate, {rank}, rank, candidate.finding.sentence, false});
  }
  for (const Siblings& siblings : all) {
    std::vector<Part*> struck = StruckAsOne(job, siblings, &parts);
    if (struck.empty()) continue;
    const std::string cause = CommonCause(struck, siblings.is_host);
    // How much of a slow host shows depends on what each of its devices hides: several ranks speak for it anyway.
    const bool is_clear = siblings.is_host && struck.size() > 2;
    if (cause.empty() || (!is_clear && !AreAlike(struck))) continue;
    if (!siblings.is_host && (HasItsOwn(struck) || AreTwoMatters(struck))) continue;
    if (siblings.is_host) TakeBeyondHosts(job, &struck, &beyond);
    Join(job, struck, cause, siblings.is_host, siblings.is_host ? " of one host" : " of one group");
  }
  DropJoined(parts, candidates);
  std::move(beyond.begin(), beyond.end(), std::back_inserter(*candidates));
}

}  // namespace headway::diagnose
