// SPDX-License-Identifier: Apache-2.0
// The join on traces of real jobs: fourteen labelled cases with several process groups on a host backend. The truth
// stands in files beside the traces, written by the jobs themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/outside/read_job.h"
#include "trace/comm.h"

namespace headway::trace {
namespace {

std::string Slurp(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<int64_t> Numbers(const std::string& list) {
  std::vector<int64_t> numbers;
  const std::regex number("[0-9]+");
  for (std::sregex_iterator it(list.begin(), list.end(), number), end; it != end; ++it) {
    numbers.push_back(std::stoll(it->str()));
  }
  return numbers;
}

// truth.json: "gloo_threads_of_group": {"0": {"world": [1, 2], "dp": […]}, …}: (rank, thread) -> dimension.
std::map<std::pair<int64_t, int64_t>, std::string> ThreadsOfGroups(const std::string& truth) {
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
  const std::string text = truth.substr(truth.find("gloo_threads_of_group"));
  const std::regex rank_entry("\"([0-9]+)\"\\s*:\\s*\\{([^}]*)\\}"), group("\"([a-z]+)\"\\s*:\\s*\\[([^\\]]*)\\]");
  for (std::sregex_iterator it(text.begin(), text.end(), rank_entry), end; it != end; ++it) {
    const std::string body = (*it)[2].str();
    for (std::sregex_iterator g(body.begin(), body.end(), group); g != end; ++g) {
      for (const int64_t tid : Numbers((*g)[2].str())) threads[{std::stoll((*it)[1].str()), tid}] = (*g)[1].str();
    }
  }
  return threads;
}

struct TrueGroup {
  std::string desc;
  std::vector<RankId> ranks;
};

// groups.<R>.json: the groups of rank R by dimension.
std::map<std::string, TrueGroup> GroupsOf(const std::string& path) {
  std::map<std::string, TrueGroup> groups;
  const std::string text = Slurp(path);
  const std::regex entry(
      "\"dim\"\\s*:\\s*\"([a-z]+)\"[^}]*\"pg_desc\"\\s*:\\s*\"([a-z_]+)\"[^}]*\"ranks\"\\s*:\\s*\\[([^\\]]*)\\]");
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    TrueGroup group{.desc = (*it)[2].str()};
    for (const int64_t r : Numbers((*it)[3].str())) group.ranks.push_back(static_cast<RankId>(r));
    groups[(*it)[1].str()] = group;
  }
  return groups;
}

class MeshCase : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = SharedData() + "/cpu_mesh/" + GetParam();
    SKIP_WITHOUT(folder_);
    ranks_ = ReadComms(folder_);
    ASSERT_GE(ranks_.size(), 4u);
  }

  // Every paired row lies in the group that the thread it ran on truly belongs to; pairs of a pipeline between
  // neighbours of the true pipeline group. Returns how many collectives were checked.
  size_t CheckAgainstTruth(const JobComms& joined, bool declared) {
    const auto threads = ThreadsOfGroups(Slurp(folder_ + "/truth.json"));
    EXPECT_FALSE(threads.empty());
    std::map<RankId, std::map<std::string, TrueGroup>> groups;
    for (const RankComms& rank : ranks_) {
      groups[rank.rank] = GroupsOf(folder_ + "/groups." + std::to_string(rank.rank) + ".json");
    }
    for (const Collective& c : joined.collectives) {
      const JobGroup& found = joined.groups[static_cast<size_t>(c.group)];
      for (const CollectiveMember& m : c.members) {
        const RankComms& rank = ranks_[static_cast<size_t>(m.rank_index)];
        const CommInstance& row = rank.instances[static_cast<size_t>(m.instance)];
        const int64_t tid = rank.groups[static_cast<size_t>(row.local_group)].lane_tid;
        const auto dim = found.is_p2p ? "pp" : threads.at({rank.rank, tid});
        const TrueGroup& truth = groups[rank.rank].at(dim);
        EXPECT_EQ(found.ranks, truth.ranks) << "rank " << rank.rank << " thread " << tid << " " << dim;
        if (declared) EXPECT_EQ(found.desc, truth.desc);
      }
      EXPECT_EQ(c.members.size(), found.ranks.size());
    }
    return joined.collectives.size();
  }

  std::string folder_;
  std::vector<RankComms> ranks_;
};

TEST_P(MeshCase, GroupsFromThreadsEqualTheTruth) {
  const JobComms joined = JoinComms(ranks_, static_cast<int>(ranks_.size()));
  EXPECT_GT(CheckAgainstTruth(joined, true), 20u);
  EXPECT_EQ(joined.unmatched_instances, 0);
  EXPECT_EQ(joined.inconsistent, 0);
  ASSERT_EQ(joined.clocks.size(), 1u);  // one host, one clock
  EXPECT_EQ(joined.clocks[0].offset, 0);
}

TEST_P(MeshCase, GroupsAreFoundWithoutAnyDeclaration) {
  for (RankComms& rank : ranks_) rank.declared.clear();
  const JobComms joined = JoinComms(ranks_, static_cast<int>(ranks_.size()));
  // Where two groups have the same members, nothing but the description could tell them apart.
  EXPECT_GT(CheckAgainstTruth(joined, false), 20u);
  EXPECT_EQ(joined.unmatched_instances, 0);
}

// Each rank as if on its own host: the clocks, which truly are one, come out within their residuals.
TEST_P(MeshCase, ClocksOfSeparateHostsComeOutWithinTheirResiduals) {
  for (RankComms& rank : ranks_) rank.host = "host" + std::to_string(rank.rank);
  const JobComms joined = JoinComms(ranks_, static_cast<int>(ranks_.size()));
  EXPECT_GT(CheckAgainstTruth(joined, true), 20u);
  ASSERT_EQ(joined.clocks.size(), ranks_.size());
  for (const HostClock& clock : joined.clocks) {
    EXPECT_EQ(clock.drift, 0) << clock.host;
    EXPECT_LE(std::abs(clock.offset), clock.residual + joined.clocks[0].residual) << clock.host;
    EXPECT_LE(std::abs(clock.offset), 3 * kMillisecond) << clock.host;
  }
}

INSTANTIATE_TEST_SUITE_P(CpuMesh, MeshCase,
                         testing::Values("healthy-dp-tp", "healthy-dp-pp", "healthy-fsdp-netns", "slow-device-fsdp",
                                         "slow-device-tp", "slow-device-3d", "stage-imbalance", "slow-loader-pp",
                                         "slow-link-fsdp", "gc-pause-tp", "hot-expert", "long-sequence-fsdp",
                                         "sigstop-pp", "two-faults-pp"),
                         [](const auto& case_name) {
                           std::string name = case_name.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace headway::trace
