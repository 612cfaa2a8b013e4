// SPDX-License-Identifier: Apache-2.0
#include "trace/reader_registry.h"

#include <utility>

#include "trace/importers/kineto/kineto_reader.h"

namespace headway::trace {
namespace {

std::unique_ptr<TraceReader> MakeKineto(EventSink* sink, ReaderContext context) {
  KinetoOptions options;
  options.source = std::move(context.source);
  options.rules = std::move(context.rules);
  return MakeKinetoReader(sink, std::move(options));
}

// More specific formats first.
constexpr TraceFormat kFormats[] = {
    {"kineto", "PyTorch profiler trace (Chrome trace JSON)",
     [](std::string_view first, std::string_view) { return LooksLikeKineto(first); }, MakeKineto},
};

}  // namespace

std::span<const TraceFormat> TraceFormats() { return kFormats; }

const TraceFormat* FindTraceFormat(std::string_view first, std::string_view source) {
  for (const TraceFormat& format : kFormats) {
    if (format.sniff(first, source)) return &format;
  }
  return nullptr;
}

}  // namespace headway::trace
