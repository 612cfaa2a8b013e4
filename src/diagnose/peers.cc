// SPDX-License-Identifier: Apache-2.0
#include "diagnose/peers.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/parallel.h"

namespace headway::diagnose {

namespace {

constexpr size_t kMaxPeers = 16;

// How often a rank does what in a step, and whether its first point-to-point call is a send or a receive (which tells
// the first stage of a pipeline from the last). Counts rather than order: overlap may swap neighbours. From the rank's
// own rows, paired or not, so that a missing partner does not set it apart.
using Signature = std::map<std::pair<std::string, trace::CommOp>, int32_t>;

// What a named group is called on every member; lanes whose group had to be inferred count by operation alone.
std::string KindOf(const trace::LocalGroup& group) {
  if (group.name.empty() && group.desc.empty()) return "";
  return group.desc + "/" + std::to_string(group.ranks.size());
}

int64_t Operations(const Signature& signature) {
  int64_t sum = 0;
  for (const auto& [kind, count] : signature) sum += count;
  return sum;
}

std::vector<Signature> BySteps(const pattern::RankPattern& rank) {
  std::vector<std::string> kinds;
  for (const trace::LocalGroup& group : rank.comms.groups) kinds.push_back(KindOf(group));
  std::vector<Signature> steps(rank.steps.size());
  std::vector<bool> met(rank.steps.size(), false);
  for (const trace::CommInstance& instance : rank.comms.instances) {
    // A pattern file may number more steps than it holds.
    if (instance.step < 0 || static_cast<size_t>(instance.step) >= steps.size()) continue;
    const auto s = static_cast<size_t>(instance.step);
    ++steps[s][{kinds[static_cast<size_t>(instance.local_group)], instance.op}];
    const bool p2p = instance.op == trace::CommOp::kSend || instance.op == trace::CommOp::kRecv;
    if (p2p && !met[s]) {
      met[s] = true;
      steps[s][{"first", instance.op}] = 1;
    }
  }
  return steps;
}

// That of most steps: one odd step does not matter.
Signature UsualSignature(const pattern::RankPattern& rank) {
  std::map<Signature, int32_t> votes;
  for (const Signature& signature : BySteps(rank)) ++votes[signature];
  Signature best;
  int32_t most = 0;
  for (const auto& [signature, count] : votes) {
    // Of equals the one with more operations: a step that was cut off has fewer.
    if (count > most || (count == most && Operations(signature) > Operations(best))) {
      most = count;
      best = signature;
    }
  }
  return best;
}

}  // namespace

std::vector<int32_t> PeerClasses(std::span<const pattern::RankPattern> ranks, std::span<const Coordinate> coordinates,
                                 int threads) {
  std::map<int32_t, int32_t> of_stage;
  for (const Coordinate& c : coordinates) ++of_stage[c.stage];
  const std::vector<Signature> usual =
      ParallelMap(ranks.size(), threads, [&](size_t r) { return UsualSignature(ranks[r]); });
  std::map<std::pair<int32_t, Signature>, int32_t> numbers;
  std::vector<int32_t> out;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const int32_t stage = of_stage[coordinates[r].stage] >= 2 ? coordinates[r].stage : -1;
    Signature signature = usual[r];
    // Of a known stage the first call only tells where its steps begin: a slow host's begin elsewhere than its peers'.
    if (stage >= 0) {
      for (const trace::CommOp op : {trace::CommOp::kSend, trace::CommOp::kRecv}) signature.erase({"first", op});
    }
    out.push_back(
        numbers.try_emplace({stage, std::move(signature)}, static_cast<int32_t>(numbers.size())).first->second);
  }
  return out;
}

std::vector<size_t> SamplePeers(const Job& job, size_t rank, const std::set<size_t>& without) {
  std::vector<size_t> all;
  for (const int32_t p : job.classes[static_cast<size_t>(job.peer_class[rank])]) {
    const auto i = static_cast<size_t>(p);
    if (i != rank && without.count(i) == 0) all.push_back(i);
  }
  if (all.size() <= kMaxPeers) return all;
  std::vector<size_t> sample;  // evenly spread, the same on every run
  for (size_t k = 0; k < kMaxPeers; ++k) sample.push_back(all[k * all.size() / kMaxPeers]);
  return sample;
}

}  // namespace headway::diagnose
