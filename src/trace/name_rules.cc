// SPDX-License-Identifier: Apache-2.0
#include "trace/name_rules.h"

#include <algorithm>

#include "base/letter_case.h"

namespace headway::trace {
namespace {

EventKind DefaultKind(RowClass row) {
  switch (row) {
    case RowClass::kKernel: return EventKind::kKernel;
    case RowClass::kMemcpy: return EventKind::kMemcpy;
    case RowClass::kMemset: return EventKind::kMemset;
    case RowClass::kDeviceAnnotation: return EventKind::kDeviceAnnotation;
    case RowClass::kDeviceSync: return EventKind::kDeviceSync;
    case RowClass::kRuntime: return EventKind::kRuntime;
    case RowClass::kOperator: return EventKind::kCpuOp;
    case RowClass::kAnnotation: return EventKind::kAnnotation;
    case RowClass::kPython: return EventKind::kPython;
    case RowClass::kOverhead: return EventKind::kOverhead;
    case RowClass::kInstant: return EventKind::kInstant;
    case RowClass::kOther: return EventKind::kOther;
  }
  return EventKind::kOther;
}

// "Memcpy HtoD (Pageable -> Device)" -> "HtoD Pageable"; "Memcpy DtoD (Device -> Device)" -> "DtoD".
std::string MemoryKind(std::string_view name) {
  std::string kind;
  for (const std::string_view direction : {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "HtoA", "AtoH", "DtoA", "AtoD"}) {
    if (name.find(direction) != std::string_view::npos) {
      kind = direction;
      break;
    }
  }
  for (const std::string_view side : {"Pageable", "Pinned", "Managed", "Unified"}) {
    if (name.find(side) == std::string_view::npos) continue;
    if (!kind.empty()) kind += ' ';
    return kind += side;
  }
  return kind;
}

}  // namespace

bool MatchGlob(std::string_view glob, std::string_view text) {
  size_t g = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;  // after the last *, where to go on after a mismatch
  size_t resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = ++g;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

RowClass NameRules::Category(std::string_view category, bool* known) const {
  const auto it = categories_.find(Lower(category));
  if (known != nullptr) *known = it != categories_.end();
  return it == categories_.end() ? RowClass::kOther : it->second;
}

const NameRules::Rule* NameRules::Find(const std::vector<Rule>& rules, std::string_view lower_name) const {
  for (const Rule& rule : rules) {
    for (const std::string& glob : rule.globs) {
      if (MatchGlob(glob, lower_name)) return &rule;
    }
  }
  return nullptr;
}

NameVerdict NameRules::Classify(RowClass row, std::string_view name) const {
  NameVerdict verdict;
  verdict.kind = DefaultKind(row);
  const std::vector<Rule>* rules = nullptr;
  switch (row) {
    case RowClass::kKernel: rules = &kernels_; break;
    case RowClass::kRuntime: rules = &runtime_; break;
    case RowClass::kOperator:
    case RowClass::kAnnotation: rules = &host_; break;
    case RowClass::kPython: rules = &python_; break;
    case RowClass::kMemcpy: verdict.memory_kind = MemoryKind(name); break;
    case RowClass::kDeviceAnnotation: verdict.flags |= kFlagContainer; break;
    default: break;
  }
  if (verdict.memory_kind.find("Pageable") != std::string::npos) verdict.flags |= kFlagPageable;
  if (row == RowClass::kAnnotation) verdict.flags |= kFlagContainer;
  if (rules == nullptr) return verdict;

  const Rule* rule = Find(*rules, Lower(name));
  if (rule == nullptr) {
    if (row == RowClass::kKernel) verdict.flags |= kFlagUnknownName;
    return verdict;
  }
  verdict.op = rule->op;
  if (rule->keeps_kind) {
    verdict.flags |= rule->flags;
  } else {
    verdict.kind = rule->kind;
    verdict.flags = rule->flags;
  }
  if (verdict.kind == EventKind::kCommKernel) verdict.algorithm = Algorithm(name);
  return verdict;
}

CommOp NameRules::Collective(std::string_view name) const {
  const auto it = collectives_.find(Lower(name));
  return it == collectives_.end() ? CommOp::kUnknown : it->second;
}

bool NameRules::IsWait(std::string_view collective_name) const { return waits_.contains(Lower(collective_name)); }

int NameRules::ElementSize(std::string_view type) const {
  const auto it = element_sizes_.find(Lower(type));
  return it == element_sizes_.end() ? 0 : it->second;
}

std::string NameRules::Algorithm(std::string_view kernel_name) const {
  const std::string name = Upper(kernel_name.substr(0, kernel_name.find('(')));
  if (name.find("CCL") == std::string::npos) return {};  // the words below are NCCL's and its relatives'
  size_t best = std::string::npos;
  const std::string* found = nullptr;
  for (const std::string& algorithm : algorithms_) {  // the earliest; of those at one place the first listed
    const size_t at = name.find(algorithm);
    if (at < best) {
      best = at;
      found = &algorithm;
    }
  }
  if (found == nullptr) return {};
  std::string_view rest = std::string_view(name).substr(best + found->size());
  if (rest.starts_with('_')) rest.remove_prefix(1);
  for (const std::string& protocol : protocols_) {
    if (rest.starts_with(protocol)) return *found + "_" + protocol;
  }
  return *found;
}

}  // namespace headway::trace
