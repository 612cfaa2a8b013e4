// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_functions.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

#include "pattern/hwp_wrap.h"
namespace headway::pattern::hwp {
namespace {

bool BitAt(std::string_view bits, size_t bit) { return (static_cast<uint8_t>(bits[bit / 8]) >> (bit % 8) & 1) != 0; }
void SetBit(std::string* bits, size_t bit) { (*bits)[bit / 8] = static_cast<char>((*bits)[bit / 8] | 1 << (bit % 8)); }
uint64_t BitmapBytes(uint64_t bits) { return bits / 8 + (bits % 8 != 0 ? 1 : 0); }

// Zeros (nothing recorded) apart, the bit patterns of the numbers as one column: rounded mantissas end in zeros, which
// the column's scale takes out, and like numbers share their first bits.
template <typename Member>
void WriteDoubles(const std::vector<FunctionTotals>& totals, Member member, ColumnWriter* columns,
                  std::string* sequences) {
  std::string mask(BitmapBytes(totals.size()), '\0');
  std::vector<int64_t> values;
  for (size_t i = 0; i < totals.size(); ++i) {
    const auto bits = std::bit_cast<int64_t>(totals[i].*member);
    if (bits == 0) continue;
    SetBit(&mask, i);
    values.push_back(bits);
  }
  *sequences += mask;
  columns->Row(values);
}

template <typename Member>
bool ReadDoubles(ColumnReader* columns, VarintReader* sequences, std::vector<int64_t>* values, Member member,
                 std::vector<FunctionTotals>* totals) {
  const std::string_view mask = sequences->Bytes(BitmapBytes(totals->size()));
  if (!sequences->ok()) return false;
  size_t count = 0;
  for (size_t i = 0; i < totals->size(); ++i) count += BitAt(mask, i) ? 1 : 0;
  values->resize(count);
  columns->Row(*values);
  size_t next = 0;
  for (size_t i = 0; i < totals->size(); ++i) {
    if (BitAt(mask, i)) (*totals)[i].*member = std::bit_cast<double>((*values)[next++]);
  }
  return true;
}

// function_steps, by function: row lengths, and the values of a column in that order.
struct ByFunction {
  std::vector<uint32_t> lengths;
  std::vector<int64_t> own;
  std::vector<int64_t> calls;
};

ByFunction GroupByFunction(const RankPattern& pattern) {
  ByFunction by;
  by.lengths.resize(pattern.functions.size());
  for (const FunctionStep& row : pattern.function_steps) ++by.lengths[static_cast<size_t>(row.function)];
  std::vector<size_t> next(by.lengths.size());
  for (size_t i = 1; i < next.size(); ++i) next[i] = next[i - 1] + by.lengths[i - 1];
  by.own.resize(pattern.function_steps.size());
  by.calls.resize(pattern.function_steps.size());
  for (const FunctionStep& row : pattern.function_steps) {
    const size_t at = next[static_cast<size_t>(row.function)]++;
    by.own[at] = row.own;
    by.calls[at] = row.calls;
  }
  return by;
}

// What the steps add up to predicts the totals of most functions to a rounding error.
void WriteTotals(const RankPattern& pattern, const ByFunction& by, ColumnWriter* columns) {
  const size_t n = pattern.functions.size();
  std::vector<int64_t> calls(n), uncovered(n), total(n);
  size_t at = 0;
  for (size_t f = 0; f < n; ++f) {
    const FunctionTotals& t = pattern.functions[f];
    calls[f] = t.calls;
    uncovered[f] = t.uncovered;
    total[f] = WrapSubtract(t.total, t.uncovered);
    for (const size_t end = at + by.lengths[f]; at < end; ++at) {
      calls[f] = WrapSubtract(calls[f], by.calls[at]);
      uncovered[f] = WrapSubtract(uncovered[f], by.own[at]);
    }
  }
  columns->Plain(calls);
  columns->Plain(uncovered);
  columns->Plain(total);
}

void ReadTotals(ColumnReader* columns, FunctionScratch* s, std::vector<FunctionTotals>* totals) {
  s->values.resize(totals->size());
  columns->Plain(s->values);
  size_t at = 0;
  for (size_t f = 0; f < totals->size(); ++f) {
    FunctionTotals& t = (*totals)[f];
    t.calls = s->values[f];
    t.uncovered = 0;
    for (const size_t end = at + s->lengths[f]; at < end; ++at) {
      t.calls = WrapAdd(t.calls, s->calls[at]);
      t.uncovered = WrapAdd(t.uncovered, s->own[at]);
    }
  }
  columns->Plain(s->values);
  for (size_t f = 0; f < totals->size(); ++f) (*totals)[f].uncovered = WrapAdd((*totals)[f].uncovered, s->values[f]);
  columns->Plain(s->values);
  for (size_t f = 0; f < totals->size(); ++f) (*totals)[f].total = WrapAdd((*totals)[f].uncovered, s->values[f]);
}

// Row lengths from the bitmap of which function ran in which step; false unless they add up to `rows`.
bool CountRows(std::string_view bitmap, size_t functions, size_t steps, uint64_t rows, std::vector<uint32_t>* lengths) {
  lengths->assign(functions, bitmap.empty() ? static_cast<uint32_t>(steps) : 0);
  if (bitmap.empty()) return true;
  size_t bit = 0;
  uint64_t sum = 0;
  for (uint32_t& length : *lengths) {
    for (size_t s = 0; s < steps; ++s) length += BitAt(bitmap, bit++) ? 1 : 0;
    sum += length;
  }
  return sum == rows;
}

// From function-major columns to rows by (step, function).
bool Scatter(std::string_view bitmap, size_t functions, size_t steps, FunctionScratch* s,
             std::vector<FunctionStep>* rows) {
  s->next.resize(functions);
  uint32_t offset = 0;
  for (size_t f = 0; f < functions; ++f) {
    s->next[f] = offset;
    offset += s->lengths[f];
  }
  bool fits = true;
  FunctionStep* row = rows->data();
  for (size_t step = 0; step < steps; ++step) {
    for (size_t f = 0; f < functions; ++f) {
      if (!bitmap.empty() && !BitAt(bitmap, f * steps + step)) continue;
      const uint32_t at = s->next[f]++;
      row->step = static_cast<int32_t>(step);
      row->function = static_cast<FunctionId>(f);
      row->own = s->own[at];
      row->calls = static_cast<int32_t>(s->calls[at]);
      fits &= row->calls == s->calls[at];
      ++row;
    }
  }
  return fits;
}

}  // namespace

void WriteFunctionColumns(const RankPattern& pattern, ColumnWriter* columns, std::string* sequences) {
  const size_t steps = pattern.steps.size();
  const size_t pairs = pattern.functions.size() * steps;
  if (pattern.function_steps.size() < pairs) {
    std::string bitmap(BitmapBytes(pairs), '\0');
    for (const FunctionStep& row : pattern.function_steps) {
      SetBit(&bitmap, static_cast<size_t>(row.function) * steps + static_cast<size_t>(row.step));
    }
    *sequences += bitmap;
  }
  const ByFunction by = GroupByFunction(pattern);
  columns->Rows(by.own, by.lengths);
  columns->Rows(by.calls, by.lengths);
  WriteTotals(pattern, by, columns);
  WriteDoubles(pattern.functions, &FunctionTotals::mu, columns, sequences);
  WriteDoubles(pattern.functions, &FunctionTotals::sigma, columns, sequences);
}

bool ReadFunctionColumns(const ColumnCounts& counts, Parts parts, ColumnReader* columns, VarintReader* sequences,
                         DecodeBudget* budget, FunctionScratch* scratch, RankPattern* pattern) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (counts.functions > kMost || counts.steps > kMost || counts.function_steps > kMost) return false;
  const uint64_t pairs = counts.functions * counts.steps;  // below 2^62
  if (counts.function_steps > pairs) return false;
  std::string_view bitmap;
  if (counts.function_steps < pairs) bitmap = sequences->Bytes(BitmapBytes(pairs));
  if (!sequences->ok() || counts.function_steps > columns->MostValues() ||
      !budget->Take(counts.functions, sizeof(FunctionTotals)) ||
      !budget->Take(counts.function_steps, sizeof(FunctionStep))) {
    return false;
  }
  const auto functions = static_cast<size_t>(counts.functions);
  const auto steps = static_cast<size_t>(counts.steps);
  if (!CountRows(bitmap, functions, steps, counts.function_steps, &scratch->lengths)) return false;
  scratch->own.resize(static_cast<size_t>(counts.function_steps));
  scratch->calls.resize(static_cast<size_t>(counts.function_steps));
  columns->Rows(scratch->lengths, scratch->own);
  columns->Rows(scratch->lengths, scratch->calls);
  if (columns->failed()) return false;
  if (parts == Parts::kAll) {
    pattern->function_steps.resize(static_cast<size_t>(counts.function_steps));
    if (!Scatter(bitmap, functions, steps, scratch, &pattern->function_steps)) return false;
  }
  pattern->functions.resize(functions);
  ReadTotals(columns, scratch, &pattern->functions);
  return ReadDoubles(columns, sequences, &scratch->values, &FunctionTotals::mu, &pattern->functions) &&
         ReadDoubles(columns, sequences, &scratch->values, &FunctionTotals::sigma, &pattern->functions) &&
         !columns->failed();
}

}  // namespace headway::pattern::hwp
