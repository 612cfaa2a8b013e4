// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "pattern/hwp_instance_layout.h"
#include "pattern/hwp_instances.h"
#include "pattern/hwp_wrap.h"

namespace headway::pattern::hwp {
namespace {

using trace::CommInstance;
using trace::RankComms;

Exposure ExposureOf(const CommInstance& c) {
  if (c.exposed == 0 && c.exposed_begin == 0 && c.exposed_end == 0) return Exposure::kZero;
  if (c.exposed == 0 && c.exposed_begin == c.start && c.exposed_end == c.start) return Exposure::kNone;
  const bool from_start = c.exposed_begin == c.start;
  const bool to_end = c.exposed_end == c.end;
  if (from_start) return to_end ? Exposure::kWhole : Exposure::kFromStart;
  return to_end ? Exposure::kToEnd : Exposure::kInside;
}

// All times are multiples of this from `origin` on: trace::kCommTick or a multiple of it in a folded rank.
int64_t Tick(const std::vector<CommInstance>& instances, int64_t origin) {
  uint64_t tick = 0;
  const auto add = [&tick](int64_t t) {
    tick = std::gcd(tick, t < 0 ? 0 - static_cast<uint64_t>(t) : static_cast<uint64_t>(t));
  };
  for (const CommInstance& c : instances) {
    for (const int64_t t : {c.start, c.end}) add(WrapSubtract(t, origin));
    if (ExposureOf(c) == Exposure::kZero) continue;
    add(c.exposed);
    for (const int64_t t : {c.exposed_begin, c.exposed_end}) add(WrapSubtract(t, origin));
  }
  return tick == 0 || tick > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(tick);
}

struct Layout {
  std::vector<uint32_t> key_of;
  std::vector<const CommInstance*> keys;  // the first instance of each
  std::vector<int64_t> run_steps;
  std::vector<int64_t> run_lengths;
  TickGrid grid;
};

// The origin of which times are the larger multiples.
TickGrid GridOf(const RankComms& comms) {
  const int64_t first_step = FirstStep(comms);
  const TickGrid from_zero{Tick(comms.instances, 0), 0}, from_step{Tick(comms.instances, first_step), first_step};
  return from_step.tick > from_zero.tick ? from_step : from_zero;
}

Layout LayOut(const RankComms& comms) {
  Layout layout;
  std::map<std::tuple<int32_t, trace::CommOp, Bytes, int32_t>, uint32_t> keys;
  for (const CommInstance& c : comms.instances) {
    const auto [it, fresh] =
        keys.try_emplace({c.local_group, c.op, c.bytes, c.peer}, static_cast<uint32_t>(keys.size()));
    if (fresh) layout.keys.push_back(&c);
    layout.key_of.push_back(it->second);
    if (layout.run_steps.empty() || layout.run_steps.back() != c.step) {
      layout.run_steps.push_back(c.step);
      layout.run_lengths.push_back(0);
    }
    ++layout.run_lengths.back();
  }
  layout.grid = GridOf(comms);
  return layout;
}

// The values of the instances that have one, row by row.
class RowColumn {
 public:
  RowColumn(const std::vector<uint32_t>& row_of, uint32_t rows) : row_of_(row_of), rows_(rows) {}
  void Add(size_t instance, int64_t value) { rows_[row_of_[instance]].push_back(value); }
  void Write(ColumnWriter* columns) const {
    std::vector<uint32_t> lengths;
    std::vector<int64_t> values;
    for (const auto& row : rows_) {
      lengths.push_back(static_cast<uint32_t>(row.size()));
      values.insert(values.end(), row.begin(), row.end());
    }
    columns->Rows(values, lengths);
  }

 private:
  const std::vector<uint32_t>& row_of_;
  std::vector<std::vector<int64_t>> rows_;
};

void WriteLayout(const Layout& layout, RowRule row_rule, StartRule start_rule, ColumnWriter* columns) {
  const int64_t tick = layout.grid.origin == 0 ? layout.grid.tick : -layout.grid.tick;
  columns->Plain(std::array<int64_t, 5>{tick, static_cast<int64_t>(row_rule), static_cast<int64_t>(start_rule),
                                        static_cast<int64_t>(layout.run_steps.size()),
                                        static_cast<int64_t>(layout.keys.size())});
  columns->Row(layout.run_steps);
  columns->Row(layout.run_lengths);
  std::vector<int64_t> values(layout.keys.size());
  const auto write = [&](auto field) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<int64_t>(layout.keys[k]->*field);
    columns->Plain(values);
  };
  write(&CommInstance::local_group);
  write(&CommInstance::op);
  write(&CommInstance::bytes);
  write(&CommInstance::peer);
}

void WriteSeq(const RankComms& comms, ColumnWriter* columns) {
  std::vector<int64_t> last(comms.groups.size(), -1);
  std::vector<int64_t> values;
  for (const CommInstance& c : comms.instances) {
    int64_t& expected = last[static_cast<size_t>(c.local_group)];
    values.push_back(WrapSubtract(c.seq, expected));
    expected = c.seq < 0 ? c.seq : WrapAdd(c.seq, 1);
  }
  columns->Row(values);
}

void WriteStarts(const RankComms& comms, const Layout& layout, StartRule rule, const std::vector<uint32_t>& row_of,
                 uint32_t rows, ColumnWriter* columns) {
  RowColumn starts(row_of, rows);
  StartPredictor predictor(rule, layout.grid, comms);
  size_t i = 0;
  for (size_t run = 0; run < layout.run_steps.size(); ++run) {
    predictor.BeginRun(layout.run_steps[run]);
    for (const size_t end = i + static_cast<size_t>(layout.run_lengths[run]); i < end; ++i) {
      const CommInstance& c = comms.instances[i];
      const int64_t start = layout.grid.Ticks(c.start);
      starts.Add(i, WrapSubtract(start, predictor.Expected(c.local_group)));
      predictor.Add(c.local_group, start, WrapAdd(start, WrapSubtract(layout.grid.Ticks(c.end), start)));
    }
  }
  starts.Write(columns);
}

void WriteDurations(const RankComms& comms, const TickGrid& grid, const std::vector<uint32_t>& row_of, uint32_t rows,
                    ColumnWriter* columns) {
  RowColumn durations(row_of, rows), begins(row_of, rows), ends(row_of, rows), gaps(row_of, rows);
  for (size_t i = 0; i < comms.instances.size(); ++i) {
    const CommInstance& c = comms.instances[i];
    const Exposure exposure = ExposureOf(c);
    const int64_t begin = grid.Ticks(c.exposed_begin), end = grid.Ticks(c.exposed_end);
    durations.Add(i, WrapSubtract(grid.Ticks(c.end), grid.Ticks(c.start)));
    if (HasBegin(exposure)) begins.Add(i, WrapSubtract(begin, grid.Ticks(c.start)));
    if (HasEnd(exposure)) ends.Add(i, WrapSubtract(grid.Ticks(c.end), end));
    if (HasGap(exposure)) gaps.Add(i, WrapSubtract(WrapSubtract(end, begin), c.exposed / grid.tick));
  }
  durations.Write(columns);
  begins.Write(columns);
  ends.Write(columns);
  gaps.Write(columns);
}

size_t Size(const ColumnStreams& s) { return s.widths.size() / 2 + s.heads.size() + s.tops.size() + s.bits.size(); }

void WriteWith(const RankComms& comms, const Layout& layout, RowRule row_rule, StartRule start_rule,
               ColumnWriter* columns) {
  std::vector<uint32_t> row_of;
  const uint32_t rows =
      AssignRows(row_rule, layout.key_of, layout.run_lengths, static_cast<uint32_t>(layout.keys.size()), &row_of);
  WriteLayout(layout, row_rule, start_rule, columns);
  WriteSeq(comms, columns);
  WriteDurations(comms, layout.grid, row_of, rows, columns);
  WriteStarts(comms, layout, start_rule, row_of, rows, columns);
}

}  // namespace

void WriteInstances(const RankComms& comms, ColumnWriter* columns, std::string* sequences) {
  if (comms.instances.empty()) return;
  const Layout layout = LayOut(comms);
  for (uint64_t highest = layout.keys.size() - 1, shift = 0; highest >> shift != 0; shift += 8) {
    for (const uint32_t key : layout.key_of) sequences->push_back(static_cast<char>(key >> shift));
  }
  for (const CommInstance& c : comms.instances) {
    sequences->push_back(static_cast<char>(static_cast<uint8_t>(ExposureOf(c)) | (c.chained ? kChainedBit : 0)));
  }
  // Which rules fit the job is found by trying: six times a millisecond, once in a rank's life.
  std::pair<RowRule, StartRule> best;
  size_t best_size = SIZE_MAX;
  for (const RowRule row_rule : {RowRule::kKeyAndOrdinal, RowRule::kKey}) {
    for (int s = 0; s < kStartRules; ++s) {
      ColumnWriter trial;
      WriteWith(comms, layout, row_rule, static_cast<StartRule>(s), &trial);
      const size_t size = Size(trial.Take());
      if (size >= best_size) continue;
      best = {row_rule, static_cast<StartRule>(s)};
      best_size = size;
    }
  }
  WriteWith(comms, layout, best.first, best.second, columns);
}

}  // namespace headway::pattern::hwp
