// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace headway {
namespace {

TEST(ThreadCount, AsAskedElseAsTheMachineHas) {
  EXPECT_EQ(ThreadCount(3), 3);
  EXPECT_GE(ThreadCount(0), 1);
  EXPECT_LE(ThreadCount(0), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(ThreadCount(-5), ThreadCount(0));
  EXPECT_EQ(ThreadCount(1'000'000), 1024);
}

TEST(ParallelFor, EachIndexExactlyOnce) {
  for (const int threads : {-1, 0, 1, 2, 7, 64}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{1000}}) {
      std::vector<std::atomic<int>> calls(count);
      ParallelFor(count, threads, [&](size_t i) { calls[i].fetch_add(1); });
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i].load(), 1) << i;
    }
  }
}

TEST(ParallelFor, UsesTheThreadsItWasGiven) {
  // Every piece waits until four threads are inside: only four threads at once can end this.
  std::atomic<int> inside = 0;
  ParallelFor(4, 4, [&](size_t) {
    inside.fetch_add(1);
    while (inside.load() < 4) std::this_thread::yield();
  });
  EXPECT_EQ(inside.load(), 4);
}

TEST(ParallelBlocks, CoverAllIndicesOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{100}}) {
    std::vector<std::atomic<int>> calls(count);
    ParallelBlocks(count, 8, 3, [&](size_t begin, size_t end) {
      EXPECT_LT(begin, end);
      EXPECT_LE(end - begin, 8u);
      for (size_t i = begin; i < end; ++i) calls[i].fetch_add(1);
    });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i].load(), 1) << i;
  }
}

TEST(ParallelMap, ResultsByIndex) {
  const auto squares = ParallelMap(100, 5, [](size_t i) { return static_cast<int>(i * i); });
  ASSERT_EQ(squares.size(), 100u);
  for (size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], static_cast<int>(i * i));
}

}  // namespace
}  // namespace headway
