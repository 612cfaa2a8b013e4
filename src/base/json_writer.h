// SPDX-License-Identifier: Apache-2.0
// Writes JSON (RFC 8259) into a string as it goes, without building a tree. Strings may hold any bytes: invalid UTF-8
// becomes U+FFFD, control characters are escaped. Misuse (a value without its key, an End too many) is a CHECK.
//
//   std::string out;
//   JsonWriter json(&out);
//   json.BeginObject();
//   json.Field("rank", 19).Field("share", 0.25, 3);
//   json.Key("steps").BeginArray().Int(101).Int(102).EndArray();
//   json.EndObject();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

struct JsonStyle {
  int indent = 0;          // spaces for each level; 0 = everything on one line, no spaces
  bool html_safe = false;  // '<', '>' and '&' as \u00xx, so that the text may stand inside an HTML <script> element
};

class JsonWriter {
 public:
  // Appends to `out`, which must outlive the writer. What is already there is never looked at again: a caller that
  // streams to a file may take the text out between any two calls.
  explicit JsonWriter(std::string* out, const JsonStyle& style = {}) : out_(out), style_(style) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  // kInline: this container and all in it on one line, whatever the style.
  enum class Layout : uint8_t { kBlock, kInline };
  JsonWriter& BeginObject(Layout layout = Layout::kBlock) { return Begin('{', layout); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray(Layout layout = Layout::kBlock) { return Begin('[', layout); }
  JsonWriter& EndArray() { return End(']'); }

  JsonWriter& Key(std::string_view key);

  JsonWriter& Int(int64_t value);
  JsonWriter& Uint(uint64_t value);
  // With exactly `digits` (0..17) behind the point; null where the value is not finite; never "-0".
  JsonWriter& Double(double value, int digits);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& String(std::string_view value);
  // A value that is JSON already, copied as it is.
  JsonWriter& Raw(std::string_view json);

  // A key and its value.
  JsonWriter& Field(std::string_view key, std::string_view value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, const char* value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, const std::string& value) { return Key(key).String(value); }
  JsonWriter& Field(std::string_view key, std::same_as<bool> auto value) { return Key(key).Bool(value); }
  JsonWriter& Field(std::string_view key, std::signed_integral auto value) { return Key(key).Int(value); }
  JsonWriter& Field(std::string_view key, std::unsigned_integral auto value)
    requires(!std::same_as<decltype(value), bool>)
  {
    return Key(key).Uint(value);
  }
  JsonWriter& Field(std::string_view key, double value, int digits) { return Key(key).Double(value, digits); }

  // True once the outermost value is complete.
  [[nodiscard]] bool complete() const { return levels_.empty() && started_; }

 private:
  struct Level {
    bool is_object = false;
    bool is_inline = false;
    bool empty = true;
    bool has_key = false;  // a key was written and waits for its value
  };

  JsonWriter& Begin(char bracket, Layout layout);
  JsonWriter& End(char bracket);
  void BeforeValue();
  void NewLine();
  void AppendString(std::string_view text);

  std::string* out_;
  JsonStyle style_;
  std::vector<Level> levels_;
  bool started_ = false;
};

}  // namespace headway
