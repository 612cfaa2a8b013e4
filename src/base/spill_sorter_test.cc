// SPDX-License-Identifier: Apache-2.0
#include "base/spill_sorter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/test_folder.h"

namespace headway {
namespace {

struct Row {
  int64_t start = 0;
  int64_t duration = 0;
  uint32_t sequence = 0;
  char payload[20] = {};
  friend bool operator==(const Row&, const Row&) = default;
};
static_assert(sizeof(Row) == 40);

struct EarlierRow {
  [[nodiscard]] int64_t Key(const Row& row) const { return row.start; }
  bool operator()(const Row& a, const Row& b) const {
    if (a.start != b.start) return a.start < b.start;
    if (a.duration != b.duration) return a.duration > b.duration;
    return a.sequence < b.sequence;
  }
};

struct EarlierRowWithoutKey {
  bool operator()(const Row& a, const Row& b) const { return EarlierRow()(a, b); }
};

template <typename Less>
std::vector<Row> SortWith(const std::vector<Row>& rows, SpillOptions options, SpillStats* stats = nullptr) {
  SpillSorter<Row, Less> sorter(std::move(options));
  for (const Row& row : rows) sorter.Add(row);
  const auto finished = sorter.Finish();
  EXPECT_TRUE(finished) << finished.error().ToString();
  std::vector<Row> sorted;
  const auto read = sorter.ForEach([&](const Row& row) { sorted.push_back(row); });
  EXPECT_TRUE(read);
  if (stats != nullptr) *stats = sorter.stats();
  return sorted;
}

std::vector<Row> MakeRows(size_t count, const std::function<int64_t(size_t, std::mt19937_64&)>& start_of) {
  std::mt19937_64 random(7);
  std::vector<Row> rows(count);
  for (size_t i = 0; i < count; ++i) {
    rows[i].start = start_of(i, random);
    rows[i].duration = static_cast<int64_t>(random() % 3);
    rows[i].sequence = static_cast<uint32_t>(i);
    rows[i].payload[0] = static_cast<char>(i);
    rows[i].payload[19] = static_cast<char>(random());
  }
  return rows;
}

struct Shape {
  const char* name;
  std::function<int64_t(size_t, std::mt19937_64&)> start_of;
};

std::vector<Shape> Shapes() {
  constexpr int64_t kEpoch = 1'700'000'000'000'000'000;
  return {
      {"in order", [](size_t i, auto&) { return kEpoch + static_cast<int64_t>(i); }},
      {"backwards", [](size_t i, auto&) { return kEpoch - static_cast<int64_t>(i); }},
      {"random", [](size_t, auto& random) { return static_cast<int64_t>(random() % 1000000); }},
      {"all equal", [](size_t, auto&) { return int64_t{5}; }},
      {"few values", [](size_t, auto& random) { return static_cast<int64_t>(random() % 3); }},
      {"nearly in order",
       [](size_t i, auto& random) {
         return kEpoch + static_cast<int64_t>(i * 10) - static_cast<int64_t>(random() % 80);
       }},
      {"one very late row", [](size_t i, auto&) { return i == 900 ? int64_t{-1} : static_cast<int64_t>(i); }},
      {"seven streams", [](size_t i, auto&) { return static_cast<int64_t>(i % 143); }},
      {"every 64-bit value", [](size_t, auto& random) { return static_cast<int64_t>(random()); }},
      {"extremes",
       [](size_t i, auto&) {
         return i % 2 == 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
       }},
  };
}

// For every shape, size and budget (from one that holds everything to a few rows): the same as std::sort.
TEST(SpillSorterProperty, EqualsStdSort) {
  for (const Shape& shape : Shapes()) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{15}, size_t{17}, size_t{1000}, size_t{5001}}) {
      const std::vector<Row> rows = MakeRows(count, shape.start_of);
      std::vector<Row> expected = rows;
      std::sort(expected.begin(), expected.end(), EarlierRow());
      for (const size_t memory : {size_t{500}, size_t{2000}, size_t{20'000}, size_t{100'000}, size_t{8} << 20}) {
        EXPECT_TRUE(SortWith<EarlierRow>(rows, {.memory = memory}) == expected)
            << shape.name << ", " << count << " rows, " << memory << " bytes";
        EXPECT_TRUE(SortWith<EarlierRowWithoutKey>(rows, {.memory = memory}) == expected)
            << shape.name << " without key, " << count << " rows, " << memory << " bytes";
      }
    }
  }
}

TEST(SpillSorter, NothingIsWrittenWhereAllFits) {
  SpillStats stats;
  SortWith<EarlierRow>(MakeRows(10'000, Shapes()[2].start_of), {.memory = 1 << 20, .folder = "/nowhere"}, &stats);
  EXPECT_EQ(stats.rows, 10'000);
  EXPECT_EQ(stats.bytes_spilled, 0);
}

// 20,000 rows of 40 bytes in 64 KB (about 1,100 rows at a time), each up to 8 places late: one run, every row written
// once, nothing merged.
TEST(SpillSorter, NearlyOrderedRowsMakeOneRun) {
  SpillStats stats;
  SortWith<EarlierRow>(MakeRows(20'000, Shapes()[5].start_of), {.memory = 64 << 10}, &stats);
  EXPECT_EQ(stats.runs, 1);
  EXPECT_EQ(stats.merge_passes, 0);
  EXPECT_EQ(stats.bytes_spilled, 20'000 * 40);
}

// Three threads whose events the file lists one thread after the other.
TEST(SpillSorter, StreamsOneAfterTheOtherMakeOneRunEach) {
  SpillStats stats;
  SortWith<EarlierRow>(MakeRows(30'000, [](size_t i, auto&) { return static_cast<int64_t>(i % 10'000); }),
                       {.memory = 64 << 10}, &stats);
  EXPECT_EQ(stats.runs, 3);
  EXPECT_EQ(stats.bytes_spilled, 30'000 * 40);
}

TEST(SpillSorter, ManyRunsAreMergedInPasses) {
  SpillStats stats;
  const std::vector<Row> rows = MakeRows(100'000, Shapes()[2].start_of);
  std::vector<Row> expected = rows;
  std::sort(expected.begin(), expected.end(), EarlierRow());
  EXPECT_TRUE(SortWith<EarlierRow>(rows, {.memory = 16 << 10}, &stats) == expected);
  EXPECT_GT(stats.runs, 200);
  EXPECT_GT(stats.merge_passes, 1);
}

TEST(SpillSorter, ReadsAgainAfterRewind) {
  for (const size_t memory : {size_t{8} << 10, size_t{8} << 20}) {
    const std::vector<Row> rows = MakeRows(3000, Shapes()[2].start_of);
    SpillSorter<Row, EarlierRow> sorter({.memory = memory});
    for (const Row& row : rows) sorter.Add(row);
    ASSERT_TRUE(sorter.Finish());
    std::vector<Row> first;
    std::vector<Row> second;
    ASSERT_TRUE(sorter.ForEach([&](const Row& row) { first.push_back(row); }));
    ASSERT_TRUE(sorter.Rewind());
    ASSERT_TRUE(sorter.ForEach([&](const Row& row) { second.push_back(row); }));
    EXPECT_EQ(first.size(), 3000u);
    EXPECT_TRUE(first == second);
    ASSERT_TRUE(sorter.NextBatch());
    EXPECT_TRUE(sorter.NextBatch()->empty());
  }
}

TEST(SpillSorter, MayBeMoved) {
  const std::vector<Row> rows = MakeRows(3000, Shapes()[2].start_of);
  SpillSorter<Row, EarlierRow> sorter({.memory = 8 << 10});
  for (const Row& row : rows) sorter.Add(row);
  SpillSorter<Row, EarlierRow> moved = std::move(sorter);
  ASSERT_TRUE(moved.Finish());
  SpillSorter<Row, EarlierRow> again = std::move(moved);
  size_t count = 0;
  ASSERT_TRUE(again.ForEach([&](const Row&) { ++count; }));
  EXPECT_EQ(count, 3000u);
}

TEST(SpillSorterFault, UnwritableFolderIsOneClearError) {
  SpillSorter<Row, EarlierRow> sorter({.memory = 4 << 10, .folder = "/nowhere/at/all"});
  for (const Row& row : MakeRows(5000, Shapes()[2].start_of)) sorter.Add(row);
  EXPECT_FALSE(sorter.ok());
  const auto finished = sorter.Finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kIo);
  EXPECT_EQ(
      finished.error().ToString(),
      "cannot make a temporary file in /nowhere/at/all (No such file or directory); set TMPDIR to a folder that can "
      "be written to");
  EXPECT_FALSE(sorter.NextBatch());
}

// The system's limit on the size of a file stands in for a full disk: the write fails in the same way.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_action_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_action_);
  }

 private:
  rlimit before_{};
  void (*old_action_)(int) = nullptr;
};

TEST(SpillSorterFault, FullDiskSaysWhereAndWhatToDo) {
  TestFolder folder;
  for (const rlim_t limit : {rlim_t{1000}, rlim_t{100'000}}) {
    SpillSorter<Row, EarlierRow> sorter({.memory = 8 << 10, .folder = folder.path()});
    Result<void> finished;
    {
      const FileSizeLimit full(limit);
      for (const Row& row : MakeRows(5000, Shapes()[2].start_of)) sorter.Add(row);  // 200 KB
      finished = sorter.Finish();
    }
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, ErrorCode::kIo);
    EXPECT_NE(finished.error().message.find("cannot write temporary data to " + folder.path()), std::string::npos);
    EXPECT_NE(finished.error().message.find("set TMPDIR"), std::string::npos);
  }
}

TEST(SpillSorter, LeavesNothingBehind) {
  TestFolder folder;
  SpillStats stats;
  SortWith<EarlierRow>(MakeRows(5000, Shapes()[2].start_of), {.memory = 8 << 10, .folder = folder.path()}, &stats);
  EXPECT_GT(stats.bytes_spilled, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RadixSort, SortsStablyByTheUpperBits) {
  std::mt19937_64 random(3);
  for (const size_t count : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{3000}}) {
    for (const int low_bit : {0, 12, 40, 63}) {
      std::vector<uint64_t> words(count);
      for (uint64_t& word : words) word = random() & random() & random();  // many equal upper bits
      // Stable: by the upper bits, then by the place before.
      std::vector<std::pair<uint64_t, size_t>> places;
      for (size_t i = 0; i < count; ++i) places.emplace_back(words[i] >> low_bit, i);
      std::sort(places.begin(), places.end());
      std::vector<uint64_t> expected;
      for (const auto& [upper, place] : places) expected.push_back(words[place]);
      std::vector<uint64_t> scratch(count);
      const uint64_t* sorted = RadixSort(words.data(), scratch.data(), count, low_bit);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sorted)) << count << " " << low_bit;
    }
  }
}

}  // namespace
}  // namespace headway
