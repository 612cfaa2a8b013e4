// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/name_table.h"

#include <array>
#include <utility>

#include "trace/importers/kineto/fast_hash.h"
#include "trace/importers/kineto/json_string.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kFirstSlots = 4096;

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string Shortened(std::string_view text, size_t longest, uint64_t hash) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out(Utf8Prefix(text, longest > 20 ? longest - 20 : 0));
  out += "...#";
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[hash >> shift & 15];
  return out;
}

}  // namespace

std::string WithoutAddresses(std::string_view name) {
  static constexpr std::string_view kAt = " at 0x";
  std::string out;
  for (;;) {
    const size_t at = name.find(kAt);
    if (at == std::string_view::npos) return out += name;
    out += name.substr(0, at);
    name.remove_prefix(at + kAt.size());
    while (!name.empty() && IsHex(name[0])) name.remove_prefix(1);
  }
}

NameTable::NameTable(std::shared_ptr<const NameRules> rules, ImportLog* log, const NameLimits& limits)
    : rules_(std::move(rules)), log_(log), limits_(limits), slots_(kFirstSlots) {}

const KnownName& NameTable::Find(RowClass row, std::string_view raw, int64_t offset) {
  const KnownName& known = Lookup(static_cast<uint8_t>(row), raw, offset);
  if (known.shortened) log_->Add(ProblemKind::kRepaired, "name-shortened", offset, raw.substr(0, 120));
  return known;
}

NameId NameTable::Intern(std::string_view raw, int64_t offset) {
  if (raw.empty()) return 0;
  return Lookup(kText, raw, offset).id;
}

const KnownName& NameTable::Lookup(uint8_t use, std::string_view raw, int64_t offset) {
  const uint64_t hash = FastHash(raw, use);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.entry == 0) return Add(use, raw, hash, i, offset);
    if (slot.hash != hash) continue;
    const Entry& entry = entries_[slot.entry - 1];
    if (entry.use == use && entry.raw == raw) return entry.name;
  }
}

const KnownName& NameTable::Add(uint8_t use, std::string_view raw, uint64_t hash, size_t slot, int64_t offset) {
  if (raw.size() > limits_.longest || pool_.bytes() + raw_bytes_ + raw.size() > limits_.total_bytes) {
    uncached_ = Make(use, raw, offset);  // rare, and not worth the memory
    return uncached_;
  }
  Entry entry;
  entry.use = use;
  entry.name = Make(use, raw, offset);
  entry.raw = pool_.Get(entry.name.id);
  if (entry.raw != raw) {
    entry.raw = raw_texts_.emplace_back(raw);
    raw_bytes_ += raw.size();
  }
  entries_.push_back(entry);
  slots_[slot] = {hash, static_cast<uint32_t>(entries_.size())};
  if (entries_.size() * 2 > slots_.size()) Grow();
  return entries_.back().name;
}

void NameTable::Grow() {
  std::vector<Slot> grown(slots_.size() * 2);
  const size_t mask = grown.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.entry == 0) continue;
    size_t i = slot.hash & mask;
    while (grown[i].entry != 0) i = (i + 1) & mask;
    grown[i] = slot;
  }
  slots_ = std::move(grown);
}

KnownName NameTable::Make(uint8_t use, std::string_view raw, int64_t offset) {
  CleanText clean = CleanString(raw);
  if (clean.bad_escape) log_->Add(ProblemKind::kRepaired, "bad-escape", offset, raw.substr(0, 120));
  KnownName known;
  if (use == kText) {
    if (clean.text.size() > limits_.longest) clean.text = Shortened(clean.text, limits_.longest, FastHash(raw));
    known.id = InternClean(clean.text);
    return known;
  }
  const auto row = static_cast<RowClass>(use);
  if (row == RowClass::kPython) clean.text = WithoutAddresses(clean.text);
  const NameVerdict verdict = rules_->Classify(row, clean.text);
  known.kind = verdict.kind;
  known.flags = verdict.flags;
  known.op = verdict.op;
  known.shortened = clean.text.size() > limits_.longest;
  if (known.shortened) clean.text = Shortened(clean.text, limits_.longest, FastHash(raw));
  known.id = InternClean(clean.text);
  known.algorithm = InternClean(verdict.algorithm);
  known.memory_kind = InternClean(verdict.memory_kind);
  return known;
}

NameId NameTable::InternClean(std::string_view text) {
  if (pool_.bytes() + raw_bytes_ + text.size() > limits_.total_bytes) {
    log_->Add(ProblemKind::kDropped, "names-capped");
    return pool_.Intern(kOtherNames);
  }
  return pool_.Intern(text);
}

}  // namespace headway::trace::kineto
