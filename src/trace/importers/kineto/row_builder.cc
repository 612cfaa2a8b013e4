// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/row_builder.h"

#include <algorithm>
#include <optional>

#include "trace/importers/kineto/comm_args.h"
#include "trace/importers/kineto/fast_hash.h"
#include "trace/importers/kineto/kineto_metadata.h"

namespace headway::trace::kineto {
namespace {

constexpr Nanos kLongestDuration = 24 * 3600 * kSecond;  // no capture is that long: a counter has overflowed
constexpr Nanos kFarTime = 10 * kSecond;                 // clocks that count from boot or 1970 are far beyond it
constexpr Nanos kLatestTime = 8'000'000'000 * kSecond;
constexpr size_t kMostHeld = 64;
constexpr size_t kGroupLimit = 10'000;
constexpr size_t kGraphSlots = 4096;
constexpr size_t kExample = 160;
constexpr size_t kHashedArgs = 128;

// 64-bit correlation ids (ROCm) keep their low bits and a trace of the high ones.
uint32_t Fold(int64_t correlation) {
  if (correlation <= 0) return 0;
  const auto wide = static_cast<uint64_t>(correlation);
  return static_cast<uint32_t>(wide ^ wide >> 32);
}

// "[64, 1, 1]" -> "64_1_1" at `out`; returns the new end.
char* AppendDims(char* out, const char* end, std::string_view list) {
  for (const char c : list) {
    if (out == end) break;
    if (c == ',')
      *out++ = '_';
    else if (IsDigit(c))
      *out++ = c;
  }
  return out;
}

bool HasLinks(RowClass row) {
  return row == RowClass::kKernel || row == RowClass::kMemcpy || row == RowClass::kMemset ||
         row == RowClass::kDeviceSync || row == RowClass::kRuntime;
}

// Kinds whose rows have an entry in a side table even where there are no arguments: the name alone may tell something.
bool HasDetails(EventKind kind) {
  return kind == EventKind::kCommKernel || kind == EventKind::kCommHost || kind == EventKind::kCommIssue ||
         kind == EventKind::kMemcpy || kind == EventKind::kMemset;
}

// Equal for rows that are the same throughout: name, times, lane, length and the first arguments (where the ids are).
uint64_t RowHash(const Event& event, const EventText& text, const TokenCursor& source) {
  const char* head = text.args != nullptr ? source.text + *text.args : text.begin;
  uint64_t hash = FoldedProduct(static_cast<uint64_t>(event.start) + 1, 0x9E3779B97F4A7C15ULL ^ event.name);
  hash ^= FoldedProduct(static_cast<uint64_t>(event.duration) + event.lane, 0xD6E8FEB86659FD93ULL);
  hash += static_cast<uint64_t>(text.end - text.begin);
  return FastHash({head, std::min(kHashedArgs, static_cast<size_t>(text.end - head))}, hash);
}

std::string_view TextOf(const EventText& text) {
  return {text.begin, std::min(kExample, static_cast<size_t>(text.end - text.begin))};
}

}  // namespace

// ---- CategoryTable

RowClass CategoryTable::Count(std::string_view category) {
  const uint64_t hash = FastHash(category);
  for (size_t i = hash % slots_.size();; i = (i + 1) % slots_.size()) {
    if (slots_[i] != 0) {
      Entry& entry = entries_[slots_[i] - 1];
      if (entry.hash != hash || entry.name != category) continue;
      ++entry.rows;
      return entry.row;
    }
    bool known = false;
    const RowClass row = rules_->Category(category, &known);
    if (entries_.size() < kMost && category.size() <= 256) {
      entries_.push_back({std::string(category), hash, row, known, 1});
      slots_[i] = static_cast<uint16_t>(entries_.size());
    } else {
      ++beyond_;
    }
    return row;
  }
}

std::vector<std::pair<std::string, int64_t>> CategoryTable::Totals() const {
  std::vector<std::pair<std::string, int64_t>> totals;
  for (const Entry& entry : entries_) totals.emplace_back(entry.name, entry.rows);
  if (beyond_ > 0) totals.emplace_back("(others)", beyond_);
  std::sort(totals.begin(), totals.end());
  return totals;
}

int64_t CategoryTable::UnknownRows() const {
  int64_t rows = beyond_;
  for (const Entry& entry : entries_) rows += entry.known ? 0 : entry.rows;
  return rows;
}

// ---- RowBuilder

RowBuilder::RowBuilder(EventSink* sink, NameTable* names, LaneTable* lanes, ImportLog* log)
    : sink_(sink), names_(names), lanes_(lanes), log_(log), graph_launches_(kGraphSlots), device_rows_(kGraphSlots) {}

// False where the event gives no row. In line: it is all of Add, which is called for every row.
[[gnu::always_inline]] inline bool RowBuilder::Make(const EventText& text, RowClass row, const TokenCursor& source,
                                                    int64_t offset, Event* event) {
  if (!SetStart(text, event, offset)) return false;
  if (text.phase == 'X') {
    if (text.duration_form == FieldForm::kGood) {
      SetDuration(text, text.duration, event, offset);
    } else {
      event->flags |= kFlagUnfinished;
      log_->Add(ProblemKind::kRepaired, text.duration_form == FieldForm::kBad ? "bad-duration" : "unfinished-event",
                offset, TextOf(text));
    }
  }
  // A copy: details intern more names.
  const KnownName name = names_->Find(row, text.name, offset);
  event->name = name.id;
  event->kind = name.kind;
  event->flags |= name.flags;
  event->lane = lanes_->Find(IsOnDevice(row), text.pid, text.tid);
  if (text.phase == 'X' && recent_.Seen(RowHash(*event, text, source))) {
    log_->Add(ProblemKind::kDropped, "duplicate-event", offset, TextOf(text));
    return false;
  }
  if (text.repairs != 0) CountRepairs(text.repairs, offset, TextOf(text));
  if (HasDetails(event->kind) || (text.args != nullptr && HasLinks(row))) SetDetails(name, text, source, offset, event);
  if ((event->flags & kFlagUnknownName) != 0) log_->Add(ProblemKind::kGuessed, "unknown-kernel", offset, text.name);
  return true;
}

void RowBuilder::Add(const EventText& text, RowClass row, const TokenCursor& source, int64_t offset) {
  Event event;
  if (Make(text, text.phase == 'X' ? row : RowClass::kInstant, source, offset, &event)) Emit(event, offset);
}

void RowBuilder::Begin(const EventText& text, RowClass row, const TokenCursor& source, int64_t offset) {
  OpenSpans::Span span;
  if (!Make(text, row, source, offset, &span.event)) return;
  span.offset = offset;
  span.name = FastHash(text.name);
  if (!open_.Begin(text.pid, text.tid, span)) EmitUnmatched(span);
}

void RowBuilder::End(const EventText& text, int64_t offset) {
  Event end;
  if (!SetStart(text, &end, offset)) return;
  std::vector<OpenSpans::Span> unmatched;
  std::optional<OpenSpans::Span> span =
      open_.End(text.pid, text.tid, text.name.empty() ? 0 : FastHash(text.name), &unmatched);
  for (const OpenSpans::Span& inner : unmatched) EmitUnmatched(inner);
  if (!span) {
    log_->Add(ProblemKind::kDropped, "unmatched-end", offset, TextOf(text));
    return;
  }
  Nanos duration = 0;  // both times may be as far out as a damaged file says
  if (__builtin_sub_overflow(end.start, span->event.start, &duration)) duration = -1;
  SetDuration(text, duration, &span->event, offset);
  Emit(span->event, span->offset);
}

void RowBuilder::EmitUnmatched(OpenSpans::Span span) {
  span.event.flags |= kFlagUnfinished;
  log_->Add(ProblemKind::kRepaired, "unmatched-begin", span.offset, names_->pool().Get(span.event.name));
  Emit(span.event, span.offset);
}

bool RowBuilder::SetStart(const EventText& text, Event* event, int64_t offset) {
  if (text.start_form != FieldForm::kGood || text.start > kLatestTime || text.start < -kLatestTime) {
    log_->Add(ProblemKind::kDropped, "bad-timestamp", offset, TextOf(text));
    return false;
  }
  saw_fraction_ = saw_fraction_ || text.fraction;
  event->start = text.start;
  return true;
}

void RowBuilder::SetDuration(const EventText& text, Nanos duration, Event* event, int64_t offset) {
  if (duration < 0) {
    event->flags |= kFlagClamped;
    log_->Add(ProblemKind::kRepaired, "negative-duration", offset, TextOf(text));
  } else if (duration > kLongestDuration) {
    event->flags |= kFlagClamped;
    log_->Add(ProblemKind::kRepaired, "overflow-duration", offset, TextOf(text));
  } else {
    event->duration = duration;
  }
}

void RowBuilder::SetDetails(const KnownName& name, const EventText& text, const TokenCursor& source, int64_t offset,
                            Event* event) {
  EventArgs args;
  uint8_t repairs = 0;
  TokenCursor cursor = source;
  cursor.token = text.args;
  if (text.args != nullptr && ReadArgs(cursor, &args, &repairs) != Outcome::kDone) {
    log_->Add(ProblemKind::kDropped, "unparsable-args", offset, TextOf(text));
  }
  if (repairs != 0) CountRepairs(repairs, offset, TextOf(text));
  if (args.has_correlation) SetLinks(args, event, offset);
  if (event->kind == EventKind::kKernel && !args.comm.collective.empty()) {
    event->kind = EventKind::kCommKernel;  // no rule knows the name, but its arguments say what it is
    event->flags &= static_cast<uint8_t>(~kFlagUnknownName);
  }
  uint32_t index = 0;
  switch (event->kind) {
    case EventKind::kKernel: index = AddKernel(args, offset); break;
    case EventKind::kMemcpy:
    case EventKind::kMemset: {
      CopyDetail copy;
      copy.bytes = args.bytes;
      copy.memory_kind = name.memory_kind != 0 ? name.memory_kind : names_->Intern(args.memory_kind, offset);
      index = 1 + sink_->OnCopy(copy);
      break;
    }
    case EventKind::kCommKernel:
    case EventKind::kCommHost:
    case EventKind::kCommIssue: index = AddComm(name, text.name, args, offset, event); break;
    default: break;
  }
  event->detail = index;
}

void RowBuilder::SetLinks(const EventArgs& args, Event* event, int64_t offset) {
  event->correlation = Fold(args.correlation);
  if (args.correlation > 0xFFFFFFFFLL) log_->Add(ProblemKind::kNote, "wide-correlation", offset);
  if (event->correlation == 0) return;
  const size_t slot = event->correlation % kGraphSlots;
  if ((event->flags & kFlagGraphLaunch) != 0) graph_launches_[slot] = event->correlation;
  if (!IsDeviceWork(event->kind)) return;
  if (args.graph_id > 0 || args.graph_node > 0 || device_rows_[slot] == event->correlation ||
      graph_launches_[slot] == event->correlation) {
    event->flags |= kFlagGraphNode;
  }
  device_rows_[slot] = event->correlation;
}

uint32_t RowBuilder::AddKernel(const EventArgs& args, int64_t offset) {
  KernelDetail kernel;
  if (args.occupancy_milli >= 0) kernel.occupancy = static_cast<float>(args.occupancy_milli) / 100'000.0F;
  if (args.graph_node > 0) kernel.graph_node = static_cast<int32_t>(args.graph_node);
  if (!args.grid.empty() || !args.block.empty()) {
    char text[96];
    char* end = AppendDims(text, text + 47, args.grid);
    *end++ = '|';
    end = AppendDims(end, text + sizeof(text), args.block);
    kernel.geometry = names_->Intern({text, static_cast<size_t>(end - text)}, offset);
  }
  if (kernel.occupancy < 0 && kernel.geometry == 0 && kernel.graph_node < 0) return 0;
  return 1 + sink_->OnKernel(kernel);
}

uint32_t RowBuilder::AddComm(const KnownName& name, std::string_view raw_name, const EventArgs& args, int64_t offset,
                             Event* event) {
  const CollectiveArgs& comm = args.comm;
  CommDetail detail;
  detail.op = name.op;
  detail.algorithm = name.algorithm;
  if (!comm.collective.empty()) {
    if (event->kind == EventKind::kCommIssue && names_->rules().IsWait(comm.collective)) {
      event->kind = EventKind::kCommWait;
      return 0;
    }
    const CommOp op = names_->rules().Collective(comm.collective);
    if (op != CommOp::kUnknown) detail.op = op;
  }
  detail.pg_name = names_->Intern(comm.pg_name, offset);
  detail.pg_desc = names_->Intern(comm.pg_desc, offset);
  detail.pg_ranks = names_->Intern(comm.pg_ranks, offset);
  detail.group_size = ToInt32(comm.group_size);
  detail.seq = comm.seq;
  detail.peer = PeerOf(detail.op, comm, raw_name, args.concrete_inputs);
  detail.bytes = CollectiveBytes(comm, names_->rules());
  if (detail.bytes < 0) {
    const bool two_sided =
        event->kind == EventKind::kCommIssue &&
        (detail.op == CommOp::kAllGather || detail.op == CommOp::kReduceScatter || detail.op == CommOp::kAllToAll);
    detail.bytes = TensorBytes(args.input_dims, args.input_types, comm.dtype,
                               two_sided ? Tensors::kLargest : Tensors::kSummed, names_->rules());
  }
  if (comm.rank >= 0 && rank_ < 0) rank_ = ToInt32(comm.rank);
  if (!comm.pg_name.empty()) NoteGroup(detail, comm);
  return 1 + sink_->OnComm(detail);
}

void RowBuilder::NoteGroup(const CommDetail& detail, const CollectiveArgs& comm) {
  if (groups_.contains(detail.pg_name) || groups_.size() >= kGroupLimit) return;
  ProcessGroup& group = groups_[detail.pg_name];
  group.name = names_->pool().Get(detail.pg_name);
  group.desc = names_->pool().Get(detail.pg_desc);
  bool cut = false;
  group.ranks = ParseRanks(comm.pg_ranks, &cut);
  const int64_t size = comm.group_size;
  if (cut && comm.global_start >= 0 && comm.global_stride > 0 && size > 0 && size <= 1 << 20) {
    group.ranks.clear();
    for (int64_t i = 0; i < size; ++i) group.ranks.push_back(ToInt32(comm.global_start + i * comm.global_stride));
  } else if (cut || (size > 0 && static_cast<int64_t>(group.ranks.size()) != size)) {
    group.ranks.clear();  // an incomplete list is worse than none
  }
}

std::vector<ProcessGroup> RowBuilder::Groups() const {
  std::vector<ProcessGroup> groups;
  for (const auto& [name, group] : groups_) groups.push_back(group);
  return groups;
}

void RowBuilder::CountRepairs(uint8_t repairs, int64_t offset, std::string_view example) {
  if ((repairs & kSawQuotedNumber) != 0) log_->Add(ProblemKind::kRepaired, "number-as-string", offset, example);
  if ((repairs & kSawNan) != 0) log_->Add(ProblemKind::kRepaired, "nan-literal", offset, example);
  if ((repairs & kSawTrailingComma) != 0) log_->Add(ProblemKind::kRepaired, "trailing-comma", offset, example);
}

// A start of zero means "before the clock began" where the other rows are far from zero (the profiler clamps negative
// times), but is a time like any other in traces that begin at zero: so the first such rows wait for the next one.
void RowBuilder::Emit(const Event& event, int64_t offset) {
  if (event.start == 0 && !saw_far_time_ && rows_ == static_cast<int64_t>(held_.size()) && held_.size() < kMostHeld) {
    held_.push_back({event, offset});
    ++rows_;
    return;
  }
  if (event.start > kFarTime || event.start < -kFarTime) saw_far_time_ = true;
  if (!held_.empty()) ReleaseHeld();
  ++rows_;
  Release(event, offset);
}

void RowBuilder::Release(Event event, int64_t offset) {
  if (event.start == 0 && saw_far_time_) {
    event.flags |= kFlagClamped;
    log_->Add(ProblemKind::kRepaired, "zero-timestamp", offset, names_->pool().Get(event.name));
  }
  event.sequence = sequence_++;
  sink_->OnEvent(event);
}

void RowBuilder::Finish() {
  for (const OpenSpans::Span& span : open_.TakeAll()) EmitUnmatched(span);
  ReleaseHeld();
}

void RowBuilder::ReleaseHeld() {
  for (const Held& held : held_) Release(held.event, held.offset);
  held_.clear();
}

}  // namespace headway::trace::kineto
