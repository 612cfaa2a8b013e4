// SPDX-License-Identifier: Apache-2.0
#include "base/json_cursor.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "base/text.h"

namespace headway {

// Nodes in document order. The children of a node are linked; strings lie in one pool.
struct JsonDocument::Node {
  JsonType type = JsonType::kNull;
  uint32_t parent = 0;
  uint32_t first_child = 0;  // 0 = none: the root is nobody's child
  uint32_t next_sibling = 0;
  uint32_t size = 0;  // children
  uint32_t key = 0;   // 1 + index into strings; 0 = none
  union {
    bool boolean;
    int64_t integer = 0;
    uint64_t unsigned_integer;
    double real;
    uint64_t string;  // index into strings
  };
};

struct JsonDocument::Tree {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::string> strings;

  void Add(simdjson::dom::element element, uint32_t parent, uint32_t previous, std::optional<std::string_view> key);
  template <typename Container>
  void AddChildren(const Container& container, uint32_t index);
};

namespace {

constexpr size_t kMaxDepth = 256;
constexpr size_t kMaxNodes = std::numeric_limits<uint32_t>::max();

std::string_view TypeName(JsonType type) {
  switch (type) {
    case JsonType::kNull: return "null";
    case JsonType::kBool: return "true or false";
    case JsonType::kInt:
    case JsonType::kUint:
    case JsonType::kDouble: return "a number";
    case JsonType::kString: return "a string";
    case JsonType::kArray: return "a list";
    case JsonType::kObject: return "an object";
  }
  return "nothing";
}

std::string_view KeyOf(const simdjson::dom::key_value_pair& member) { return member.key; }
std::optional<std::string_view> KeyOf(const simdjson::dom::element&) { return std::nullopt; }
simdjson::dom::element ValueOf(const simdjson::dom::key_value_pair& member) { return member.value; }
simdjson::dom::element ValueOf(const simdjson::dom::element& element) { return element; }

}  // namespace

template <typename Container>
void JsonDocument::Tree::AddChildren(const Container& container, uint32_t index) {
  uint32_t previous = 0;
  uint32_t count = 0;
  for (const auto& child : container) {
    const auto child_index = static_cast<uint32_t>(nodes.size());
    Add(ValueOf(child), index, previous, KeyOf(child));
    previous = child_index;
    ++count;
  }
  nodes[index].size = count;
}

void JsonDocument::Tree::Add(simdjson::dom::element element, uint32_t parent, uint32_t previous,
                             std::optional<std::string_view> key) {
  const auto index = static_cast<uint32_t>(nodes.size());
  nodes.emplace_back();
  nodes[index].parent = parent;
  if (previous != 0) {
    nodes[previous].next_sibling = index;
  } else if (index != 0) {
    nodes[parent].first_child = index;
  }
  if (key) {
    strings.emplace_back(*key);
    nodes[index].key = static_cast<uint32_t>(strings.size());
  }
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::NULL_VALUE: break;
    case element_type::BOOL:
      nodes[index].type = JsonType::kBool;
      nodes[index].boolean = element.get_bool().value_unsafe();
      break;
    case element_type::INT64:
      nodes[index].type = JsonType::kInt;
      nodes[index].integer = element.get_int64().value_unsafe();
      break;
    case element_type::UINT64:
      nodes[index].type = JsonType::kUint;
      nodes[index].unsigned_integer = element.get_uint64().value_unsafe();
      break;
    case element_type::DOUBLE:
      nodes[index].type = JsonType::kDouble;
      nodes[index].real = element.get_double().value_unsafe();
      break;
    case element_type::STRING:
      nodes[index].type = JsonType::kString;
      nodes[index].string = strings.size();
      strings.emplace_back(element.get_string().value_unsafe());
      break;
    case element_type::ARRAY:
      nodes[index].type = JsonType::kArray;
      AddChildren(element.get_array().value_unsafe(), index);
      break;
    case element_type::OBJECT:
      nodes[index].type = JsonType::kObject;
      AddChildren(element.get_object().value_unsafe(), index);
      break;
  }
}

JsonDocument::JsonDocument(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::Parse(std::string_view text, std::string name, size_t max_size) {
  if (text.size() > std::min(max_size, kMaxNodes)) {
    return MakeError(ErrorCode::kTooLarge,
                     "this JSON document is larger than " + FormatBytes(static_cast<Bytes>(max_size)), std::move(name));
  }
  auto tree = std::make_unique<Tree>();
  tree->name = std::move(name);
  try {
    simdjson::dom::parser parser;
    simdjson::error_code code = parser.allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
    simdjson::dom::element root;
    if (code == simdjson::SUCCESS) code = parser.parse(text.data(), text.size()).get(root);
    if (code != simdjson::SUCCESS) {
      return MakeError(ErrorCode::kCorrupt,
                       std::string("this is not valid JSON (") + simdjson::error_message(code) + ")",
                       std::move(tree->name));
    }
    tree->Add(root, 0, 0, std::nullopt);
  } catch (const std::exception& e) {
    return MakeError(ErrorCode::kCorrupt, std::string("this JSON document cannot be read (") + e.what() + ")",
                     std::move(tree->name));
  }
  return JsonDocument(std::move(tree));
}

JsonCursor JsonDocument::root() const { return JsonCursor(tree_.get(), 0); }

const JsonDocument::Node& JsonCursor::node() const { return tree_->nodes[index_]; }

JsonType JsonCursor::type() const { return node().type; }

bool JsonCursor::is_number() const {
  return type() == JsonType::kInt || type() == JsonType::kUint || type() == JsonType::kDouble;
}

std::string JsonCursor::Path() const {
  std::string path;
  for (uint32_t at = index_; at != 0; at = tree_->nodes[at].parent) {
    const JsonDocument::Node& here = tree_->nodes[at];
    if (here.key != 0) {
      const std::string part = Printable(tree_->strings[here.key - 1], 80);
      path.insert(0, path.empty() || path.starts_with('[') ? part : part + ".");
    } else {
      uint32_t position = 0;
      for (uint32_t i = tree_->nodes[here.parent].first_child; i != at; i = tree_->nodes[i].next_sibling) ++position;
      path.insert(0, "[" + std::to_string(position) + "]" + (path.empty() || path.starts_with('[') ? "" : "."));
    }
  }
  return path;
}

Error JsonCursor::MakeErrorHere(std::string message, ErrorCode code) const {
  const std::string path = Path();
  return Error{code, std::move(message), path.empty() ? tree_->name : tree_->name + ", " + path};
}

std::unexpected<Error> JsonCursor::Mismatch(std::string_view expected) const {
  return std::unexpected(
      MakeErrorHere("expected " + std::string(expected) + ", found " + std::string(TypeName(type()))));
}

Result<bool> JsonCursor::AsBool() const {
  if (type() != JsonType::kBool) return Mismatch("true or false");
  return node().boolean;
}

Result<int64_t> JsonCursor::AsInt() const {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (type() == JsonType::kInt) return node().integer;
  // Some writers print every number with a fraction ("12.0").
  if (type() == JsonType::kDouble && node().real == std::floor(node().real) && node().real >= -kTwoTo63 &&
      node().real < kTwoTo63) {
    return static_cast<int64_t>(node().real);
  }
  if (is_number()) return std::unexpected(MakeErrorHere("expected a whole number that fits 64 bits"));
  return Mismatch("a whole number");
}

Result<double> JsonCursor::AsDouble() const {
  switch (type()) {
    case JsonType::kDouble: return node().real;
    case JsonType::kInt: return static_cast<double>(node().integer);
    case JsonType::kUint: return static_cast<double>(node().unsigned_integer);
    default: return Mismatch("a number");
  }
}

Result<std::string_view> JsonCursor::AsString() const {
  if (type() != JsonType::kString) return Mismatch("a string");
  return std::string_view(tree_->strings[node().string]);
}

std::optional<JsonCursor> JsonCursor::Find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  for (uint32_t at = node().first_child; at != 0; at = tree_->nodes[at].next_sibling) {
    if (tree_->strings[tree_->nodes[at].key - 1] == key) return JsonCursor(tree_, at);
  }
  return std::nullopt;
}

Result<JsonCursor> JsonCursor::Get(std::string_view key) const {
  if (!is_object()) return Mismatch("an object");
  if (const auto found = Find(key)) return *found;
  return std::unexpected(MakeErrorHere("\"" + std::string(key) + "\" is missing"));
}

Result<bool> JsonCursor::GetBool(std::string_view key) const {
  const auto member = Get(key);
  return member ? member->AsBool() : std::unexpected(member.error());
}

Result<int64_t> JsonCursor::GetInt(std::string_view key) const {
  const auto member = Get(key);
  return member ? member->AsInt() : std::unexpected(member.error());
}

Result<double> JsonCursor::GetDouble(std::string_view key) const {
  const auto member = Get(key);
  return member ? member->AsDouble() : std::unexpected(member.error());
}

Result<std::string_view> JsonCursor::GetString(std::string_view key) const {
  const auto member = Get(key);
  return member ? member->AsString() : std::unexpected(member.error());
}

Result<bool> JsonCursor::GetBoolOr(std::string_view key, bool fallback) const {
  const auto member = Find(key);
  return member && !member->is_null() ? member->AsBool() : Result<bool>(fallback);
}

Result<int64_t> JsonCursor::GetIntOr(std::string_view key, int64_t fallback) const {
  const auto member = Find(key);
  return member && !member->is_null() ? member->AsInt() : Result<int64_t>(fallback);
}

Result<double> JsonCursor::GetDoubleOr(std::string_view key, double fallback) const {
  const auto member = Find(key);
  return member && !member->is_null() ? member->AsDouble() : Result<double>(fallback);
}

Result<std::string_view> JsonCursor::GetStringOr(std::string_view key, std::string_view fallback) const {
  const auto member = Find(key);
  return member && !member->is_null() ? member->AsString() : Result<std::string_view>(fallback);
}

size_t JsonCursor::size() const { return node().size; }

std::vector<JsonCursor> JsonCursor::Children() const {
  std::vector<JsonCursor> children;
  children.reserve(size());
  for (uint32_t at = node().first_child; at != 0; at = tree_->nodes[at].next_sibling) {
    children.push_back(JsonCursor(tree_, at));
  }
  return children;
}

std::string_view JsonCursor::key() const {
  return node().key == 0 ? std::string_view() : std::string_view(tree_->strings[node().key - 1]);
}

}  // namespace headway
