// SPDX-License-Identifier: Apache-2.0
#include "diagnose/coordinates.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace headway::diagnose {

namespace {

// Lower-case words of a description: "mesh_pp" -> {mesh, pp}.
std::vector<std::string> Words(std::string_view desc) {
  std::vector<std::string> words(1);
  for (const char c : desc) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
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

// Stages from p2p pairs: each connected set of ranks, in rank order, is one pipeline when it is a chain (or a ring).
void StagesFromPairs(std::span<const pattern::RankPattern> ranks, const trace::JobComms& comms,
                     std::vector<Coordinate>* out) {
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
  std::map<RankId, int32_t> next;
  std::map<RankId, int32_t> stage;
  for (const auto& [rank, unused] : parent) stage[rank] = next[find(rank)]++;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (auto it = stage.find(ranks[r].meta.rank); it != stage.end()) (*out)[r].stage = it->second;
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
