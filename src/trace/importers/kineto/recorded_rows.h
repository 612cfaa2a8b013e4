// SPDX-License-Identifier: Apache-2.0
// For tests: everything a reader gives for a text, kept.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/importers/kineto/kineto_reader.h"

namespace headway::trace::kineto {

class RecordingSink final : public EventSink {
 public:
  void OnEvent(const Event& event) override { events.push_back(event); }
  uint32_t OnComm(const CommDetail& detail) override {
    comms.push_back(detail);
    return static_cast<uint32_t>(comms.size() - 1);
  }
  uint32_t OnCopy(const CopyDetail& detail) override {
    copies.push_back(detail);
    return static_cast<uint32_t>(copies.size() - 1);
  }
  uint32_t OnKernel(const KernelDetail& detail) override {
    kernels.push_back(detail);
    return static_cast<uint32_t>(kernels.size() - 1);
  }

  std::vector<Event> events;
  std::vector<CommDetail> comms;
  std::vector<CopyDetail> copies;
  std::vector<KernelDetail> kernels;
};

struct Recorded {
  RecordingSink rows;
  RankMeta meta;
  ImportLog log;
  StringPool names;
  std::optional<Error> error;

  [[nodiscard]] std::string Name(NameId id) const { return std::string(names.Get(id)); }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const Event& event : rows.events) out.push_back(Name(event.name));
    return out;
  }
  [[nodiscard]] const CommDetail& Comm(size_t row) const { return rows.comms.at(rows.events.at(row).detail - 1); }
  [[nodiscard]] const CopyDetail& Copy(size_t row) const { return rows.copies.at(rows.events.at(row).detail - 1); }
  [[nodiscard]] const KernelDetail& Kernel(size_t row) const { return rows.kernels.at(rows.events.at(row).detail - 1); }
  // Everything in one text, to compare two readings.
  [[nodiscard]] std::string Digest() const;
};

// Reads `text` in chunks of `chunk` bytes.
[[nodiscard]] inline Recorded ReadTrace(std::string_view text, size_t chunk = size_t{1} << 20,
                                        KinetoOptions options = {}) {
  Recorded recorded;
  const auto reader = MakeKinetoReader(&recorded.rows, std::move(options));
  Result<void> result;
  for (size_t at = 0; at < text.size() && result; at += chunk) result = reader->Feed(text.substr(at, chunk));
  if (result) result = reader->Finish();
  if (!result) recorded.error = result.error();
  recorded.log = reader->log();
  recorded.meta = reader->TakeMeta();
  recorded.names = reader->TakeNames();
  return recorded;
}

inline std::string Recorded::Digest() const {
  std::string out = error ? "error " + error->ToString() + "\n" : "";
  const auto add = [&](auto... values) { ((out += std::to_string(values) + ' '), ...); };
  for (const Event& e : rows.events) {
    add(e.start, e.duration, e.sequence, e.correlation, e.detail, e.lane, static_cast<int>(e.kind), e.flags);
    out += Name(e.name) + '\n';
  }
  for (const CommDetail& d : rows.comms) {
    add(static_cast<int>(d.op), d.group_size, d.peer, d.seq, d.bytes);
    out += Name(d.pg_name) + '|' + Name(d.pg_desc) + '|' + Name(d.pg_ranks) + '|' + Name(d.algorithm) + '\n';
  }
  for (const CopyDetail& d : rows.copies) out += std::to_string(d.bytes) + Name(d.memory_kind) + '\n';
  for (const KernelDetail& d : rows.kernels) {
    add(d.occupancy, d.graph_node);
    out += Name(d.geometry) + '\n';
  }
  for (const Lane& lane : meta.lanes) {
    add(lane.is_device ? 1 : 0, lane.device, lane.pid, lane.tid);
    out += lane.name + '\n';
  }
  for (const auto& [name, problem] : log.problems()) {
    add(static_cast<int>(problem.kind), problem.count, problem.first_offset);
    out += name + ' ' + problem.example + '\n';
  }
  add(meta.rank, meta.world_size, meta.time_base, meta.groups.size());
  return out + meta.host + meta.trace_id;
}

}  // namespace headway::trace::kineto
