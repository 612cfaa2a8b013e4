// SPDX-License-Identifier: Apache-2.0
// Reads small JSON documents (configuration, metadata, our own results), each held in memory as a whole. Traces are not
// read this way.
//
// A cursor points at one value. Typed accessors answer with the value or with an error that says where in the document
// it is and what was expected: "plan.json, steps[3].name: expected a string, found a number".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headway {

enum class JsonType : uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };

class JsonCursor;

class JsonDocument {
 public:
  // kCorrupt where the text is not JSON or not UTF-8, or nests deeper than 256 levels; kTooLarge above `max_size`
  // bytes. `name` is how errors call the document. The text need not outlive the call.
  static Result<JsonDocument> Parse(std::string_view text, std::string name, size_t max_size = size_t{64} << 20);

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  // The outermost value. Cursors stay valid as long as the document, also where it is moved.
  [[nodiscard]] JsonCursor root() const;

 private:
  friend class JsonCursor;
  struct Node;
  struct Tree;
  explicit JsonDocument(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree_;
};

// Cheap to copy.
class JsonCursor {
 public:
  [[nodiscard]] JsonType type() const;
  [[nodiscard]] bool is_null() const { return type() == JsonType::kNull; }
  [[nodiscard]] bool is_object() const { return type() == JsonType::kObject; }
  [[nodiscard]] bool is_array() const { return type() == JsonType::kArray; }
  [[nodiscard]] bool is_string() const { return type() == JsonType::kString; }
  [[nodiscard]] bool is_number() const;

  // The value itself. AsInt takes any number without a fraction that fits; AsDouble any number.
  [[nodiscard]] Result<bool> AsBool() const;
  [[nodiscard]] Result<int64_t> AsInt() const;
  [[nodiscard]] Result<double> AsDouble() const;
  [[nodiscard]] Result<std::string_view> AsString() const;  // valid as long as the document

  // Members of an object. Find: nothing where the key is absent or this is no object. Get: absence is an error. Where a
  // key is repeated, the first counts. O(members).
  [[nodiscard]] std::optional<JsonCursor> Find(std::string_view key) const;
  [[nodiscard]] Result<JsonCursor> Get(std::string_view key) const;
  [[nodiscard]] Result<bool> GetBool(std::string_view key) const;
  [[nodiscard]] Result<int64_t> GetInt(std::string_view key) const;
  [[nodiscard]] Result<double> GetDouble(std::string_view key) const;
  [[nodiscard]] Result<std::string_view> GetString(std::string_view key) const;
  // The same, with `fallback` where the key is absent or null. A value of another type is still an error.
  [[nodiscard]] Result<bool> GetBoolOr(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<int64_t> GetIntOr(std::string_view key, int64_t fallback) const;
  [[nodiscard]] Result<double> GetDoubleOr(std::string_view key, double fallback) const;
  [[nodiscard]] Result<std::string_view> GetStringOr(std::string_view key, std::string_view fallback) const;

  // Elements of an array or members of an object, in the order of the document; empty for anything else.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] std::vector<JsonCursor> Children() const;
  [[nodiscard]] std::string_view key() const;  // of a member of an object; else empty

  // An error about this value: "<name>, <path>: <message>".
  [[nodiscard]] Error MakeErrorHere(std::string message, ErrorCode code = ErrorCode::kCorrupt) const;
  [[nodiscard]] std::string Path() const;  // "steps[3].name"; empty for the root

 private:
  friend class JsonDocument;
  JsonCursor(const JsonDocument::Tree* tree, uint32_t index) : tree_(tree), index_(index) {}
  [[nodiscard]] const JsonDocument::Node& node() const;
  [[nodiscard]] std::unexpected<Error> Mismatch(std::string_view expected) const;

  const JsonDocument::Tree* tree_;
  uint32_t index_;
};

}  // namespace headway
