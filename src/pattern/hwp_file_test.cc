// SPDX-License-Identifier: Apache-2.0
// Whole files: what goes in comes out, in the same few bytes, whatever the order.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pattern/hwp_format.h"
#include "pattern/hwp_merge.h"
#include "pattern/hwp_rank.h"
#include "pattern/hwp_reader.h"
#include "pattern/hwp_same_pattern.h"
#include "pattern/hwp_sample_pattern.h"
#include "pattern/hwp_writer.h"

namespace headway::pattern {
namespace {

using hwp::FirstDifference;
using hwp::MakeSamplePattern;
using hwp::SampleShape;

// Everything the types allow and pattern.h does not forbid: extremes, disorder, empty parts, odd bits in doubles.
class WildPattern {
 public:
  explicit WildPattern(uint64_t seed) : random_(seed) {}

  RankPattern Make() {
    RankPattern p;
    Meta(&p.meta);
    const auto functions = static_cast<int32_t>(random_() % 40);
    const auto steps = static_cast<int32_t>(random_() % 8);
    FunctionTable table;
    for (int32_t f = 0; f < functions; ++f) {
      table.push_back({Text(), f == 0 ? -1 : static_cast<int32_t>(random_() % static_cast<uint64_t>(f + 1)) - 1,
                       static_cast<WorkClass>(random_() % kWorkClasses), random_() % 2 == 0 ? "" : Text()});
      p.functions.push_back({Int(), Int(), Int(), Double(), Double()});
    }
    p.function_table = std::make_shared<const FunctionTable>(std::move(table));
    for (int32_t s = 0; s < steps; ++s) {
      const auto function = [&] { return functions == 0 ? -1 : Below(functions) - 1; };
      Step step{Int(),      Int(),   Int(),   Int(),   {},    Int(), Int(), function(), Int(),
                function(), Int32(), Int32(), Int32(), Int(), Int(), Int(), {}};
      for (Nanos& time : step.by_class) time = Int();
      if (Flag()) step.behind_host.fill(static_cast<uint8_t>(Int()));
      p.steps.push_back(step);
      for (int32_t f = 0; f < functions; ++f) {
        if (random_() % 4 != 0) p.function_steps.push_back({s, f, Int(), Int32()});
      }
    }
    Comms(&p.comms);
    p.steps_marked = Flag();
    p.has_device = Flag();
    p.linked_only = Flag();
    for (Nanos* n :
         {&p.window_start, &p.window_end, &p.events, &p.unknown_name_time, &p.overhead, &p.thinned_instances}) {
      *n = Int();
    }
    for (auto* sums : {&p.device_all, &p.device_linked}) {
      sums->first = Int(), sums->last = Int(), sums->rows = Int();
      for (Nanos& time : sums->by_kinds) time = Int();
    }
    for (int i = Below(4); i > 0; --i) {
      p.log.Restore(Text(), {static_cast<trace::ProblemKind>(random_() % 4), Int(), Int(), Text()});
    }
    return p;
  }

 private:
  int32_t Below(int32_t n) { return static_cast<int32_t>(random_() % static_cast<uint64_t>(n)); }
  bool Flag() { return random_() % 2 == 0; }
  int64_t Int() {
    switch (random_() % 8) {
      case 0: return 0;
      case 1: return std::numeric_limits<int64_t>::min();
      case 2: return std::numeric_limits<int64_t>::max();
      case 3: return -1;
      default: return static_cast<int64_t>(random_()) >> (random_() % 64);
    }
  }
  int32_t Int32() { return static_cast<int32_t>(random_()) >> (random_() % 32); }
  double Double() { return random_() % 3 == 0 ? 0.0 : std::bit_cast<double>((random_() >> 2)); }
  std::string Text() {
    std::string text;
    for (auto n = random_() % 20; n > 0; --n) text.push_back(static_cast<char>(random_()));
    return text;
  }
  std::vector<RankId> Ranks() {
    std::vector<RankId> ranks;
    for (int n = Below(6); n > 0; --n) ranks.push_back(Int32());
    return ranks;
  }
  std::vector<trace::ProcessGroup> Groups() {
    std::vector<trace::ProcessGroup> groups;
    for (int n = Below(3); n > 0; --n) groups.push_back({Text(), Text(), Text(), Ranks()});
    return groups;
  }
  void Meta(trace::RankMeta* m) {
    m->rank = Int32(), m->world_size = Int32();
    m->rank_source = Text(), m->host = Text(), m->backend = Text(), m->source = Text(), m->trace_id = Text();
    m->groups = Groups();
    for (int n = Below(4); n > 0; --n) m->lanes.push_back({Flag(), Int32(), Int(), Int(), Text()});
    for (int n = Below(3); n > 0; --n) m->devices.push_back(Text()), m->profiler_messages.push_back(Text());
    for (int n = Below(3); n > 0; --n)
      m->versions.emplace_back(Text(), Text()), m->categories.emplace_back(Text(), Int());
    m->with_stack = Flag(), m->record_shapes = Flag(), m->time_resolution = Int(), m->time_base = Int();
  }
  void Comms(trace::RankComms* c) {
    c->rank = Int32(), c->host = Text(), c->host_known = Flag(), c->declared = Groups();
    for (int n = Below(4); n > 0; --n) {
      c->groups.push_back(
          {Text(), Text(), Ranks(), Int32(), static_cast<trace::LaneId>(random_()), Int(), Flag(), Flag()});
    }
    for (int n = Below(4); n > 0; --n) c->runloop_tids.push_back(Int());
    for (int n = Below(5); n > 0; --n) c->step_numbers.push_back(Int()), c->step_starts.push_back(Int());
    if (c->groups.empty()) return;
    const bool ticks = Flag();
    for (int n = Below(300); n > 0; --n) {
      trace::CommInstance i{Int(),
                            Int(),
                            Int(),
                            Int(),
                            Int(),
                            Int(),
                            Int(),
                            Below(static_cast<int32_t>(c->groups.size())),
                            Below(static_cast<int32_t>(c->step_numbers.size()) + 1) - 1,
                            Int32(),
                            static_cast<trace::CommOp>(random_() % 14),
                            Flag()};
      if (ticks) {
        for (Nanos* t : {&i.start, &i.end, &i.exposed, &i.exposed_begin, &i.exposed_end}) *t = *t / 250 * 250;
      }
      if (Flag()) i.exposed = 0, i.exposed_begin = i.exposed_end = Flag() ? 0 : i.start;
      if (Flag()) i.exposed_begin = i.start;
      if (Flag()) i.exposed_end = i.end;
      c->instances.push_back(i);
    }
  }

  std::mt19937_64 random_;
};

std::vector<RankPattern> Read(std::string_view bytes) {
  auto contents = ReadHwp(bytes, "test.hwp");
  if (!contents) {
    ADD_FAILURE() << contents.error().ToString();
    return {};
  }
  for (const Error& problem : contents->problems) ADD_FAILURE() << problem.ToString();
  return std::move(contents->ranks);
}

SampleShape Small(RankId rank) {
  return {.functions = 30, .steps = 3, .collectives = 12, .rank = rank, .world_size = 16};
}

TEST(HwpFile, ARealisticRankComesBack) {
  const RankPattern pattern = MakeSamplePattern({}, 1);
  const auto read = Read(WriteHwp({&pattern, 1}));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(FirstDifference(pattern, read[0]), "");
}

TEST(HwpFile, AnyPatternComesBack) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const RankPattern pattern = WildPattern(seed).Make();
    const auto read = Read(WriteHwp({&pattern, 1}));
    ASSERT_EQ(read.size(), 1u) << "seed " << seed;
    ASSERT_EQ(FirstDifference(pattern, read[0]), "") << "seed " << seed;
  }
}

TEST(HwpFile, AnEmptyPatternAndAnEmptyFileComeBack) {
  RankPattern pattern;
  pattern.function_table = std::make_shared<const FunctionTable>();
  const auto read = Read(WriteHwp({&pattern, 1}));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(FirstDifference(pattern, read[0]), "");
  EXPECT_TRUE(Read(WriteHwp({})).empty());
}

// Constant columns pack thousands to one: the writer pads such a section to what the reader's memory limit allows.
TEST(HwpFile, ColumnsThatPackExtremelyComeBack) {
  RankPattern pattern;
  FunctionTable table(3000, FunctionName{std::string(200, 'x'), -1, WorkClass::kHost, "occupancy"});
  pattern.function_table = std::make_shared<const FunctionTable>(std::move(table));
  pattern.functions.resize(3000);
  pattern.steps.resize(300);
  for (int s = 0; s < 300; ++s) {
    for (int f = 0; f < 3000; ++f) pattern.function_steps.push_back({s, f, 5000, 2});
  }
  const auto read = Read(WriteHwp({&pattern, 1}));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(FirstDifference(pattern, read[0]), "");
}

// The budgets of the architecture: a function table of 1,000 functions in 20 steps with honest jitter in 30 KB, names
// included, and 8 bytes for each of 5,000 collectives.
TEST(HwpFile, ARankStaysWithinItsBudget) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const SampleShape shape{.functions = 1000, .steps = 20, .collectives = 250, .table_seed = seed};
    const RankPattern pattern = MakeSamplePattern(shape, seed);
    ASSERT_EQ(pattern.function_steps.size(), 20'000u);
    ASSERT_EQ(pattern.comms.instances.size(), 5'000u);
    RankPattern without = pattern;
    without.comms.instances.clear();
    const size_t whole = WriteHwp({&pattern, 1}).size();
    const size_t functions = WriteHwp({&without, 1}).size();
    const double per_instance = static_cast<double>(whole - functions) / 5000;
    std::printf("seed %d: %zu bytes, %zu without collectives, %.2f a collective\n", static_cast<int>(seed), whole,
                functions, per_instance);
    EXPECT_LE(functions, 30u * 1024);
    EXPECT_LE(per_instance, 8.0);
  }
}

// Without marked steps a window is one step, and no operation has its like in another one.
TEST(HwpFile, CollectivesOfASingleStepStayWithinTheirBudget) {
  RankPattern pattern = MakeSamplePattern({.functions = 10, .steps = 20, .collectives = 250}, 5);
  pattern.steps.clear();
  pattern.function_steps.clear();
  pattern.comms.step_numbers = {0};
  pattern.comms.step_starts = {pattern.window_start};
  for (auto& instance : pattern.comms.instances) instance.step = 0;
  RankPattern without = pattern;
  without.comms.instances.clear();
  const size_t bytes = WriteHwp({&pattern, 1}).size() - WriteHwp({&without, 1}).size();
  EXPECT_LE(static_cast<double>(bytes) / 5000, 8.0);
  EXPECT_EQ(FirstDifference(pattern, Read(WriteHwp({&pattern, 1}))[0]), "");
}

TEST(HwpFile, SameBytesInAnyOrderAndTwice) {
  std::vector<RankPattern> ranks;
  for (const RankId r : {5, 0, 12, 3}) ranks.push_back(MakeSamplePattern(Small(r), static_cast<uint64_t>(r)));
  const std::string bytes = WriteHwp(ranks);
  EXPECT_EQ(WriteHwp(ranks), bytes);
  std::reverse(ranks.begin(), ranks.end());
  EXPECT_EQ(WriteHwp(ranks), bytes);
  ranks.push_back(ranks.front());
  EXPECT_EQ(WriteHwp(ranks), bytes);
  const auto read = Read(bytes);
  ASSERT_EQ(read.size(), 4u);
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].meta.rank, (std::vector<RankId>{0, 3, 5, 12})[i]);
}

TEST(HwpMerge, EqualsWritingAllAtOnceInAnyGrouping) {
  std::vector<RankPattern> ranks;
  std::vector<std::string> files;
  for (RankId r = 0; r < 4; ++r) {
    SampleShape shape = Small(r);
    shape.table_seed = static_cast<uint64_t>(r % 2);  // two tables
    ranks.push_back(MakeSamplePattern(shape, static_cast<uint64_t>(r)));
    files.push_back(WriteHwp({&ranks.back(), 1}));
  }
  const auto merge = [](const std::vector<std::string>& parts) {
    std::vector<HwpBytes> inputs;
    for (const std::string& part : parts) inputs.push_back({part, "part.hwp"});
    auto merged = MergeHwp(inputs);
    EXPECT_TRUE(merged.has_value());
    return merged.value_or("");
  };
  const std::string whole = WriteHwp(ranks);
  EXPECT_EQ(merge(files), whole);
  EXPECT_EQ(merge({merge({files[3], files[1]}), merge({files[2], files[0]})}), whole);
  EXPECT_EQ(merge({files[0], merge({files[1], merge({files[2], files[3]})})}), whole);
  EXPECT_EQ(merge({whole, files[2], whole}), whole);
  EXPECT_EQ(merge({files[0]}), files[0]);
  const auto read = Read(whole);
  ASSERT_EQ(read.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(FirstDifference(ranks[i], read[i]), "");
  EXPECT_EQ(read[0].function_table, read[2].function_table);
  EXPECT_NE(read[0].function_table, read[1].function_table);
}

TEST(HwpMerge, RefusesADamagedAndACutFile) {
  const RankPattern rank = MakeSamplePattern(Small(1), 1);
  const std::string good = WriteHwp({&rank, 1});
  std::string damaged = good;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  const auto merge = [&](std::string_view other) {
    const std::vector<HwpBytes> inputs = {{good, "good.hwp"}, {other, "other.hwp"}};
    return MergeHwp(inputs);
  };
  ASSERT_FALSE(merge(damaged).has_value());
  EXPECT_TRUE(merge(damaged).error().where.starts_with("other.hwp, byte "));
  EXPECT_FALSE(merge(std::string_view(good).substr(0, good.size() - 1)).has_value());
}

TEST(HwpReader, RanksOfManyFilesShareTheirTableAcrossThreads) {
  std::vector<std::string> files;
  for (RankId r = 0; r < 8; ++r) {
    const RankPattern rank = MakeSamplePattern(Small(r), static_cast<uint64_t>(r));
    files.push_back(WriteHwp({&rank, 1}));
  }
  FunctionTableCache cache;
  std::vector<std::shared_ptr<const FunctionTable>> tables(files.size());
  const auto read_half = [&](size_t first) {
    HwpReader reader(&cache);
    for (size_t i = first; i < files.size(); i += 2) {
      auto contents = reader.Read(files[i], "x.hwp");
      if (contents && contents->ranks.size() == 1) tables[i] = contents->ranks[0].function_table;
    }
  };
  std::thread other(read_half, 1);
  read_half(0);
  other.join();
  ASSERT_NE(tables[0], nullptr);
  for (const auto& table : tables) EXPECT_EQ(table, tables[0]);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(HwpReader, LeavesOutOwnTimesByStepOnly) {
  RankPattern rank = MakeSamplePattern(Small(0), 1);
  const std::string bytes = WriteHwp({&rank, 1});
  FunctionTableCache cache;
  const auto contents = HwpReader(&cache).Read(bytes, "job.hwp", Parts::kNoFunctionSteps);
  ASSERT_TRUE(contents.has_value());
  EXPECT_EQ(FirstDifference(rank, contents->ranks[0]), "function_steps");
  rank.function_steps.clear();
  EXPECT_EQ(FirstDifference(rank, contents->ranks[0]), "");
}

TEST(HwpFile, AFileOnDiskComesBackAndAMissingOneIsNamed) {
  const RankPattern rank = MakeSamplePattern(Small(0), 1);
  const std::string path = testing::TempDir() + "/hwp_file_test.hwp";
  ASSERT_TRUE(WriteHwpFile(path, {&rank, 1}).has_value());
  const auto contents = ReadHwpFile(path);
  ASSERT_TRUE(contents.has_value());
  EXPECT_EQ(FirstDifference(rank, contents->ranks[0]), "");
  ASSERT_EQ(std::remove(path.c_str()), 0);
  const auto missing = ReadHwpFile(path);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(missing.error().ToString().find(path) != std::string::npos);
}

TEST(HwpReader, GivesSingleRanksOfAMergedFile) {
  std::vector<RankPattern> ranks;
  for (RankId r = 0; r < 3; ++r) ranks.push_back(MakeSamplePattern(Small(r), static_cast<uint64_t>(r)));
  const std::string bytes = WriteHwp(ranks);
  const auto file = HwpFile::Open(bytes, "job.hwp");
  ASSERT_TRUE(file.has_value());
  ASSERT_EQ(file->rank_count(), 3u);
  FunctionTableCache cache;
  HwpReader reader(&cache);
  for (const size_t i : {2u, 0u, 1u}) {
    const auto rank = reader.Rank(*file, i);
    ASSERT_TRUE(rank.has_value());
    EXPECT_EQ(FirstDifference(ranks[i], *rank), "");
  }
}

}  // namespace
}  // namespace headway::pattern
