// SPDX-License-Identifier: Apache-2.0
// Reads the rule file. The only place of this module that knows the YAML library.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "trace/name_rules.h"

namespace headway::trace {
namespace {

constexpr const char* kBuiltInText =
#include "trace/name_rules_yaml.inc"
    ;

constexpr std::pair<const char*, RowClass> kRowClasses[] = {
    {"kernel", RowClass::kKernel},          {"memcpy", RowClass::kMemcpy},
    {"memset", RowClass::kMemset},          {"device-annotation", RowClass::kDeviceAnnotation},
    {"device-sync", RowClass::kDeviceSync}, {"runtime", RowClass::kRuntime},
    {"operator", RowClass::kOperator},      {"annotation", RowClass::kAnnotation},
    {"python", RowClass::kPython},          {"overhead", RowClass::kOverhead},
    {"instant", RowClass::kInstant},        {"other", RowClass::kOther},
};

constexpr EventKind kKinds[] = {
    EventKind::kKernel,   EventKind::kCommKernel, EventKind::kRuntime,   EventKind::kRuntimeSync, EventKind::kCpuOp,
    EventKind::kPython,   EventKind::kAnnotation, EventKind::kStep,      EventKind::kCommIssue,   EventKind::kCommHost,
    EventKind::kCommWait, EventKind::kDataLoader, EventKind::kOptimizer, EventKind::kOverhead,    EventKind::kOther,
};

std::string Folded(std::string text, bool upper) {
  for (char& c : text) {
    if (upper ? (c >= 'a' && c <= 'z') : (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 32);
  }
  return text;
}

[[noreturn]] void Fail(const YAML::Node& node, const std::string& what) {
  throw YAML::RepresentationException(node.Mark(), what);
}

template <typename Enum, size_t kSize>
Enum FromName(const YAML::Node& node, const std::pair<const char*, Enum> (&table)[kSize]) {
  const auto text = node.as<std::string>();
  for (const auto& [name, value] : table) {
    if (text == name) return value;
  }
  Fail(node, "unknown word '" + text + "'");
}

EventKind KindFromName(const YAML::Node& node) {
  const auto text = node.as<std::string>();
  for (const EventKind kind : kKinds) {
    if (text == ToString(kind)) return kind;
  }
  Fail(node, "unknown kind '" + text + "'");
}

CommOp OpFromName(const YAML::Node& node) {
  const auto text = node.as<std::string>();
  for (int i = 0; i <= static_cast<int>(CommOp::kCoalesced); ++i) {
    if (text == ToString(static_cast<CommOp>(i))) return static_cast<CommOp>(i);
  }
  Fail(node, "unknown operation '" + text + "'");
}

}  // namespace

// Adds one file's rules to a NameRules. What was added before takes precedence.
class NameRulesFile {
 public:
  static void AddTo(NameRules& out, const YAML::Node& root) {
    if (!root.IsMap()) Fail(root, "the file must be a map with version: 1");
    if (!root["version"] || root["version"].as<int>() != 1) Fail(root, "version: 1 is missing");
    for (const auto& entry : root) {
      const auto key = entry.first.as<std::string>();
      const YAML::Node value = entry.second;
      if (key == "version") continue;
      if (key == "categories")
        AddCategories(out, value);
      else if (key == "kernels")
        AddRules(out.kernels_, value);
      else if (key == "runtime")
        AddRules(out.runtime_, value);
      else if (key == "host")
        AddRules(out.host_, value);
      else if (key == "python")
        AddRules(out.python_, value);
      else if (key == "collectives")
        AddCollectives(out, value);
      else if (key == "waits")
        AddWaits(out, value);
      else if (key == "element_sizes")
        AddElementSizes(out, value);
      else if (key == "algorithms")
        AddWords(out.algorithms_, value);
      else if (key == "protocols")
        AddWords(out.protocols_, value);
      else
        Fail(entry.first, "unknown section '" + key + "'");
    }
  }

 private:
  static void AddCategories(NameRules& out, const YAML::Node& node) {
    for (const auto& entry : node) {
      const RowClass row = FromName(entry.first, kRowClasses);
      for (const auto& name : entry.second) out.categories_.try_emplace(Folded(name.as<std::string>(), false), row);
    }
  }

  static void AddRules(std::vector<NameRules::Rule>& out, const YAML::Node& node) {
    for (const auto& entry : node) {
      NameRules::Rule rule;
      if (!entry["kind"] || !entry["match"]) Fail(entry, "a rule needs kind and match");
      rule.keeps_kind = entry["kind"].as<std::string>() == "default";
      if (!rule.keeps_kind) rule.kind = KindFromName(entry["kind"]);
      if (entry["op"]) rule.op = OpFromName(entry["op"]);
      if (entry["container"] && entry["container"].as<bool>()) rule.flags |= kFlagContainer;
      if (entry["graph_launch"] && entry["graph_launch"].as<bool>()) rule.flags |= kFlagGraphLaunch;
      for (const auto& glob : entry["match"]) rule.globs.push_back(Folded(glob.as<std::string>(), false));
      out.push_back(std::move(rule));
    }
  }

  static void AddCollectives(NameRules& out, const YAML::Node& node) {
    for (const auto& entry : node) {
      const CommOp op = OpFromName(entry.first);
      for (const auto& name : entry.second) out.collectives_.try_emplace(Folded(name.as<std::string>(), false), op);
    }
  }

  static void AddWaits(NameRules& out, const YAML::Node& node) {
    for (const auto& name : node) out.waits_.try_emplace(Folded(name.as<std::string>(), false), true);
  }

  static void AddElementSizes(NameRules& out, const YAML::Node& node) {
    for (const auto& entry : node) {
      const int size = entry.first.as<int>();
      for (const auto& name : entry.second) out.element_sizes_.try_emplace(Folded(name.as<std::string>(), false), size);
    }
  }

  static void AddWords(std::vector<std::string>& out, const YAML::Node& node) {
    for (const auto& word : node) out.push_back(Folded(word.as<std::string>(), true));
  }
};

namespace {

std::optional<Error> Load(NameRules& out, std::string_view yaml, std::string where) {
  try {
    NameRulesFile::AddTo(out, YAML::Load(std::string(yaml)));
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const std::string line = e.mark.is_null() ? "" : ", line " + std::to_string(e.mark.line + 1);
    return Error{ErrorCode::kInvalidArgument, "not a rule file: " + e.msg + ".", std::move(where) + line};
  }
}

}  // namespace

std::shared_ptr<const NameRules> NameRules::BuiltIn() {
  auto rules = std::make_shared<NameRules>();
  const bool good = !Load(*rules, kBuiltInText, "built-in rules").has_value();
  HEADWAY_CHECK(good);
  return rules;
}

Result<std::shared_ptr<const NameRules>> NameRules::WithExtra(std::string_view yaml, std::string where) {
  auto rules = std::make_shared<NameRules>();
  if (auto error = Load(*rules, yaml, std::move(where))) return std::unexpected(*std::move(error));
  const bool good = !Load(*rules, kBuiltInText, "built-in rules").has_value();
  HEADWAY_CHECK(good);
  return rules;
}

}  // namespace headway::trace
