// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_record.h"

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pattern/hwp_bytes.h"

// One list of fields serves both ways: each …Fields function is called with an Output and const objects, or with an
// Input and objects to fill. The order of the calls is the format.
namespace headway::pattern::hwp {
namespace {

class Output {
 public:
  void Int(int64_t value) { AppendVarint(&bytes_, ZigZag(value)); }
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
      AppendVarint(&bytes_, ZigZag(static_cast<int64_t>(now - last)));
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
    const int64_t wide = reader_.Signed();
    value = static_cast<T>(wide);
    if (static_cast<int64_t>(value) != wide || (std::is_unsigned_v<T> && wide < 0)) reader_.Fail();
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Int(Enum& value) {
    std::underlying_type_t<Enum> number = 0;
    Int(number);
    value = static_cast<Enum>(number);
  }
  void Flag(bool& value) {
    const uint8_t byte = reader_.Byte();
    if (byte > 1) reader_.Fail();
    value = byte == 1;
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
      if (reader_.failed()) return;
    }
  }
  template <typename T>
  void Numbers(std::vector<T>& numbers) {
    if (!Count(sizeof(T))) return;
    numbers.resize(static_cast<size_t>(count_));
    uint64_t last = 0;
    for (T& number : numbers) {
      last += static_cast<uint64_t>(reader_.Signed());
      const auto wide = static_cast<int64_t>(last);
      number = static_cast<T>(wide);
      if (static_cast<int64_t>(number) != wide) reader_.Fail();
    }
  }

  // Charges `bytes` that are about to be allocated.
  bool Afford(uint64_t bytes) {
    if (budget_->Take(bytes)) return true;
    reader_.Fail();
    return false;
  }

  [[nodiscard]] ByteReader& reader() { return reader_; }

 private:
  static constexpr size_t kShort = 15;  // no allocation of its own

  // Every element takes at least a byte, so a count beyond what is left is a lie.
  bool Count(size_t size) {
    count_ = reader_.Varint();
    if (count_ <= reader_.remaining() && budget_->Take(count_, size)) return true;
    reader_.Fail();
    return false;
  }

  ByteReader reader_;
  DecodeBudget* budget_;
  uint64_t count_ = 0;
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
  io.Text(group.name);
  io.Text(group.desc);
  io.Text(group.backend);
  io.Numbers(group.ranks);
}

template <typename Io, typename Meta>
void MetaFields(Io& io, Meta& meta) {
  io.Int(meta.rank);
  io.Text(meta.rank_source);
  io.Int(meta.world_size);
  io.Text(meta.host);
  io.Text(meta.backend);
  io.Text(meta.source);
  io.Text(meta.trace_id);
  io.List(meta.groups, [&io](auto& group) { GroupFields(io, group); });
  io.List(meta.lanes, [&io](auto& lane) {
    io.Flag(lane.is_device);
    io.Int(lane.device);
    io.Int(lane.pid);
    io.Int(lane.tid);
    io.Text(lane.name);
  });
  io.List(meta.devices, [&io](auto& device) { io.Text(device); });
  io.List(meta.versions, [&io](auto& version) {
    io.Text(version.first);
    io.Text(version.second);
  });
  io.List(meta.profiler_messages, [&io](auto& message) { io.Text(message); });
  io.Flag(meta.with_stack);
  io.Flag(meta.record_shapes);
  io.Int(meta.time_resolution);
}

template <typename Io, typename Comms>
void CommsFields(Io& io, Comms& comms) {
  io.Int(comms.rank);
  io.Text(comms.host);
  io.Flag(comms.host_known);
  io.List(comms.declared, [&io](auto& group) { GroupFields(io, group); });
  io.List(comms.groups, [&io](auto& group) {
    io.Text(group.name);
    io.Text(group.desc);
    io.Numbers(group.ranks);
    io.Int(group.lane);
    io.Int(group.lane_tid);
    io.Flag(group.is_device);
    io.Flag(group.is_p2p);
  });
  io.Numbers(comms.runloop_tids);
  io.Numbers(comms.step_numbers);
  io.Numbers(comms.step_starts);
}

template <typename Io, typename Sums>
void SumsFields(Io& io, Sums& sums) {
  io.Int(sums.first);
  io.Int(sums.last);
  for (auto& time : sums.by_kinds) io.Int(time);
  io.Int(sums.rows);
}

template <typename Io, typename Pattern>
void PatternFields(Io& io, Pattern& pattern) {
  MetaFields(io, pattern.meta);
  CommsFields(io, pattern.comms);
  io.Flag(pattern.steps_marked);
  io.Flag(pattern.has_device);
  io.Flag(pattern.linked_only);
  io.Int(pattern.window_start);
  io.Int(pattern.window_end);
  io.Int(pattern.events);
  SumsFields(io, pattern.device_all);
  SumsFields(io, pattern.device_linked);
  io.Int(pattern.unknown_name_time);
  io.Int(pattern.overhead);
  io.Int(pattern.thinned_instances);
}

template <typename Io, typename Problem>
void ProblemFields(Io& io, Problem& problem) {
  EnumField(io, problem.kind);
  io.Int(problem.count);
  io.Int(problem.first_offset);
  io.Text(problem.example);
}

template <typename Io, typename Counts>
void CountsFields(Io& io, Counts& counts) {
  io.Int(counts.functions);
  io.Int(counts.steps);
  io.Int(counts.function_steps);
  io.Int(counts.instances);
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
  for (; count > 0 && !io.reader().failed(); --count) {
    std::string name;
    trace::Problem problem;
    io.Text(name);
    ProblemFields(io, problem);
    if (problem.kind > trace::ProblemKind::kDropped || !io.Afford(kLogNode)) {
      io.reader().Fail();
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
  return !io.reader().failed() && io.reader().remaining() == 0;
}

}  // namespace headway::pattern::hwp
