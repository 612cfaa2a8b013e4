// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include "pattern/hwp_instance_layout.h"
#include "pattern/hwp_instances.h"
#include "pattern/hwp_wrap.h"

namespace headway::pattern::hwp {
namespace {

using trace::CommInstance;
using trace::RankComms;

struct Layout {
  TickGrid grid;
  RowRule row_rule = RowRule::kKeyAndOrdinal;
  StartRule start_rule = StartRule::kLastStart;
  size_t runs = 0;
  size_t keys = 0;
};

bool ReadLayout(uint64_t count, ColumnReader* columns, const RankComms& comms, Layout* layout) {
  std::array<int64_t, 5> numbers{};
  columns->Plain(numbers);
  const auto within = [count](int64_t n) { return n >= 1 && static_cast<uint64_t>(n) <= count; };
  if (columns->failed() || numbers[0] == 0 || numbers[0] == INT64_MIN || numbers[1] < 0 || numbers[1] > 1 ||
      numbers[2] < 0 || numbers[2] >= kStartRules || !within(numbers[3]) || !within(numbers[4])) {
    return false;
  }
  const TickGrid grid = numbers[0] > 0 ? TickGrid{numbers[0], 0} : TickGrid{-numbers[0], FirstStep(comms)};
  *layout = {grid, static_cast<RowRule>(numbers[1]), static_cast<StartRule>(numbers[2]),
             static_cast<size_t>(numbers[3]), static_cast<size_t>(numbers[4])};
  return true;
}

bool Between(int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; }

bool ReadRuns(uint64_t count, const Layout& layout, ColumnReader* columns, const RankComms& comms, InstanceScratch* s) {
  for (auto& column : s->runs) {
    column.resize(layout.runs);
    columns->Row(column);
  }
  if (columns->failed()) return false;
  uint64_t sum = 0;
  for (size_t run = 0; run < layout.runs; ++run) {
    if (!Between(s->runs[0][run], -1, static_cast<int64_t>(comms.step_numbers.size()) - 1)) return false;
    if (!Between(s->runs[1][run], 1, static_cast<int64_t>(count - sum))) return false;
    sum += static_cast<uint64_t>(s->runs[1][run]);
  }
  return sum == count;
}

bool ReadKeys(const Layout& layout, ColumnReader* columns, const RankComms& comms, InstanceScratch* s) {
  for (auto& column : s->keys) {
    column.resize(layout.keys);
    columns->Plain(column);
  }
  if (columns->failed()) return false;
  for (size_t k = 0; k < layout.keys; ++k) {
    if (!Between(s->keys[0][k], 0, static_cast<int64_t>(comms.groups.size()) - 1) ||
        !Between(s->keys[1][k], 0, static_cast<int64_t>(trace::CommOp::kCoalesced)) ||
        !Between(s->keys[3][k], INT32_MIN, INT32_MAX)) {
      return false;
    }
  }
  return true;
}

bool ReadKeySequence(size_t count, const Layout& layout, VarintReader* sequences, InstanceScratch* s) {
  s->key_of.assign(count, 0);
  for (uint64_t highest = layout.keys - 1, shift = 0; highest >> shift != 0; shift += 8) {
    const std::string_view plane = sequences->Bytes(count);
    if (!sequences->ok()) return false;
    for (size_t i = 0; i < count; ++i) {
      s->key_of[i] |= static_cast<uint32_t>(static_cast<uint8_t>(plane[i])) << shift;
    }
  }
  return *std::max_element(s->key_of.begin(), s->key_of.end()) < layout.keys;
}

// One column in row order; next[row] is afterwards where the row's next value lies.
template <typename Has>
void ReadRowColumn(std::string_view states, uint32_t rows, Has has, ColumnReader* columns, InstanceScratch* s,
                   size_t column) {
  s->lengths.assign(rows, 0);
  for (size_t i = 0; i < states.size(); ++i) {
    s->lengths[s->slot_of[i]] += has(static_cast<Exposure>(static_cast<uint8_t>(states[i]) & kExposureMask)) ? 1 : 0;
  }
  std::vector<uint32_t>& next = s->next[column];
  next.resize(rows);
  uint32_t sum = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    next[row] = sum;
    sum += s->lengths[row];
  }
  s->values[column].resize(sum);
  columns->Rows(s->lengths, s->values[column]);
}

void FillKeys(const InstanceScratch& s, std::string_view states, std::vector<CommInstance>* instances) {
  size_t i = 0;
  for (size_t run = 0; run < s.runs[0].size(); ++run) {
    for (const size_t end = i + static_cast<size_t>(s.runs[1][run]); i < end; ++i) {
      CommInstance& c = (*instances)[i];
      const uint32_t key = s.key_of[i];
      c.local_group = static_cast<int32_t>(s.keys[0][key]);
      c.op = static_cast<trace::CommOp>(s.keys[1][key]);
      c.bytes = s.keys[2][key];
      c.peer = static_cast<int32_t>(s.keys[3][key]);
      c.step = static_cast<int32_t>(s.runs[0][run]);
      c.chained = (static_cast<uint8_t>(states[i]) & kChainedBit) != 0;
    }
  }
}

void FillSeq(ColumnReader* columns, InstanceScratch* s, RankComms* comms) {
  s->values[0].resize(comms->instances.size());
  columns->Row(s->values[0]);
  std::vector<int64_t> last(comms->groups.size(), -1);
  for (size_t i = 0; i < comms->instances.size(); ++i) {
    CommInstance& c = comms->instances[i];
    int64_t& expected = last[static_cast<size_t>(c.local_group)];
    c.seq = WrapAdd(s->values[0][i], expected);
    expected = c.seq < 0 ? c.seq : WrapAdd(c.seq, 1);
  }
}

// Leaves durations, relative to a start not yet known, in the time fields: in ticks.
void FillDurations(ColumnReader* columns, std::string_view states, uint32_t rows, InstanceScratch* s,
                   std::vector<CommInstance>* instances) {
  ReadRowColumn(states, rows, [](Exposure) { return true; }, columns, s, 0);
  ReadRowColumn(states, rows, HasBegin, columns, s, 1);
  ReadRowColumn(states, rows, HasEnd, columns, s, 2);
  ReadRowColumn(states, rows, HasGap, columns, s, 3);
  if (columns->failed()) return;
  const auto take = [s](size_t column, size_t row) { return s->values[column][s->next[column][row]++]; };
  for (size_t i = 0; i < states.size(); ++i) {
    const auto exposure = static_cast<Exposure>(static_cast<uint8_t>(states[i]) & kExposureMask);
    const uint32_t row = s->slot_of[i];
    CommInstance& c = (*instances)[i];
    c.end = take(0, row);
    if (!HasGap(exposure)) continue;
    c.exposed_begin = HasBegin(exposure) ? take(1, row) : 0;
    c.exposed_end = HasEnd(exposure) ? WrapSubtract(c.end, take(2, row)) : c.end;
    c.exposed = WrapSubtract(WrapSubtract(c.exposed_end, c.exposed_begin), take(3, row));
  }
}

void FillStarts(const Layout& layout, ColumnReader* columns, std::string_view states, uint32_t rows, InstanceScratch* s,
                RankComms* comms) {
  ReadRowColumn(states, rows, [](Exposure) { return true; }, columns, s, 0);
  if (columns->failed()) return;
  StartPredictor predictor(layout.start_rule, layout.grid, *comms);
  size_t i = 0;
  for (size_t run = 0; run < layout.runs; ++run) {
    predictor.BeginRun(s->runs[0][run]);
    for (const size_t end = i + static_cast<size_t>(s->runs[1][run]); i < end; ++i) {
      CommInstance& c = comms->instances[i];
      const int64_t start = WrapAdd(s->values[0][s->next[0][s->slot_of[i]]++], predictor.Expected(c.local_group));
      predictor.Add(c.local_group, start, WrapAdd(start, c.end));
      const auto absolute = [&](int64_t ticks) { return layout.grid.Time(WrapAdd(start, ticks)); };
      const auto exposure = static_cast<Exposure>(static_cast<uint8_t>(states[i]) & kExposureMask);
      c.start = absolute(0);
      c.end = absolute(c.end);
      if (exposure == Exposure::kZero) continue;
      c.exposed = WrapMultiply(c.exposed, layout.grid.tick);
      c.exposed_begin = absolute(c.exposed_begin);
      c.exposed_end = absolute(c.exposed_end);
    }
  }
}

}  // namespace

bool ReadInstances(uint64_t count, ColumnReader* columns, VarintReader* sequences, DecodeBudget* budget,
                   InstanceScratch* scratch, RankComms* comms) {
  if (count == 0) return true;
  Layout layout;
  if (count > std::numeric_limits<int32_t>::max() || count > columns->MostValues() ||
      !budget->Take(count, sizeof(CommInstance)) || !ReadLayout(count, columns, *comms, &layout) ||
      !ReadRuns(count, layout, columns, *comms, scratch) || !ReadKeys(layout, columns, *comms, scratch) ||
      !ReadKeySequence(static_cast<size_t>(count), layout, sequences, scratch)) {
    return false;
  }
  const std::string_view states = sequences->Bytes(count);
  const auto malformed = [](char state) {
    const auto byte = static_cast<uint8_t>(state);
    return byte >= 2 * kChainedBit || (byte & kExposureMask) > static_cast<uint8_t>(Exposure::kInside);
  };
  if (!sequences->ok() || std::any_of(states.begin(), states.end(), malformed)) return false;
  const uint32_t rows = AssignRows(layout.row_rule, scratch->key_of, scratch->runs[1],
                                   static_cast<uint32_t>(layout.keys), &scratch->slot_of);
  comms->instances.resize(static_cast<size_t>(count));
  FillKeys(*scratch, states, &comms->instances);
  FillSeq(columns, scratch, comms);
  FillDurations(columns, states, rows, scratch, &comms->instances);
  FillStarts(layout, columns, states, rows, scratch, comms);
  return !columns->failed();
}

}  // namespace headway::pattern::hwp
