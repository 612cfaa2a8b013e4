// SPDX-License-Identifier: Apache-2.0
// The join on traces of real jobs: fourteen labelled cases with several process groups on a host backend, and one step
// of DLRM on eight devices. The truth stands in files beside the traces, written by the jobs themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/input_set.h"
#include "base/test_folder.h"
#include "pattern/pattern_builder.h"
#include "trace/comm.h"
#include "trace/reader_registry.h"

namespace headway::trace {
namespace {

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no outside data at " << (path)

// What the fold leaves of each rank's communication.
std::vector<RankComms> ReadJob(const std::string& path) {
  std::vector<RankComms> ranks;
  const std::vector<std::string> paths{path};
  for (const InputItem& item : ListInputs(paths).items) {
    auto source = item.Open();
    if (!source) continue;
    pattern::PatternBuilder builder({});
    std::unique_ptr<TraceReader> reader;
    while (true) {
      const auto chunk = (*source)->Next();
      if (!chunk || chunk->empty()) break;
      if (reader == nullptr) {
        const TraceFormat* format = FindTraceFormat(chunk->substr(0, 512), item.display_name);
        if (format == nullptr) break;
        reader = format->make(&builder, {.source = item.display_name, .rules = nullptr});
      }
      if (!reader->Feed(*chunk)) break;
    }
    if (reader == nullptr || !reader->Finish() || reader->meta().lanes.empty()) continue;
    const StringPool names = reader->TakeNames();
    auto rank = builder.Finish(reader->TakeMeta(), names, reader->log());
    if (rank) ranks.push_back(std::move(rank->comms));
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankComms& a, const RankComms& b) { return a.rank < b.rank; });
  return ranks;
}

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
    ranks_ = ReadJob(folder_);
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

std::vector<RankComms> Dlrm() { return ReadJob(SharedData() + "/param/dlrm_kineto.tar.gz"); }

void Shift(std::vector<RankComms>* ranks, const std::vector<Nanos>& by) {
  for (size_t r = 0; r < ranks->size(); ++r) {
    for (Nanos& s : (*ranks)[r].step_starts) s += by[r];
    for (CommInstance& row : (*ranks)[r].instances) {
      row.start += by[r];
      row.end += by[r];
    }
  }
}

TEST(Dlrm, EightCollectivesOfOneWorldOnTheClocksAsRecorded) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  const std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  const JobComms joined = JoinComms(ranks, 8);
  ASSERT_EQ(joined.groups.size(), 1u);
  EXPECT_EQ(joined.groups[0].ranks.size(), 8u);
  EXPECT_TRUE(joined.groups[0].inferred);
  ASSERT_EQ(joined.collectives.size(), 8u);
  ASSERT_EQ(joined.clocks.size(), 1u);
  EXPECT_EQ(joined.clocks[0].offset, 0);
  EXPECT_LE(joined.clocks[0].residual, 7'000);
  // Spread of ends over the ranks, in us, read off the files by hand.
  const std::vector<Nanos> expected{2, 2, 1, 2, 5, 3, 5, 7};
  for (size_t k = 0; k < 8; ++k) {
    Nanos low = 0, high = 0;
    for (const CollectiveMember& m : joined.collectives[k].members) {
      const Nanos end = ranks[static_cast<size_t>(m.rank_index)].instances[static_cast<size_t>(m.instance)].end;
      low = low == 0 ? end : std::min(low, end);
      high = std::max(high, end);
    }
    EXPECT_EQ((high - low) / 1000, expected[k]) << k;
  }
}

TEST(Dlrm, OffsetsOfEightHostsAreRecovered) {
  SKIP_WITHOUT(SharedData() + "/param/dlrm_kineto.tar.gz");
  std::vector<RankComms> ranks = Dlrm();
  ASSERT_EQ(ranks.size(), 8u);
  for (const bool known : {true, false}) {
    for (RankComms& rank : ranks) {
      rank.host = "host" + std::to_string(rank.rank);
      rank.host_known = known;
    }
    const JobComms before = JoinComms(ranks, 8);
    const std::vector<Nanos> by{0, 50'000'000, -50'000'000, 17'000, -5'003'000, 31'415'000, -1'000, 8'765'000};
    std::vector<RankComms> shifted = ranks;
    Shift(&shifted, by);
    const JobComms after = JoinComms(shifted, 8);
    ASSERT_EQ(after.clocks.size(), 8u);
    for (size_t h = 0; h < 8; ++h) {
      const Nanos unshifted = before.clocks.size() == 8 ? before.clocks[h].offset : 0;
      EXPECT_LE(std::abs(unshifted), 2'000) << h;  // the ends agree within 7 us as recorded
      if (known) EXPECT_EQ(after.clocks[h].offset, unshifted - by[h]) << h;
      EXPECT_LE(std::abs(after.clocks[h].offset - (unshifted - by[h])), 2'000) << h;
    }
    ASSERT_EQ(after.collectives.size(), 8u);
    for (size_t k = 0; k < 8; ++k) EXPECT_EQ(after.collectives[k].members.size(), 8u);
  }
}

}  // namespace
}  // namespace headway::trace
