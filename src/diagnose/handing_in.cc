// SPDX-License-Identifier: Apache-2.0
#include "diagnose/handing_in.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "base/letter_case.h"

namespace headway::diagnose {

using graph::Mark;
using graph::MarkKind;

namespace {

std::string Letters(std::string_view text) {
  std::string out;
  for (const char c : Lower(text)) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) out.push_back(c);
  }
  return out;
}

// Whether a call of the framework hands in such an operation: "c10d::allreduce_", "c10d::_allgather_base_".
bool HandsIn(const std::string& call, const std::string& operation) {
  constexpr std::string_view kFramework = "c10d::";
  if (!call.starts_with(kFramework)) return false;
  const std::string name = Letters(std::string_view(call).substr(kFramework.size()));
  return name.starts_with(operation) && !(operation == "reduce" && name.starts_with("reducescatter"));
}

}  // namespace

Nanos HandingInOf(const Job& job, size_t rank, trace::CommOp op) {
  const pattern::RankPattern& pattern = job.ranks[rank];
  if (pattern.has_device || op == trace::CommOp::kUnknown) return 0;
  const std::string wanted = Letters(trace::ToString(op));
  const pattern::FunctionTable& table = *pattern.function_table;
  std::vector<bool> inside(table.size(), false);  // parents come first
  Nanos own = 0;
  int64_t calls = 0;
  for (size_t f = 0; f < table.size(); ++f) {
    const auto parent = static_cast<size_t>(std::max(0, table[f].parent));
    const bool is_call = HandsIn(table[f].name, wanted);
    inside[f] = is_call || (table[f].parent >= 0 && inside[parent]);
    if (!inside[f] || table[f].work_class == pattern::WorkClass::kCommunication) continue;
    own += pattern.functions[f].total;  // of host frames without what they call
    if (is_call) calls += pattern.functions[f].calls;
  }
  return calls == 0 ? 0 : own / calls;
}

void RemoveBeforeArrivals(const Job& job, size_t rank, const std::vector<double>& fewer, Nanos each,
                          replay::SegmentEdit* edit) {
  for (const uint32_t m : job.graph.Chain(rank)) {
    const Mark& mark = job.graph.marks[m];
    if (mark.kind != MarkKind::kArrive || mark.time <= 0) continue;
    const auto off = static_cast<Nanos>(fewer[static_cast<size_t>(mark.target)] * static_cast<double>(each));
    if (off > 0) edit->own.push_back({m, std::max<Nanos>(0, mark.time - off)});
  }
}

}  // namespace headway::diagnose
