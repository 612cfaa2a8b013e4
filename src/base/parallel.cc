// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <thread>

namespace headway {
namespace {

constexpr int kMaxThreads = 1024;

// Whole CPUs of a cgroup v2 quota ("200000 100000" = 2), as containers have it; 0 = no limit known.
int QuotaCpus() {
  char text[64];
  std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  const size_t size = std::fread(text, 1, sizeof(text), file);
  std::fclose(file);
  const char* end = text + size;
  double quota = 0;
  double period = 0;
  auto [after, error] = std::from_chars(text, end, quota);
  if (error != std::errc() || after == end) return 0;  // "max": no quota
  if (std::from_chars(after + 1, end, period).ec != std::errc() || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::min(quota / period, double{kMaxThreads})));
}

}  // namespace

int ThreadCount(int requested) {
  if (requested > 0) return std::min(requested, kMaxThreads);
  const int cpus = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int quota = QuotaCpus();
  return std::min(quota > 0 ? std::min(cpus, quota) : cpus, kMaxThreads);
}

void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) work(index);
  };
  const size_t helpers = std::min<size_t>(count, static_cast<size_t>(std::max(threads, 1))) - (count > 0 ? 1 : 0);
  std::vector<std::jthread> pool;
  pool.reserve(helpers);
  for (size_t i = 0; i < helpers; ++i) {
    try {
      pool.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those we have do it all
    }
  }
  run();
}

}  // namespace headway
