// SPDX-License-Identifier: Apache-2.0
// Everything a reader dropped, repaired or guessed: counted by a stable kebab-case name, with the first places seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headway::trace {

enum class ProblemKind : uint8_t {
  kNote,      // worth knowing, nothing changed ("last-step-kept")
  kGuessed,   // filled in from elsewhere ("rank-from-file-name")
  kRepaired,  // read after a repair ("control-character")
  kDropped,   // lost ("event-unparsable", "file-truncated")
};

[[nodiscard]] const char* ToString(ProblemKind kind);  // "note", "guessed", "repaired", "dropped"

struct Problem {
  ProblemKind kind = ProblemKind::kNote;
  int64_t count = 0;
  int64_t first_offset = -1;  // byte offset in the inflated stream of the first one; -1 = none
  std::string example;        // short text of the first one, already made printable

  // Of the first one: "byte 17: {"name"…", as much of it as is known.
  [[nodiscard]] std::string FirstPlace() const;
};

// Names are listed in docs/data-quality.md. Iteration is by name: deterministic.
class ImportLog {
 public:
  void Add(ProblemKind kind, std::string_view name, int64_t offset = -1, std::string_view example = {});
  void AddCount(ProblemKind kind, std::string_view name, int64_t count);
  void Merge(const ImportLog& other);
  // Puts a problem back as another log had it.
  void Restore(std::string name, Problem problem) { problems_.insert_or_assign(std::move(name), std::move(problem)); }
  [[nodiscard]] const std::map<std::string, Problem, std::less<>>& problems() const { return problems_; }
  [[nodiscard]] int64_t Count(std::string_view name) const;
  [[nodiscard]] int64_t Total(ProblemKind kind) const;

 private:
  std::map<std::string, Problem, std::less<>> problems_;
};

}  // namespace headway::trace
