// SPDX-License-Identifier: Apache-2.0
// Test support: a folder or archive of traces, read and folded rank by rank.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/input_set.h"
#include "base/test_folder.h"
#include "pattern/pattern_builder.h"
#include "trace/comm.h"
#include "trace/reader_registry.h"

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no outside data at " << (path)

namespace headway {

// By rank; what is no trace is passed over.
inline std::vector<pattern::RankPattern> ReadPatterns(const std::string& path,
                                                      const pattern::FoldOptions& options = {}) {
  std::vector<pattern::RankPattern> ranks;
  const std::vector<std::string> paths{path};
  for (const InputItem& item : ListInputs(paths).items) {
    auto source = item.Open();
    if (!source) continue;
    pattern::PatternBuilder builder(options);
    std::unique_ptr<trace::TraceReader> reader;
    while (true) {
      const auto chunk = (*source)->Next();
      if (!chunk || chunk->empty()) break;
      if (reader == nullptr) {
        const trace::TraceFormat* format = trace::FindTraceFormat(chunk->substr(0, 512), item.display_name);
        if (format == nullptr) break;
        reader = format->make(&builder, {.source = item.display_name, .rules = nullptr});
      }
      if (!reader->Feed(*chunk)) break;
    }
    if (reader == nullptr || !reader->Finish() || reader->meta().lanes.empty()) continue;
    const StringPool names = reader->TakeNames();
    auto rank = builder.Finish(reader->TakeMeta(), names, reader->log());
    if (rank) ranks.push_back(std::move(*rank));
  }
  std::sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.meta.rank < b.meta.rank; });
  return ranks;
}

// What the fold leaves of each rank's communication.
inline std::vector<trace::RankComms> ReadComms(const std::string& path) {
  std::vector<trace::RankComms> comms;
  for (pattern::RankPattern& rank : ReadPatterns(path)) comms.push_back(std::move(rank.comms));
  return comms;
}

}  // namespace headway
