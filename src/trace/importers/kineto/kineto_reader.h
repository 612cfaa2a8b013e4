// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch profiler (Kineto) traces: Chrome trace JSON of every era and back end, well-formed or damaged.
// Streaming: memory depends on the longest event and on the number of distinct names, not on the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace/importers/kineto/document_walker.h"
#include "trace/importers/kineto/name_table.h"
#include "trace/importers/kineto/structural_index.h"
#include "trace/trace_reader.h"

namespace headway::trace {

struct KinetoOptions {
  std::string source;                      // the file as the user named it; its rank may stand in the name
  std::shared_ptr<const NameRules> rules;  // nullptr = the built-in ones
  kineto::WalkerOptions walker;
  kineto::NameLimits names;
  kineto::ScanFunction scan = kineto::BestScan();
};

// Event::start counts from RankMeta::time_base. What is repaired, dropped or guessed: docs/data-quality.md.
[[nodiscard]] std::unique_ptr<TraceReader> MakeKinetoReader(EventSink* sink, KinetoOptions options);

// Whether a file that begins with `first` (some hundred bytes, fewer if the file is shorter) may be such a trace.
[[nodiscard]] bool LooksLikeKineto(std::string_view first);

}  // namespace headway::trace
