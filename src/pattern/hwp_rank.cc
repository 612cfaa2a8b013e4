// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_rank.h"

#include <utility>

#include "base/check.h"
#include "base/little_endian.h"
#include "pattern/hwp_record.h"
#include "pattern/hwp_validate.h"

namespace headway::pattern::hwp {
namespace {

// Measured on generated ranks (bench/bench_hwp): beyond these a section gets less than 1 % smaller.
constexpr int kTableLevel = 15;
constexpr int kRankLevel = 12;

constexpr size_t kTableReference = 8;
constexpr const char* kTooLarge = "the counts in it ask for more memory than its size can justify";

// A section whose columns are all alike may be smaller than the reader's budget allows: padding makes up for it.
void Pad(const DecodeBudget& unlimited, std::string* section) {
  const uint64_t needed = UINT64_MAX - unlimited.left();
  const uint64_t allowed = DecodeBudget::Allowed(section->size());
  if (needed <= allowed) return;
  const uint64_t a_byte = DecodeBudget::Allowed(1) - DecodeBudget::Allowed(0);
  AppendBlock(BlockId::kPadding, std::string((needed - allowed) / a_byte + 1, '\0'), 0, section);
}

}  // namespace

std::string WriteTableSection(const FunctionTable& table) {
  HEADWAY_CHECK(BrokenPromise(table) == nullptr);
  std::string section;
  AppendBlock(BlockId::kTable, WriteFunctionTable(table), kTableLevel, &section);
  DecodeBudget unlimited(UINT64_MAX);
  HEADWAY_CHECK(SectionDecoder().Table(section, &unlimited).has_value());
  Pad(unlimited, &section);
  return section;
}

std::string WriteRankSection(const RankPattern& pattern, uint64_t table) {
  HEADWAY_CHECK(BrokenPromise(pattern) == nullptr);
  ColumnWriter columns;
  std::string sequences;
  WriteStepColumns(pattern.steps, &columns);
  WriteFunctionColumns(pattern, &columns, &sequences);
  WriteInstances(pattern.comms, &columns, &sequences);
  const ColumnStreams streams = columns.Take();
  std::string section;
  AppendLittleEndian(&section, table);
  AppendBlock(BlockId::kRecord, WriteRecord(pattern), kRankLevel, &section);
  AppendBlock(BlockId::kSequences, sequences, kRankLevel, &section);
  AppendBlock(BlockId::kWidths, streams.widths, kRankLevel, &section);
  AppendBlock(BlockId::kHeads, streams.heads, kRankLevel, &section);
  AppendBlock(BlockId::kTops, streams.tops, kRankLevel, &section);
  AppendBlock(BlockId::kBits, streams.bits, 0, &section);
  DecodeBudget unlimited(UINT64_MAX);
  HEADWAY_CHECK(SectionDecoder().Rank(section, pattern.function_table, Parts::kAll, &unlimited).has_value());
  Pad(unlimited, &section);
  // As they are: what is read of them takes no memory of its own.
  if (const std::string slices = WriteStepSlices(pattern.steps); !slices.empty()) {
    AppendBlock(BlockId::kSlices, slices, 0, &section);
  }
  return section;
}

Result<uint64_t> SectionDecoder::TableOf(std::string_view section) {
  if (section.size() < kTableReference) return MakeError(ErrorCode::kCorrupt, "a rank's section is too short");
  return LoadLittleEndian<uint64_t>(section);
}

Result<RankPattern> SectionDecoder::Rank(std::string_view section, std::shared_ptr<const FunctionTable> table,
                                         Parts parts, DecodeBudget* budget) {
  const auto damaged = [budget](std::string what) {
    return MakeError(ErrorCode::kCorrupt, budget->exceeded() ? kTooLarge : std::move(what));
  };
  if (auto unpacked = blocks_.Unpack(section.substr(kTableReference), budget); !unpacked) {
    return std::unexpected(unpacked.error());
  }
  RankPattern p;
  ColumnCounts counts;
  if (!ReadRecord(blocks_.Get(BlockId::kRecord), budget, &p, &counts)) return damaged("a rank's record is malformed");
  if (table == nullptr || counts.functions != table->size()) {
    return damaged("a rank's functions and the table of their names differ in number");
  }
  p.function_table = std::move(table);
  ColumnReader columns(blocks_.Get(BlockId::kWidths), blocks_.Get(BlockId::kHeads), blocks_.Get(BlockId::kTops),
                       blocks_.Get(BlockId::kBits));
  VarintReader sequences(blocks_.Get(BlockId::kSequences));
  if (!ReadStepColumns(counts.steps, &columns, budget, &p.steps)) return damaged("a rank's steps are malformed");
  if (!ReadStepSlices(blocks_.Get(BlockId::kSlices), &p.steps))
    return damaged("a rank's slices of steps are malformed");
  if (!ReadFunctionColumns(counts, parts, &columns, &sequences, budget, &functions_, &p)) {
    return damaged("a rank's functions are malformed");
  }
  if (!ReadInstances(counts.instances, &columns, &sequences, budget, &instances_, &p.comms)) {
    return damaged("a rank's communication is malformed");
  }
  if (!columns.AtEnd() || !sequences.empty()) return damaged("a rank's columns are longer than its counts");
  if (const char* broken = BrokenReference(p)) return damaged(broken);
  return p;
}

Result<FunctionTable> SectionDecoder::Table(std::string_view section, DecodeBudget* budget) {
  if (auto unpacked = blocks_.Unpack(section, budget); !unpacked) return std::unexpected(unpacked.error());
  FunctionTable table;
  if (!ReadFunctionTable(blocks_.Get(BlockId::kTable), budget, &table)) {
    return MakeError(ErrorCode::kCorrupt, budget->exceeded() ? kTooLarge : "a function table is malformed");
  }
  return table;
}

}  // namespace headway::pattern::hwp
