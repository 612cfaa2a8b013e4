// SPDX-License-Identifier: Apache-2.0
// Rows written as two events: "B" where they begin, "E" where they end. The profiler writes whole rows ("X"), other
// tools and scripts that merge traces do not. A thread's pairs nest, in the order of the file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/event.h"
#include "trace/importers/kineto/event_text.h"

namespace headway::trace::kineto {

class OpenSpans {
 public:
  struct Span {
    Event event;  // without a duration
    int64_t offset = 0;
    uint64_t name = 0;  // hash of the name as written
  };
  static constexpr size_t kMost = size_t{1} << 18;  // open at once, in all threads: 16 MB, and the threads' ids
  static constexpr size_t kDeepest = 512;           // how far down an end looks for its begin

  // False where too many are open: then nothing was kept.
  [[nodiscard]] bool Begin(const IdField& pid, const IdField& tid, const Span& span);

  // What ends in a thread: the newest span of this name among the innermost kDeepest, of any where `name` is 0. nullopt
  // = there is none. Spans inside it that are still open never end; they are appended to `unmatched`, outermost first.
  [[nodiscard]] std::optional<Span> End(const IdField& pid, const IdField& tid, uint64_t name,
                                        std::vector<Span>* unmatched);

  // All that are still open, in the order of the file; none afterwards.
  [[nodiscard]] std::vector<Span> TakeAll();

 private:
  struct Thread {
    int64_t pid = 0;
    int64_t tid = 0;
    std::string pid_text;
    std::string tid_text;
    auto operator<=>(const Thread&) const = default;
  };
  [[nodiscard]] static Thread ThreadOf(const IdField& pid, const IdField& tid);

  std::map<Thread, std::vector<Span>> open_;  // by thread, outermost first; no empty ones
  size_t count_ = 0;
};

}  // namespace headway::trace::kineto
