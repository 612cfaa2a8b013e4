// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads. Results go to the place of their index, so they never depend on the
// number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace headway {

// The threads to use where the user asked for `requested`: that many, or for 0 (or less) as many as this process may
// use (CPU affinity and the container's quota). At least 1, at most 1024.
[[nodiscard]] int ThreadCount(int requested);

// Calls work(0) … work(count - 1), each exactly once, in any order, on up to `threads` threads (the caller's is one of
// them), and returns when all are done. `work` must not throw, and calls must not touch the same things. Fewer threads
// are used where the system refuses to start them. Costs about 20 us a thread: meant for pieces well above that.
void ParallelFor(size_t count, int threads, const std::function<void(size_t)>& work);

// The same for many small pieces: calls work(begin, end) for stretches of up to `block` indices that cover 0 … count
// - 1.
template <typename Work>
void ParallelBlocks(size_t count, size_t block, int threads, Work work) {
  ParallelFor((count + block - 1) / block, threads,
              [&](size_t i) { work(i * block, std::min(count, (i + 1) * block)); });
}

// The results of make(0) … make(count - 1) in that order. The result type needs a default constructor.
template <typename Make>
[[nodiscard]] auto ParallelMap(size_t count, int threads, Make make) {
  std::vector<decltype(make(size_t{0}))> results(count);
  ParallelFor(count, threads, [&](size_t index) { results[index] = make(index); });
  return results;
}

}  // namespace headway
