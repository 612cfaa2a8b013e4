// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/json_repair.h"

#include "trace/importers/kineto/number_text.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kLookAhead = 128;  // how far a decision about one quote may look: keeps the work linear
constexpr int kMaxDepth = 64;
constexpr size_t kLongestKey = 48;

class Repairer {
 public:
  explicit Repairer(std::string_view text) : text_(text) {}

  Repair Run() {
    Value(0, false);
    out_.complete = !ran_out_;
    out_.consumed = at_;
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char Char() const { return AtEnd() ? '\0' : text_[at_]; }
  void SkipSpace() { at_ = SpaceEnd(at_); }
  [[nodiscard]] size_t SpaceEnd(size_t i) const {
    const size_t stop = i + kLookAhead;
    while (i < text_.size() && i < stop && IsSpace(text_[i])) ++i;
    return i;
  }

  void Value(int depth, bool in_list) {
    SkipSpace();
    if (depth > kMaxDepth) {
      ran_out_ = true;
      at_ = text_.size();
      out_.json += "null";
    } else if (Char() == '{') {
      Object(depth);
    } else if (Char() == '[') {
      List(depth);
    } else if (Char() == '"') {
      String(in_list);
    } else {
      Literal();
    }
  }

  void Object(int depth) {
    ++at_;
    out_.json += '{';
    bool first = true;
    bool comma = true;
    for (;;) {
      SkipSpace();
      if (AtEnd()) {
        ran_out_ = true;
        break;
      }
      if (Char() == '}') {
        out_.trailing_comma = out_.trailing_comma || (comma && !first);
        ++at_;
        break;
      }
      if (Char() == ',') {
        comma = true;
        ++at_;
        continue;
      }
      if (Char() != '"') {  // no key: nothing here can be named
        out_.bad_literal = true;
        ++at_;
        continue;
      }
      out_.missing_comma = out_.missing_comma || !comma;
      if (!first) out_.json += ',';
      if (Key()) Value(depth + 1, false);
      first = false;
      comma = false;
    }
    out_.json += '}';
  }

  void List(int depth) {
    ++at_;
    out_.json += '[';
    bool first = true;
    bool comma = true;
    for (;;) {
      SkipSpace();
      if (AtEnd() || Char() == '}') {  // a list that was never closed
        ran_out_ = ran_out_ || AtEnd();
        break;
      }
      if (Char() == ']') {
        out_.trailing_comma = out_.trailing_comma || (comma && !first);
        ++at_;
        break;
      }
      if (Char() == ',') {
        comma = true;
        ++at_;
        continue;
      }
      if (!first) out_.json += ',';
      Value(depth + 1, true);
      first = false;
      comma = false;
    }
    out_.json += ']';
  }

  // Up to the colon. False (with a null value written) where the text ends first.
  bool Key() {
    const size_t open = at_++;
    while (!AtEnd() && !(Char() == '"' && ColonFollows(at_ + 1))) at_ += Char() == '\\' ? 2 : 1;
    if (AtEnd()) {
      at_ = text_.size();
      ran_out_ = true;
      out_.json += R"("":null)";
      return false;
    }
    out_.json += '"';
    AppendInside(open + 1, at_);
    out_.json += "\":";
    at_ = SpaceEnd(at_ + 1) + 1;
    return true;
  }

  [[nodiscard]] bool ColonFollows(size_t i) const {
    i = SpaceEnd(i);
    return i < text_.size() && text_[i] == ':';
  }

  // `"word":` at i, as members begin.
  [[nodiscard]] bool MemberFollows(size_t i) const {
    if (i >= text_.size() || text_[i] != '"') return false;
    const size_t from = ++i;
    while (i < text_.size() && i < from + kLongestKey && text_[i] != '"' && text_[i] != '\n' && text_[i] != '\\') ++i;
    return i > from && i < text_.size() && text_[i] == '"' && ColonFollows(i + 1);
  }

  [[nodiscard]] bool EventMemberFollows(size_t i) const {
    if (!MemberFollows(i)) return false;
    for (const std::string_view key :
         {"\"ph\"", "\"cat\"", "\"name\"", "\"pid\"", "\"tid\"", "\"ts\"", "\"dur\"", "\"args\"", "\"id\""}) {
      if (text_.substr(i).starts_with(key)) return true;
    }
    return false;
  }

  // Whether what stands at i may stand behind a string.
  [[nodiscard]] bool Closes(size_t i, bool in_list) const {
    i = SpaceEnd(i);
    if (i >= text_.size()) return true;
    if (in_list) {
      if (text_[i] == ']') return true;
      if (text_[i] != ',') return false;
      i = SpaceEnd(i + 1);
      if (i >= text_.size()) return true;
      const char c = text_[i];
      return c == '"' || c == '[' || c == '{' || c == ']' || c == '-' || IsDigit(c) || c == 't' || c == 'f' || c == 'n';
    }
    if (text_[i] == '}') {
      i = SpaceEnd(i + 1);
      return i >= text_.size() || text_[i] == ',' || text_[i] == '}' || text_[i] == ']';
    }
    if (text_[i] != ',') return MemberFollows(i);  // a comma may be missing
    i = SpaceEnd(i + 1);
    return i >= text_.size() || text_[i] == '}' || MemberFollows(i);
  }

  // A line ends at i and the next one begins like a member or a closing brace: the string should have ended before.
  [[nodiscard]] bool LineEndsString(size_t i) const {
    i = SpaceEnd(i);
    return i < text_.size() && (text_[i] == '}' || MemberFollows(i));
  }

  void String(bool in_list) {
    const size_t open = at_++;
    while (!AtEnd()) {
      const char c = Char();
      if (c == '\\' && at_ + 1 < text_.size()) {
        // "C:\dir\" escapes its own closing quote.
        if (text_[at_ + 1] == '"' && !in_list && MemberComes(at_ + 2)) {
          Emit(open + 1, at_ + 1);
          out_.bad_escape = true;
          at_ += 2;
          return;
        }
        at_ += 2;
        continue;
      }
      if (c == '"') {
        if (Closes(at_ + 1, in_list)) {
          Emit(open + 1, at_);
          ++at_;
          return;
        }
        if (EventMemberFollows(at_) && CommaBefore(at_)) {
          CutAt(open + 1, at_);
          return;
        }
        out_.unescaped_quote = true;
      } else if (c == '\n' && LineEndsString(at_)) {
        CutAt(open + 1, at_);
        return;
      }
      ++at_;
    }
    at_ = text_.size();
    ran_out_ = true;
    Emit(open + 1, at_);
  }

  // `, "key":` at i.
  [[nodiscard]] bool MemberComes(size_t i) const {
    i = SpaceEnd(i);
    return i < text_.size() && text_[i] == ',' && MemberFollows(SpaceEnd(i + 1));
  }

  [[nodiscard]] bool CommaBefore(size_t i) const {
    while (i > 0 && IsSpace(text_[i - 1])) --i;
    return i > 0 && text_[i - 1] == ',';
  }

  // The string has lost its closing quote: it ends before the comma (if any) in front of `end`, where reading goes on.
  void CutAt(size_t from, size_t end) {
    out_.missing_quote = true;
    size_t last = end;
    while (last > from && (IsSpace(text_[last - 1]) || text_[last - 1] == ',')) --last;
    Emit(from, last);
    size_t comma = end;
    while (comma > from && IsSpace(text_[comma - 1])) --comma;
    at_ = comma > from && text_[comma - 1] == ',' ? comma - 1 : end;
  }

  void Emit(size_t from, size_t to) {
    out_.json += '"';
    AppendInside(from, to);
    out_.json += '"';
  }

  void AppendInside(size_t from, size_t to) {
    for (size_t i = from; i < to && i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\\') {
        const char next = i + 1 < to ? text_[i + 1] : '\0';
        if (next != '\0' && std::string_view("\"\\/bfnrtu").find(next) != std::string_view::npos) {
          out_.json += c;
          out_.json += next;
          ++i;
        } else {
          out_.json += "\\\\";
          out_.bad_escape = true;
        }
      } else if (c == '"') {
        out_.json += "\\\"";
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_.json += ' ';
        out_.control = true;
      } else {
        out_.json += c;
      }
    }
  }

  void Literal() {
    const size_t from = at_;
    while (!AtEnd() && Char() != ',' && Char() != '}' && Char() != ']' && !IsSpace(Char()) && Char() != '"') ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    int64_t ignored = 0;
    if (word == "true" || word == "false" || word == "null" || IsNumber(word, &ignored)) {
      out_.json += word;
      return;
    }
    std::string_view bare = word;
    if (bare.starts_with('-') || bare.starts_with('+')) bare.remove_prefix(1);
    const bool nan = bare.starts_with("NaN") || bare.starts_with("nan") || bare.starts_with("inf") ||
                     bare.starts_with("Inf") || bare.starts_with("INF");
    (nan ? out_.nan : out_.bad_literal) = true;
    out_.json += "null";
    if (at_ == from && !AtEnd() && Char() == '"') return;  // a string where none belongs is the next value
    if (AtEnd()) ran_out_ = true;
  }

  [[nodiscard]] static bool IsNumber(std::string_view word, int64_t* ignored) {
    if (ParseDecimal(word, 0, ignored)) return true;
    for (const char c : word) {  // too large for int64 is still a number
      if (!IsDigit(c) && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E') return false;
    }
    return !word.empty();
  }

  std::string_view text_;
  size_t at_ = 0;
  bool ran_out_ = false;
  Repair out_;
};

}  // namespace

Repair RepairJson(std::string_view text) { return Repairer(text).Run(); }

}  // namespace headway::trace::kineto
