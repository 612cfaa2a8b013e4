// SPDX-License-Identifier: Apache-2.0
#include "trace/import_log.h"

#include <cstddef>

namespace headway::trace {
namespace {

constexpr size_t kMaxExample = 120;

// ASCII only, one line, bounded: safe to print anywhere.
std::string Printable(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (out.size() >= kMaxExample) return out + "...";
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace

const char* ToString(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kNote: return "note";
    case ProblemKind::kGuessed: return "guessed";
    case ProblemKind::kRepaired: return "repaired";
    case ProblemKind::kDropped: return "dropped";
  }
  return "note";
}

std::string Problem::FirstPlace() const {
  if (first_offset < 0) return example;
  return "byte " + std::to_string(first_offset) + (example.empty() ? "" : ": " + example);
}

void ImportLog::Add(ProblemKind kind, std::string_view name, int64_t offset, std::string_view example) {
  auto it = problems_.find(name);
  if (it == problems_.end()) {
    it = problems_.emplace(std::string(name), Problem{kind, 0, offset, Printable(example)}).first;
  }
  ++it->second.count;
}

void ImportLog::AddCount(ProblemKind kind, std::string_view name, int64_t count) {
  if (count == 0) return;
  auto it = problems_.find(name);
  if (it == problems_.end()) it = problems_.emplace(std::string(name), Problem{kind, 0, -1, {}}).first;
  it->second.count += count;
}

void ImportLog::Merge(const ImportLog& other) {
  for (const auto& [name, problem] : other.problems_) {
    const auto [it, inserted] = problems_.emplace(name, problem);
    if (!inserted) it->second.count += problem.count;
  }
}

int64_t ImportLog::Count(std::string_view name) const {
  const auto it = problems_.find(name);
  return it == problems_.end() ? 0 : it->second.count;
}

int64_t ImportLog::Total(ProblemKind kind) const {
  int64_t total = 0;
  for (const auto& [name, problem] : problems_) {
    if (problem.kind == kind) total += problem.count;
  }
  return total;
}

}  // namespace headway::trace
