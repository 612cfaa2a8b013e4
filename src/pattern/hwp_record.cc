// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_record.h"

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/varint.h"

// One list of fields serves both ways: each …Fields function is called with an Output and const objects, or with an
// Input and objects to fill. The order of the calls is the format. Structs are taken apart whole, so that a field that
// is added to one of them stops this file from compiling until the format has it.
namespace headway::pattern::hwp {
namespace {

class Output {
 public:
  void Int(int64_t value) { AppendSignedVarint(&bytes_, value); }
  void Flag(bool value) { bytes_.push_back(value ? 1 : 0); }
  void Text(std::string_view text) {
    AppendVarint(&bytes_, text.size());
    bytes_ += text;
  }
  template <typename T, typename Item>
  void List(const std::vector<T>& list, Item item) {
    AppendVarint(&bytes_, list.size());
    for (const T& element : list) item(element);
  }
  // Each number as its difference to the one before.
  template <typename T>
  void Numbers(const std::vector<T>& numbers) {
    AppendVarint(&bytes_, numbers.size());
    uint64_t last = 0;
    for (const T number : numbers) {
      const auto now = static_cast<uint64_t>(static_cast<int64_t>(number));
      AppendSignedVarint(&bytes_, static_cast<int64_t>(now - last));
      last = now;
    }
  }

  [[nodiscard]] std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Input {
 public:
  Input(std::string_view bytes, DecodeBudget* budget) : reader_(bytes), budget_(budget) {}

  template <std::integral T>
  void Int(T& value) {
    const int64_t wide = reader_.SignedVarint();
    value = static_cast<T>(wide);
    if (static_cast<int64_t>(value) != wide || (std::is_unsigned_v<T> && wide < 0)) failed_ = true;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Int(Enum& value) {
    std::underlying_type_t<Enum> number = 0;
    Int(number);
    value = static_cast<Enum>(number);
  }
  void Flag(bool& value) {
    const uint64_t number = reader_.Varint();
    if (number > 1) failed_ = true;
    value = number == 1;
  }
  void Text(std::string& text) {
    const std::string_view bytes = reader_.Bytes(reader_.Varint());
    if (bytes.size() <= kShort || Afford(bytes.size())) text.assign(bytes);
  }
  template <typename T, typename Item>
  void List(std::vector<T>& list, Item item) {
    if (!Count(sizeof(T))) return;
    list.resize(static_cast<size_t>(count_));
    for (T& element : list) {
      item(element);
      if (!ok()) return;
    }
  }
  template <typename T>
  void Numbers(std::vector<T>& numbers) {
    if (!Count(sizeof(T))) return;
    numbers.resize(static_cast<size_t>(count_));
    uint64_t last = 0;
    for (T& number : numbers) {
      last += static_cast<uint64_t>(reader_.SignedVarint());
      const auto wide = static_cast<int64_t>(last);
      number = static_cast<T>(wide);
      if (static_cast<int64_t>(number) != wide) failed_ = true;
    }
  }

  // Charges `bytes` that are about to be allocated.
  bool Afford(uint64_t bytes) {
    if (!budget_->Take(bytes)) failed_ = true;
    return ok();
  }

  void Fail() { failed_ = true; }
  [[nodiscard]] bool ok() const { return !failed_ && reader_.ok(); }
  [[nodiscard]] bool AtEnd() const { return ok() && reader_.empty(); }

 private:
  static constexpr size_t kShort = 15;  // no allocation of its own

  // Every element takes at least a byte, so a count beyond what is left is a lie.
  bool Count(size_t size) {
    count_ = reader_.Varint();
    if (!reader_.CanHold(count_) || !budget_->Take(count_, size)) failed_ = true;
    return ok();
  }

  VarintReader reader_;
  DecodeBudget* budget_;
  uint64_t count_ = 0;
  bool failed_ = false;
};

// Enums are written as their number.
template <typename Enum>
int64_t Number(Enum value) {
  return static_cast<int64_t>(value);
}
template <typename Enum>
void EnumField(Output& io, Enum value) {
  io.Int(Number(value));
}
template <typename Enum>
void EnumField(Input& io, Enum& value) {
  io.Int(value);
}

template <typename Io, typename Group>
void GroupFields(Io& io, Group& group) {
  auto& [name, desc, backend, ranks] = group;
  io.Text(name);
  io.Text(desc);
  io.Text(backend);
  io.Numbers(ranks);
}

template <typename Io, typename Lane>
void LaneFields(Io& io, Lane& lane) {
  auto& [is_device, device, pid, tid, name] = lane;
  io.Flag(is_device);
  io.Int(device);
  io.Int(pid);
  io.Int(tid);
  io.Text(name);
}

template <typename Io, typename Meta>
void MetaFields(Io& io, Meta& meta) {
  auto& [rank, rank_source, world_size, host, backend, source, trace_id, groups, lanes, devices, versions,
         profiler_messages, with_stack, record_shapes, time_resolution, time_base, categories] = meta;
  io.Int(rank);
  io.Text(rank_source);
  io.Int(world_size);
  io.Text(host);
  io.Text(backend);
  io.Text(source);
  io.Text(trace_id);
  io.List(groups, [&io](auto& group) { GroupFields(io, group); });
  io.List(lanes, [&io](auto& lane) { LaneFields(io, lane); });
  io.List(devices, [&io](auto& device) { io.Text(device); });
  io.List(versions, [&io](auto& version) {
    io.Text(version.first);
    io.Text(version.second);
  });
  io.List(profiler_messages, [&io](auto& message) { io.Text(message); });
  io.Flag(with_stack);
  io.Flag(record_shapes);
  io.Int(time_resolution);
  io.Int(time_base);
  io.List(categories, [&io](auto& category) {
    io.Text(category.first);
    io.Int(category.second);
  });
}

template <typename Io, typename Group>
void LocalGroupFields(Io& io, Group& group) {
  auto& [name, desc, ranks, size, lane, lane_tid, is_device, is_p2p] = group;
  io.Text(name);
  io.Text(desc);
  io.Numbers(ranks);
  io.Int(size);
  io.Int(lane);
  io.Int(lane_tid);
  io.Flag(is_device);
  io.Flag(is_p2p);
}

// All but the instances, which are columns.
template <typename Io, typename Comms>
void CommsFields(Io& io, Comms& comms) {
  auto& [rank, host, host_known, declared, groups, runloop_tids, step_numbers, step_starts, instances] = comms;
  io.Int(rank);
  io.Text(host);
  io.Flag(host_known);
  io.List(declared, [&io](auto& group) { GroupFields(io, group); });
  io.List(groups, [&io](auto& group) { LocalGroupFields(io, group); });
  io.Numbers(runloop_tids);
  io.Numbers(step_numbers);
  io.Numbers(step_starts);
}

template <typename Io, typename Sums>
void SumsFields(Io& io, Sums& sums) {
  auto& [first, last, by_kinds, rows] = sums;
  io.Int(first);
  io.Int(last);
  for (auto& time : by_kinds) io.Int(time);
  io.Int(rows);
}

// All but the columns, the table and the log.
template <typename Io, typename Pattern>
void PatternFields(Io& io, Pattern& pattern) {
  auto& [meta, steps, unread_steps, step_splits, steps_marked, has_device, function_table, functions, function_steps,
         comms, window_start, window_end, events, device_all, device_linked, linked_only, unknown_name_time, overhead,
         thinned_instances, log] = pattern;
  MetaFields(io, meta);
  CommsFields(io, comms);
  io.Flag(steps_marked);
  io.Flag(has_device);
  io.Flag(linked_only);
  io.Int(window_start);
  io.Int(window_end);
  io.Int(events);
  SumsFields(io, device_all);
  SumsFields(io, device_linked);
  io.Int(unknown_name_time);
  io.Int(overhead);
  io.Int(thinned_instances);
}

template <typename Io, typename Problem>
void ProblemFields(Io& io, Problem& problem) {
  auto& [kind, count, first_offset, example] = problem;
  EnumField(io, kind);
  io.Int(count);
  io.Int(first_offset);
  io.Text(example);
}

template <typename Io, typename Counts>
void CountsFields(Io& io, Counts& counts) {
  auto& [functions, steps, function_steps, instances] = counts;
  io.Int(functions);
  io.Int(steps);
  io.Int(function_steps);
  io.Int(instances);
}

constexpr uint64_t kLogNode = 160;  // of the map that holds the problems

void LogFields(Output& io, const trace::ImportLog& log) {
  io.Int(static_cast<int64_t>(log.problems().size()));
  for (const auto& [name, problem] : log.problems()) {
    io.Text(name);
    ProblemFields(io, problem);
  }
}

void LogFields(Input& io, trace::ImportLog* log) {
  uint64_t count = 0;
  io.Int(count);
  for (; count > 0 && io.ok(); --count) {
    std::string name;
    trace::Problem problem;
    io.Text(name);
    ProblemFields(io, problem);
    if (problem.kind > trace::ProblemKind::kDropped || !io.Afford(kLogNode)) {
      io.Fail();
      return;
    }
    log->Restore(std::move(name), std::move(problem));
  }
}

}  // namespace

std::string WriteRecord(const RankPattern& pattern) {
  Output io;
  const ColumnCounts counts{pattern.functions.size(), pattern.steps.size(), pattern.function_steps.size(),
                            pattern.comms.instances.size()};
  CountsFields(io, counts);
  PatternFields(io, pattern);
  LogFields(io, pattern.log);
  return io.Take();
}

bool ReadRecord(std::string_view record, DecodeBudget* budget, RankPattern* pattern, ColumnCounts* counts) {
  Input io(record, budget);
  CountsFields(io, *counts);
  PatternFields(io, *pattern);
  LogFields(io, &pattern->log);
  return io.AtEnd();
}

}  // namespace headway::pattern::hwp
