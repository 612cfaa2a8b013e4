// SPDX-License-Identifier: Apache-2.0
// Where every rank stands in the dp x tp x pp x ep grid, which process groups there are and on which host a rank runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headway::synth {

enum class Dim : uint8_t { kWorld, kPp, kDp, kTp, kEp };
inline constexpr int kDims = 5;

// "world", "pp", "dp", "tp", "ep".
const char* DimName(Dim dim);
// The pg_desc PyTorch gives: "default_pg", "mesh_pp", ...
const char* DimDescription(Dim dim);

struct Group {
  Dim dim = Dim::kWorld;
  std::string name;        // pg_name; unique in the job
  std::vector<int> ranks;  // ascending; the ring runs in this order
};

struct Coordinate {
  int pp = 0, dp = 0, tp = 0, ep = 0;
};

// rank = (pp * DP + dp) * TP + tp, as init_device_mesh(("pp", "dp", "tp")) does; an ep group is a run of EP
// neighbouring dp indices of one (pp, tp). Groups of one rank are left out.
class Mesh {
 public:
  // All sizes >= 1; ep divides dp. A host holds `ranks_per_host` neighbouring ranks.
  Mesh(int dp, int tp, int pp, int ep, int ranks_per_host);

  int world() const { return dp_ * tp_ * pp_; }
  int size(Dim dim) const;
  Coordinate At(int rank) const;
  int RankAt(int pp, int dp, int tp) const { return (pp * dp_ + dp) * tp_ + tp; }
  int Host(int rank) const { return rank / ranks_per_host_; }
  int hosts() const { return (world() + ranks_per_host_ - 1) / ranks_per_host_; }
  std::vector<int> RanksOfHost(int host) const;
  std::vector<int> RanksOfStage(int pp) const;

  const std::vector<Group>& groups() const { return groups_; }
  // Index into groups() of the group of `dim` that holds the rank; -1 where that dimension has one member.
  int GroupOf(int rank, Dim dim) const { return group_of_[static_cast<size_t>(rank)][static_cast<size_t>(dim)]; }

 private:
  void AddGroups(Dim dim);

  int dp_, tp_, pp_, ep_, ranks_per_host_;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> group_of_;
};

}  // namespace headway::synth
