// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace headway {
namespace {

constexpr char kPlain = 0;     // copied as it is
constexpr char kUnicode = 1;   // \u00xx
constexpr char kMarkup = 2;    // \u00xx where the text must be safe in HTML
constexpr char kNotAscii = 3;  // to be checked as UTF-8
// Any other value: a backslash and that letter.

constexpr std::array<char, 256> MakeClasses() {
  std::array<char, 256> classes{};
  for (size_t c = 0; c < 0x20; ++c) classes[c] = kUnicode;
  for (size_t c = 0x80; c < 0x100; ++c) classes[c] = kNotAscii;
  classes[0x7f] = kUnicode;
  classes['"'] = '"';
  classes['\\'] = '\\';
  classes['\b'] = 'b';
  classes['\f'] = 'f';
  classes['\n'] = 'n';
  classes['\r'] = 'r';
  classes['\t'] = 't';
  classes['<'] = classes['>'] = classes['&'] = kMarkup;
  return classes;
}
constexpr std::array<char, 256> kClasses = MakeClasses();

template <typename Integer>
void AppendInteger(std::string* out, Integer value) {
  std::array<char, 24> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out->append(buffer.data(), result.ptr);
}

}  // namespace

void JsonWriter::NewLine() {
  if (style_.indent <= 0 || levels_.back().is_inline) return;
  out_->push_back('\n');
  out_->append(levels_.size() * static_cast<size_t>(style_.indent), ' ');
}

void JsonWriter::BeforeValue() {
  if (levels_.empty()) {
    HEADWAY_CHECK(!started_);
    started_ = true;
    return;
  }
  Level& level = levels_.back();
  if (level.is_object) {
    HEADWAY_CHECK(level.has_key);
    level.has_key = false;
    return;
  }
  if (!level.empty) {
    out_->push_back(',');
    if (style_.indent > 0 && level.is_inline) out_->push_back(' ');
  }
  level.empty = false;
  NewLine();
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  HEADWAY_CHECK(!levels_.empty() && levels_.back().is_object && !levels_.back().has_key);
  Level& level = levels_.back();
  if (!level.empty) {
    out_->push_back(',');
    if (style_.indent > 0 && level.is_inline) out_->push_back(' ');
  }
  level.empty = false;
  NewLine();
  AppendString(key);
  out_->append(style_.indent > 0 ? ": " : ":");
  level.has_key = true;
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket, Layout layout) {
  BeforeValue();
  const bool is_inline = layout == Layout::kInline || (!levels_.empty() && levels_.back().is_inline);
  levels_.push_back(Level{.is_object = bracket == '{', .is_inline = is_inline});
  out_->push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  HEADWAY_CHECK(!levels_.empty() && levels_.back().is_object == (bracket == '}') && !levels_.back().has_key);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && style_.indent > 0 && !level.is_inline) {
    out_->push_back('\n');
    out_->append(levels_.size() * static_cast<size_t>(style_.indent), ' ');
  }
  out_->push_back(bracket);
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  BeforeValue();
  AppendInteger(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Uint(uint64_t value) {
  BeforeValue();
  AppendInteger(out_, value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value, int digits) {
  if (!std::isfinite(value)) return Null();
  BeforeValue();
  out_->append(FormatFixed(value, digits));
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) { return Raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::Null() { return Raw("null"); }

JsonWriter& JsonWriter::String(std::string_view value) {
  BeforeValue();
  AppendString(value);
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  BeforeValue();
  out_->append(json);
  return *this;
}

void JsonWriter::AppendString(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out_->push_back('"');
  size_t copied = 0;  // everything before is written
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const char kind = kClasses[byte];
    if (kind == kPlain || (kind == kMarkup && !style_.html_safe)) {
      ++at;
      continue;
    }
    size_t length = 1;
    if (kind == kNotAscii) {
      const Utf8Step step = DecodeUtf8(text.substr(at));
      if (step.valid) {
        at += step.length;
        continue;
      }
      length = step.length;
    }
    out_->append(text.substr(copied, at - copied));
    if (kind == kNotAscii) {
      AppendUtf8(out_, kReplacement);
    } else if (kind == kUnicode || kind == kMarkup) {
      out_->append("\\u00");
      out_->push_back(kHex[byte >> 4]);
      out_->push_back(kHex[byte & 0xf]);
    } else {
      out_->push_back('\\');
      out_->push_back(kind);
    }
    at += length;
    copied = at;
  }
  out_->append(text.substr(copied));
  out_->push_back('"');
}

}  // namespace headway
