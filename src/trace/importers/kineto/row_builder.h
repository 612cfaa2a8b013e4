// SPDX-License-Identifier: Apache-2.0
// From an event as written to a row: class, lane, times, links and details.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/importers/kineto/event_args.h"
#include "trace/importers/kineto/event_text.h"
#include "trace/importers/kineto/lane_table.h"
#include "trace/importers/kineto/name_table.h"
#include "trace/importers/kineto/open_spans.h"
#include "trace/trace_reader.h"

namespace headway::trace::kineto {

// Categories of one file: what each means and how many rows it has.
class CategoryTable {
 public:
  explicit CategoryTable(const NameRules* rules) : rules_(rules) {}
  // Class of a raw category; counts a row.
  RowClass Count(std::string_view category);
  // Name -> rows, sorted by name.
  [[nodiscard]] std::vector<std::pair<std::string, int64_t>> Totals() const;
  // Rows of categories that no rule lists.
  [[nodiscard]] int64_t UnknownRows() const;

 private:
  struct Entry {
    std::string name;
    uint64_t hash = 0;
    RowClass row = RowClass::kOther;
    bool known = false;
    int64_t rows = 0;
  };
  static constexpr size_t kMost = 512;
  const NameRules* rules_;
  std::vector<Entry> entries_;
  std::array<uint16_t, 1024> slots_{};  // 1 + index; open addressing by hash
  int64_t beyond_ = 0;
};

// Rows seen twice: a table of the newest hashes, bounded.
class RecentRows {
 public:
  // True if a row with this hash is among the recent ones; remembers it.
  bool Seen(uint64_t hash) {
    uint64_t& slot = slots_[hash >> 51];
    const bool seen = slot == hash;
    slot = hash;
    return seen;
  }

 private:
  std::vector<uint64_t> slots_ = std::vector<uint64_t>(1 << 13);
};

class RowBuilder {
 public:
  RowBuilder(EventSink* sink, NameTable* names, LaneTable* lanes, ImportLog* log);

  // An event that is a row by itself (phases X, i, n), of class `row`.
  void Add(const EventText& text, RowClass row, const TokenCursor& source, int64_t offset);
  // An event with which a row begins or ends (phases B, E). What the arguments of the end say is not read.
  void Begin(const EventText& text, RowClass row, const TokenCursor& source, int64_t offset);
  void End(const EventText& text, int64_t offset);
  // Rows held back: begun but not ended, or until it is known whether a zero timestamp is one.
  void Finish();

  [[nodiscard]] bool saw_fraction() const { return saw_fraction_; }
  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] RankId rank_of_collectives() const { return rank_; }
  // Groups that rows name, with their ranks where written in full.
  [[nodiscard]] std::vector<ProcessGroup> Groups() const;

 private:
  struct Held {
    Event event;
    int64_t offset = 0;
  };

  [[nodiscard]] bool Make(const EventText& text, RowClass row, const TokenCursor& source, int64_t offset, Event* event);
  [[nodiscard]] bool SetStart(const EventText& text, Event* event, int64_t offset);
  void SetDuration(const EventText& text, Nanos duration, Event* event, int64_t offset);
  void SetDetails(const KnownName& name, const EventText& text, const TokenCursor& source, int64_t offset,
                  Event* event);
  void SetLinks(const EventArgs& args, Event* event, int64_t offset);
  uint32_t AddComm(const KnownName& name, std::string_view raw_name, const EventArgs& args, int64_t offset,
                   Event* event);
  uint32_t AddKernel(const EventArgs& args, int64_t offset);
  void NoteGroup(const CommDetail& detail, const CollectiveArgs& comm);
  void CountRepairs(uint8_t repairs, int64_t offset, std::string_view example);
  void Emit(const Event& event, int64_t offset);
  void EmitUnmatched(OpenSpans::Span span);
  void Release(Event event, int64_t offset);
  void ReleaseHeld();

  EventSink* sink_;
  NameTable* names_;
  LaneTable* lanes_;
  ImportLog* log_;
  RecentRows recent_;
  int64_t rows_ = 0;
  uint32_t sequence_ = 0;
  bool saw_fraction_ = false;
  bool saw_far_time_ = false;  // some row starts far from zero, so zero is no time
  std::vector<Held> held_;
  OpenSpans open_;
  RankId rank_ = -1;
  std::vector<uint32_t> graph_launches_;   // correlation by its low bits: the newest launches of graphs
  std::vector<uint32_t> device_rows_;      // correlation by its low bits: the newest device rows
  std::map<NameId, ProcessGroup> groups_;  // by name
};

}  // namespace headway::trace::kineto
