// SPDX-License-Identifier: Apache-2.0
#include "diagnose/exchange_role.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/made_mesh.h"

namespace headway::diagnose {
namespace {

using trace::CommOp;
using Groups = std::set<std::vector<int32_t>>;

enum class Role : uint8_t { kExchange, kUnknown };

Groups Of(std::vector<pattern::RankPattern> ranks, Role role) {
  const Job job = JoinJob(std::move(ranks));
  const std::vector<Channel> channels = CollectChannels(job);
  const Exchanges exchanges = ExchangesOf(job, channels);
  Groups out;
  for (const Family& family : role == Role::kExchange ? exchanges.known : exchanges.unknown) {
    for (const Channel* channel : family) out.insert(channel->ranks);
  }
  return out;
}

// Eight ranks, pairs of neighbours and fours of every second one, four reductions of either a step.
std::vector<pattern::RankPattern> Mesh(const std::string& pairs, const std::string& fours) {
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> near = mesh.Groups(pairs, {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  const std::vector<int> far = mesh.Groups(fours, {{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    for (int k = 0; k < 4; ++k) {
      mesh.ComputeAll(Ms(10));
      for (const int g : near) mesh.Meet(g, CommOp::kAllReduce, -1, Ms(1));
    }
    for (int k = 0; k < 4; ++k) {
      for (const int g : far) mesh.Meet(g, CommOp::kAllReduce, -1, Ms(2));
    }
  }
  return mesh.Make();
}

const Groups kNear{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, kFar{{0, 2, 4, 6}, {1, 3, 5, 7}};

TEST(ExchangeRole, OfUnnamedGroupsThoseThatLieFarApart) {
  EXPECT_EQ(Of(Mesh("", ""), Role::kExchange), kFar);
  EXPECT_EQ(Of(Mesh("", ""), Role::kUnknown), kNear);
}

TEST(ExchangeRole, OfTwoThatLieAsFarApartNeitherIsTold) {
  // Pairs two apart, and the fours again.
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> pairs = mesh.Groups("", {{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  const std::vector<int> fours = mesh.Groups("", {{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    for (const int g : pairs) mesh.Meet(g, CommOp::kAllReduce, -1, Ms(1));
    for (const int g : fours) mesh.Meet(g, CommOp::kAllReduce, -1, Ms(2));
  }
  EXPECT_EQ(Of(mesh.Make(), Role::kExchange), Groups{});
}

TEST(ExchangeRole, ANameTellsMoreThanAPlace) {
  EXPECT_EQ(Of(Mesh("mesh_dp", "mesh_tp"), Role::kExchange), kNear);
  EXPECT_EQ(Of(Mesh("mesh_dp", "mesh_tp"), Role::kUnknown), Groups{});
  EXPECT_EQ(Of(Mesh("", "mesh_tp"), Role::kExchange), Groups{});
}

// Two stages of four ranks, of which nothing names the groups: four messages from each rank of the first, and four
// reductions on either stage, behind them or one behind each.
std::vector<pattern::RankPattern> Pipeline(bool between) {
  MadeMesh mesh({.ranks = 8});
  const std::vector<int> next = mesh.Groups("", {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  const std::vector<int> stages = mesh.Groups("", {{0, 1, 2, 3}, {4, 5, 6, 7}});
  const auto reduce = [&] {
    for (const int g : stages) mesh.Meet(g, CommOp::kAllReduce, -1, Ms(2));
  };
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    for (int k = 0; k < 4; ++k) {
      mesh.ComputeAll(Ms(10));
      if (between) reduce();
      for (int r = 0; r < 4; ++r) mesh.Send(next[static_cast<size_t>(r)], r, -1, Ms(1));
    }
    for (int k = 0; k < 4 && !between; ++k) reduce();
  }
  return mesh.Make();
}

TEST(ExchangeRole, TheOnlyGroupsOfAPipelineExchangeGradientsIfTheyDoSoInOneGo) {
  const Groups stages{{0, 1, 2, 3}, {4, 5, 6, 7}};
  EXPECT_EQ(Of(Pipeline(false), Role::kExchange), stages);
  EXPECT_EQ(Of(Pipeline(true), Role::kExchange), Groups{});  // what a layer waits for
  EXPECT_EQ(Of(Pipeline(true), Role::kUnknown), stages);
}

TEST(ExchangeRole, WhatDividesAPartOfTheJobTellsNothing) {
  MadeMesh mesh({.ranks = 8});
  const int four = mesh.Group("", {0, 2, 4, 6});
  for (int s = 0; s < 4; ++s) {
    mesh.Step();
    mesh.ComputeAll(Ms(10));
    mesh.Meet(four, CommOp::kAllReduce, -1, Ms(2));
  }
  EXPECT_EQ(Of(mesh.Make(), Role::kExchange), Groups{});
}

}  // namespace
}  // namespace headway::diagnose
