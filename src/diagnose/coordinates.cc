// SPDX-License-Identifier: Apache-2.0
#include "diagnose/coordinates.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/letter_case.h"

namespace headway::diagnose {

namespace {

// Lower-case words of a description: "mesh_pp" -> {mesh, pp}.
std::vector<std::string> Words(std::string_view desc) {
  std::vector<std::string> words(1);
  for (const char c : Lower(desc)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back().push_back(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

int32_t* Field(Coordinate* c, GroupRole role) {
  switch (role) {
    case GroupRole::kDp: return &c->dp;
    case GroupRole::kTp: return &c->tp;
    case GroupRole::kPp: return &c->stage;
    case GroupRole::kEp: return &c->ep;
    case GroupRole::kCp: return &c->cp;
    case GroupRole::kUnknown: break;
  }
  return nullptr;
}

// Connected sets of ranks that send to one another, each in rank order: one pipeline each where it is a chain or a
// ring.
std::vector<std::vector<RankId>> Chains(const trace::JobComms& comms) {
  std::map<RankId, RankId> parent;
  const auto find = [&parent](RankId r) {
    while (parent.at(r) != r) r = parent.at(r);
    return r;
  };
  for (const trace::JobGroup& group : comms.groups) {
    if (!group.is_p2p || group.ranks.size() != 2) continue;
    for (const RankId r : group.ranks) parent.try_emplace(r, r);
    const RankId a = find(group.ranks[0]);
    const RankId b = find(group.ranks[1]);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::map<RankId, std::vector<RankId>> chains;
  for (const auto& [rank, unused] : parent) chains[find(rank)].push_back(rank);
  std::vector<std::vector<RankId>> out;
  for (auto& [first, members] : chains) out.push_back(std::move(members));
  return out;
}

bool RanksAreMissing(std::span<const pattern::RankPattern> ranks) {
  int64_t world = 0;
  for (const pattern::RankPattern& rank : ranks) {
    world = std::max<int64_t>({world, rank.meta.world_size, rank.meta.rank + 1});
  }
  return std::ssize(ranks) < world;
}

// A missing stage breaks a pipeline into two chains. Those of one part of it are as long and lie side by side.
bool SideBySide(const std::vector<RankId>& a, const std::vector<RankId>& b) {
  return a.size() == b.size() && a.size() > 1 && b[0] < a[1];
}

void StagesFromPairs(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                     std::vector<Coordinate>* out) {
  const bool missing = RanksAreMissing(ranks);
  const std::vector<std::vector<RankId>> chains = Chains(comms);
  std::map<RankId, int32_t> stage;
  std::vector<int32_t> begin;  // of each chain: the stage it begins at
  int32_t next = 0;
  for (size_t i = 0; i < chains.size(); ++i) {
    size_t like = i;
    for (size_t k = 0; missing && k < i && like == i; ++k) like = SideBySide(chains[k], chains[i]) ? k : i;
    begin.push_back(!missing ? 0 : like < i ? begin[like] : next);
    for (size_t k = 0; k < chains[i].size(); ++k) stage[chains[i][k]] = begin[i] + static_cast<int32_t>(k);
    next = std::max(next, begin[i] + static_cast<int32_t>(chains[i].size()));
  }
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto it = stage.find(ranks[r].meta.rank);
    if (it == stage.end()) continue;
    (*out)[r].stage = it->second;
    (*out)[r].stage_unnumbered = missing;
  }
}

}  // namespace

GroupRole RoleOfDescription(std::string_view desc) {
  const std::vector<std::string> words = Words(desc);
  const auto has = [&words](std::string_view w) { return std::find(words.begin(), words.end(), w) != words.end(); };
  if (has("pp") || has("pipeline")) return GroupRole::kPp;
  if (has("ep") || has("expert")) return GroupRole::kEp;
  if (has("cp") || has("context")) return GroupRole::kCp;
  if (has("tp") || has("tensor")) return GroupRole::kTp;
  if (has("dp") || has("data") || has("fsdp") || has("replicate") || has("shard")) return GroupRole::kDp;
  return GroupRole::kUnknown;
}

std::vector<Coordinate> InferCoordinates(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms) {
  std::vector<Coordinate> out(ranks.size());
  const auto take = [&](const std::string& desc, const std::vector<RankId>& members, size_t r) {
    int32_t* field = Field(&out[r], RoleOfDescription(desc));
    if (field == nullptr || *field >= 0 || members.size() < 2) return;
    const auto it = std::find(members.begin(), members.end(), ranks[r].meta.rank);
    if (it != members.end()) *field = static_cast<int32_t>(it - members.begin());
  };
  bool stages = false;
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (const trace::ProcessGroup& group : ranks[r].comms.declared) take(group.desc, group.ranks, r);
    stages = stages || out[r].stage >= 0;
  }
  if (!stages) StagesFromPairs(ranks, comms, &out);
  return out;
}

}  // namespace headway::diagnose
