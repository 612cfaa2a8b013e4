// SPDX-License-Identifier: Apache-2.0
// The formats that can be read, as one explicit list.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trace/name_rules.h"
#include "trace/trace_reader.h"

namespace headway::trace {

struct ReaderContext {
  std::string source;                      // the file as the user named it
  std::shared_ptr<const NameRules> rules;  // nullptr = the built-in ones
};

struct TraceFormat {
  const char* name;  // stable, kebab-case
  const char* description;
  // `first`: the unpacked beginning of the file (some hundred bytes; less if it is shorter).
  bool (*sniff)(std::string_view first, std::string_view source);
  std::unique_ptr<TraceReader> (*make)(EventSink* sink, ReaderContext context);
};

[[nodiscard]] std::span<const TraceFormat> TraceFormats();
// The first format that may read such a file; nullptr = none.
[[nodiscard]] const TraceFormat* FindTraceFormat(std::string_view first, std::string_view source);

}  // namespace headway::trace
