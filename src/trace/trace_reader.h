// SPDX-License-Identifier: Apache-2.0
// A TraceReader turns the bytes of one file into rows, fed in chunks of any size, in memory that does not grow with it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/string_pool.h"
#include "trace/event.h"
#include "trace/import_log.h"

namespace headway::trace {

// Receives rows in file order (not in time order). Detail tables arrive before the row that refers to them; the sink
// gives each an index and the reader puts 1 + index into Event::detail.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void OnEvent(const Event& event) = 0;
  virtual uint32_t OnComm(const CommDetail& detail) = 0;
  virtual uint32_t OnCopy(const CopyDetail& detail) = 0;
  virtual uint32_t OnKernel(const KernelDetail& detail) = 0;
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // Consumes the next bytes. Fails only where going on is pointless (not this format at all).
  virtual Result<void> Feed(std::string_view bytes) = 0;
  // The input ended. A file cut off in the middle of an event is not an error: it is logged.
  virtual Result<void> Finish() = 0;

  // Complete after Finish(). lanes grow while reading; the vector index is stable.
  [[nodiscard]] virtual const RankMeta& meta() const = 0;
  [[nodiscard]] virtual RankMeta TakeMeta() = 0;
  [[nodiscard]] virtual const ImportLog& log() const = 0;
  [[nodiscard]] virtual const StringPool& names() const = 0;
  [[nodiscard]] virtual StringPool TakeNames() = 0;
};

}  // namespace headway::trace
