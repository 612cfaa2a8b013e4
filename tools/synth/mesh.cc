// SPDX-License-Identifier: Apache-2.0
#include "synth/mesh.h"

#include "base/check.h"

namespace headway::synth {

const char* DimName(Dim dim) {
  constexpr const char* kNames[] = {"world", "pp", "dp", "tp", "ep"};
  return kNames[static_cast<size_t>(dim)];
}

const char* DimDescription(Dim dim) {
  constexpr const char* kNames[] = {"default_pg", "mesh_pp", "mesh_dp", "mesh_tp", "mesh_ep"};
  return kNames[static_cast<size_t>(dim)];
}

Mesh::Mesh(int dp, int tp, int pp, int ep, int ranks_per_host)
    : dp_(dp), tp_(tp), pp_(pp), ep_(ep), ranks_per_host_(ranks_per_host) {
  HEADWAY_CHECK(dp >= 1 && tp >= 1 && pp >= 1 && ep >= 1 && ranks_per_host >= 1 && dp % ep == 0);
  group_of_.assign(static_cast<size_t>(world()), std::vector<int>(kDims, -1));
  for (Dim dim : {Dim::kWorld, Dim::kPp, Dim::kDp, Dim::kTp, Dim::kEp}) AddGroups(dim);
}

int Mesh::size(Dim dim) const {
  const int sizes[] = {world(), pp_, dp_, tp_, ep_};
  return sizes[static_cast<size_t>(dim)];
}

Coordinate Mesh::At(int rank) const {
  Coordinate at;
  at.tp = rank % tp_;
  at.dp = rank / tp_ % dp_;
  at.pp = rank / (tp_ * dp_);
  at.ep = at.dp % ep_;
  return at;
}

std::vector<int> Mesh::RanksOfHost(int host) const {
  std::vector<int> ranks;
  for (int r = 0; r < world(); ++r) {
    if (Host(r) == host) ranks.push_back(r);
  }
  return ranks;
}

std::vector<int> Mesh::RanksOfStage(int pp) const {
  std::vector<int> ranks;
  for (int r = 0; r < world(); ++r) {
    if (At(r).pp == pp) ranks.push_back(r);
  }
  return ranks;
}

void Mesh::AddGroups(Dim dim) {
  // A mesh of one dimension over all ranks makes no group of its own: the default group serves it.
  const bool whole = dim != Dim::kWorld && size(dim) == world();
  if (size(dim) == 1 && dim != Dim::kWorld) return;
  for (int r = 0; r < world(); ++r) {
    int& mine = group_of_[static_cast<size_t>(r)][static_cast<size_t>(dim)];
    if (whole && dim != Dim::kEp) {
      mine = 0;
      continue;
    }
    if (mine >= 0) continue;
    Group group{dim, std::to_string(groups_.size()), {}};
    const Coordinate a = At(r);
    for (int other = r; other < world(); ++other) {
      const Coordinate b = At(other);
      const bool member = dim == Dim::kWorld || (dim == Dim::kPp && a.dp == b.dp && a.tp == b.tp) ||
                          (dim == Dim::kDp && a.pp == b.pp && a.tp == b.tp) ||
                          (dim == Dim::kTp && a.pp == b.pp && a.dp == b.dp) ||
                          (dim == Dim::kEp && a.pp == b.pp && a.tp == b.tp && a.dp / ep_ == b.dp / ep_);
      if (member) group.ranks.push_back(other);
    }
    for (int member : group.ranks) {
      group_of_[static_cast<size_t>(member)][static_cast<size_t>(dim)] = static_cast<int>(groups_.size());
    }
    groups_.push_back(std::move(group));
  }
}

}  // namespace headway::synth
