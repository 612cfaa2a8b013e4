// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/document_walker.h"

#include <algorithm>
#include <cstdio>

#include "trace/importers/kineto/indexed_text.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kFirstCheck = size_t{64} << 10;  // a longer element is looked at for damage before its end is known

// "a PNG image": what a file is that begins with these bytes, if that is easy to say.
std::string_view KindOfFile(std::string_view first) {
  if (first.starts_with("\x89")) return "a PNG image";
  if (first.starts_with("\x1f")) return "compressed data";
  if (first.starts_with("P")) return "an archive";
  if (first.starts_with("S")) return "a database";
  if (first.starts_with("\x7f")) return "a program";
  if (first.starts_with("\x80")) return "a pickle";
  if (first.starts_with("<")) return "markup";
  return "something else";
}

}  // namespace

DocumentWalker::DocumentWalker(DocumentSink* sink, ImportLog* log, const WalkerOptions& options, ScanFunction scan)
    : sink_(sink), log_(log), options_(options), window_(scan, std::min(options.slice, options.longest_element)) {
  options_.slice = std::max(std::min(options.slice, options.longest_element), 2 * kBlock);
}

Result<void> DocumentWalker::Feed(std::string_view bytes) {
  if (!begun_) {
    if (auto sniffed = Sniff(bytes); !sniffed) return sniffed;
  }
  while (!bytes.empty()) {
    // Never more than a slice at once: what is seen of an element at first must not depend on how large chunks are.
    bytes.remove_prefix(window_.Fill(bytes.substr(0, options_.slice)));
    if (auto walked = Walk(); !walked) return walked;
  }
  return {};
}

Result<void> DocumentWalker::Finish() {
  if (!begun_) return MakeError(ErrorCode::kCorrupt, "The file is empty.");
  finishing_ = true;
  window_.FillEnd();
  return Walk();
}

Result<void> DocumentWalker::Sniff(std::string_view bytes) {
  static constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  for (const char c : bytes) {
    const auto place = static_cast<size_t>(sniffed_++);
    if (IsSpace(c) || (place < kByteOrderMark.size() && kByteOrderMark[place] == c)) continue;
    begun_ = true;
    if (c == '{' || c == '[') return {};
    char first[8];
    std::snprintf(first, sizeof(first), "0x%02x", static_cast<unsigned char>(c));
    return MakeError(ErrorCode::kUnsupported,
                     "This is not a trace in JSON: it begins with byte " + std::string(first) + " like " +
                         std::string(KindOfFile(std::string_view(&c, 1))) + ".",
                     "byte " + std::to_string(place));
  }
  return {};
}

Result<void> DocumentWalker::Walk() {
  for (;;) {
    Step step = StepAny();
    if (no_events_) {
      return MakeError(ErrorCode::kUnsupported, "This is a JSON list, but not of trace events.",
                       "byte " + std::to_string(Here()));
    }
    if (step == Step::kNeedBytes && finishing_) step = FinishPending();
    if (step == Step::kNeedBytes) return {};
  }
}

DocumentWalker::Step DocumentWalker::StepAny() {
  switch (pending_) {
    case Pending::kFraming: return ContinueFraming();
    case Pending::kRecovering: return ContinueRecovery();
    case Pending::kSkipping: return ContinueSkipping();
    case Pending::kNone: break;
  }
  switch (mode_) {
    case Mode::kEvents: return StepEvents();
    case Mode::kMembers: return StepMembers();
    case Mode::kStart:
    case Mode::kAfter: return StepOutside();
  }
  return Step::kNeedBytes;
}

TokenCursor DocumentWalker::Cursor() const {
  const uint32_t* tokens = window_.tokens();
  return {window_.text(), tokens + window_.token(), tokens + window_.token_count(), window_.limit()};
}

// Looks at the text in front of the next token and drops it. False if no token is known yet.
bool DocumentWalker::ScanGap() {
  const bool has_token = HasTokens(1);
  const size_t position = has_token ? TokenAt(0) : window_.limit();
  for (size_t i = window_.begin(); i < position; ++i) {
    const char c = window_.text()[i];
    if (c == ',') {
      ++commas_;
    } else if (!IsSpace(c)) {
      garbage_ = true;
    }
  }
  window_.Consume(position, window_.token());
  return has_token;
}

void DocumentWalker::ReportGap(bool before_event) {
  if (before_event && elements_ > 0 && commas_ == 0) log_->Add(ProblemKind::kRepaired, "missing-comma", Here());
  if (commas_ > (before_event && elements_ > 0 ? 1 : 0)) log_->Add(ProblemKind::kRepaired, "trailing-comma", Here());
  if (garbage_) log_->Add(ProblemKind::kDropped, "garbage-between-events", Here());
}

// ---- Outside any object or list: in front of the first, behind the last.

DocumentWalker::Step DocumentWalker::StepOutside() {
  if (!ScanGap()) return Step::kNeedBytes;
  const char c = CharAt(0);
  if (c != '{' && c != '[') {
    log_->Add(ProblemKind::kDropped, "trailing-garbage", Here());
    window_.Consume(TokenAt(0) + 1, window_.token() + 1);
    return Step::kOn;
  }
  if (mode_ == Mode::kAfter && saw_events_) {
    const std::optional<bool> event = EventBegins(0);
    if (!event) return Step::kNeedBytes;
    if (*event) return GoOnWithEvents(0);
  }
  if (mode_ == Mode::kAfter) log_->Add(ProblemKind::kRepaired, "second-document", Here());
  outer_list_ = c == '[';
  mode_ = outer_list_ ? Mode::kEvents : Mode::kMembers;
  EndElement(TokenAt(0) + 1, 1);
  elements_ = 0;
  return Step::kOn;
}

// ---- Members of the outer object.

DocumentWalker::Step DocumentWalker::StepMembers() {
  if (!ScanGap()) return Step::kNeedBytes;
  if (CharAt(0) == '}') {
    mode_ = Mode::kAfter;
    EndElement(TokenAt(0) + 1, 1);
    return Step::kOn;
  }
  if (CharAt(0) == '{' && saw_events_) return GoOnWithEvents(0);
  if (CharAt(0) != '"') return StartRecovery();
  if (!HasTokens(2) || TokenAt(1) + 1 - window_.begin() > options_.longest_element) {
    StartFraming();
    return Step::kOn;
  }
  return StepValue();
}

// Behind a key. How far the text is known depends on the chunks, so what is too long is judged by its place.
DocumentWalker::Step DocumentWalker::StepValue() {
  const char* text = window_.text();
  const size_t limit = window_.limit();
  const size_t longest = window_.begin() + options_.longest_element;
  const auto place = [&](const char* p) { return std::min(static_cast<size_t>(p - text), limit); };
  const size_t colon = place(TokenCursor::SkipSpace(text + TokenAt(1) + 1));
  if (colon > longest || (colon < limit && text[colon] != ':')) return StartRecovery();
  if (colon == limit) return Step::kNeedBytes;
  const size_t value = place(TokenCursor::SkipSpace(text + colon + 1));
  if (value > longest) return StartRecovery();
  if (value == limit) return Step::kNeedBytes;
  const char first = text[value];
  const std::string_view key(text + TokenAt(0) + 1, TokenAt(1) - TokenAt(0) - 1);
  if (first == '[' && key == kEventsKey) {
    saw_events_ = true;
    mode_ = Mode::kEvents;
    EndElement(TokenAt(2) + 1, 3);
    elements_ = 0;
    return Step::kOn;
  }
  if (first == '"' || first == '{' || first == '[') {
    StartFraming();
    framed_ = 2;
    return Step::kOn;
  }
  const size_t end = place(TokenCursor::ScalarEnd(text + value));
  if (end > longest) return StartRecovery();
  if (end == limit && !finishing_) return Step::kNeedBytes;
  return DeliverMember(end, 2);
}

DocumentWalker::Step DocumentWalker::DeliverMember(size_t end, size_t tokens) {
  const char* text = window_.text();
  const std::string_view key(text + TokenAt(0) + 1, TokenAt(1) - TokenAt(0) - 1);
  const char* value = TokenCursor::SkipSpace(TokenCursor::SkipSpace(text + TokenAt(1) + 1) + 1);
  const auto begin = static_cast<size_t>(value - text);
  if (begin < end) sink_->OnMember(key, {value, end - begin}, window_.Offset(begin));
  EndElement(end, tokens);
  return Step::kOn;
}

// ---- Elements of the list of events.

DocumentWalker::Step DocumentWalker::StepEvents() {
  if (!ScanGap()) return Step::kNeedBytes;
  if (CharAt(0) == '{') return StepEvent();
  return StepNoEvent();
}

DocumentWalker::Step DocumentWalker::StepEvent() {
  if (commas_ != 1 || garbage_) [[unlikely]]
    ReportGap(true);
  commas_ = 1;
  garbage_ = false;
  if (window_.limit() - window_.begin() > options_.longest_element) [[unlikely]] {
    StartFraming();  // so much is at hand only behind damage: the event may be longer than allowed
    return Step::kOn;
  }
  TokenCursor cursor = Cursor();
  switch (sink_->OnEvent(cursor, Here(), window_.HasOdd() ? &window_ : nullptr)) {
    case Outcome::kDone: {
      const auto used = static_cast<size_t>(cursor.token - window_.tokens()) - window_.token();
      EndElement(TokenAt(used - 1) + 1, used);
      return Step::kOn;
    }
    case Outcome::kIncomplete: StartFraming(); return ContinueFraming();
    case Outcome::kOdd: break;
  }
  return StartRecovery();
}

DocumentWalker::Step DocumentWalker::StepNoEvent() {
  const char c = CharAt(0);
  if (outer_list_ && elements_ == 0 && (c != ']' || garbage_)) {
    no_events_ = true;
    return Step::kNeedBytes;
  }
  if (c == ']') {
    ReportGap(false);
    mode_ = outer_list_ ? Mode::kAfter : Mode::kMembers;
    saw_events_ = true;
    EndElement(TokenAt(0) + 1, 1);
    return Step::kOn;
  }
  if (c == '}') {
    log_->Add(ProblemKind::kRepaired, "stray-brace", Here());
    window_.Consume(TokenAt(0) + 1, window_.token() + 1);
    return Step::kOn;
  }
  if (c == '"') return StepString();
  const std::optional<bool> event = EventBegins(1);
  if (!event) return Step::kNeedBytes;
  if (*event) return GoOnWithEvents(1);
  StartFraming();  // a list: dropped when its end is known
  return Step::kOn;
}

// A string among events is one only if a comma or the end of the list follows; otherwise the quotes in front of it
// lied.
DocumentWalker::Step DocumentWalker::StepString() {
  const size_t known = HasTokens(3) ? TokenAt(2) : window_.limit();
  if (known - window_.begin() > options_.longest_element) return StartRecovery();
  if (!HasTokens(3)) return finishing_ ? StartRecovery() : Step::kNeedBytes;
  const size_t end = TokenAt(1) + 1;
  const char* next = TokenCursor::SkipSpace(window_.text() + end);
  if (*next != ',' && *next != ']') return StartRecovery();
  log_->Add(ProblemKind::kDropped, "non-object-event", Here(), Head(end));
  EndElement(end, 2);
  return Step::kOn;
}

void DocumentWalker::EndElement(size_t end, size_t tokens) {
  window_.Consume(end, window_.token() + tokens);
  pending_ = Pending::kNone;
  ++elements_;
  commas_ = 0;
  garbage_ = false;
}

// ---- Elements whose end is not there yet.

void DocumentWalker::StartFraming() {
  pending_ = Pending::kFraming;
  frame_end_ = 0;
  framed_ = 0;
  depth_ = 0;
  in_string_ = false;
  next_check_ = kFirstCheck;
}

bool DocumentWalker::FindFrameEnd() {
  while (HasTokens(framed_ + 1)) {
    const char c = CharAt(framed_);
    const size_t end = TokenAt(framed_++) + 1;
    if (c == '"') {
      in_string_ = !in_string_;
    } else {
      depth_ += c == '{' || c == '[' ? 1 : -1;
    }
    if (!in_string_ && depth_ <= 0) {
      frame_end_ = end;
      return true;
    }
  }
  return false;
}

// Whether the element of which a part is at hand is damaged in that part. `cursor` stands on its first token.
bool DocumentWalker::IsOdd(TokenCursor cursor) {
  if (mode_ == Mode::kEvents && CharAt(0) == '{') return sink_->OnEvent(cursor, Here(), nullptr) == Outcome::kOdd;
  const size_t first = mode_ == Mode::kMembers ? 2 : 0;
  if (framed_ <= first || CharAt(first) == '"') return false;
  const char* after = nullptr;
  cursor.token += first;
  return cursor.SkipContainer(&after) == Outcome::kOdd;
}

DocumentWalker::Step DocumentWalker::ContinueFraming() {
  if (FindFrameEnd()) return DeliverFramed();
  const size_t length = window_.limit() - window_.begin();
  if (length > options_.longest_element) return GiveUpLong();
  if (length < next_check_) return Step::kNeedBytes;
  next_check_ *= 2;
  return IsOdd(Cursor()) ? StartRecovery() : Step::kNeedBytes;
}

// The element is longer than allowed. Whether it is damaged is judged by exactly as much of it as is allowed: how much
// more is at hand depends on the chunks.
DocumentWalker::Step DocumentWalker::GiveUpLong() {
  const IndexedText allowed(Held().substr(0, options_.longest_element));
  if (IsOdd(allowed.Cursor())) return StartRecovery();
  StartSkipping();
  if (mode_ == Mode::kMembers && frame_end_ > 0) EndElement(frame_end_, framed_);
  return Step::kOn;
}

DocumentWalker::Step DocumentWalker::DeliverFramed() {
  if (frame_end_ - window_.begin() > options_.longest_element) return GiveUpLong();
  const bool is_member = mode_ == Mode::kMembers;
  if (is_member && framed_ <= 2) {  // only the key: now read on from it
    pending_ = Pending::kNone;
    return Step::kOn;
  }
  const bool is_event = !is_member && CharAt(0) == '{';
  if (!is_event && IsOdd(Cursor())) return StartRecovery();
  if (is_member) return DeliverMember(frame_end_, framed_);
  if (!is_event) {
    log_->Add(ProblemKind::kDropped, "non-object-event", Here(), Head(frame_end_));
    EndElement(frame_end_, framed_);
    return Step::kOn;
  }
  TokenCursor cursor = Cursor();
  if (sink_->OnEvent(cursor, Here(), window_.HasOdd() ? &window_ : nullptr) != Outcome::kDone) return StartRecovery();
  const auto used = static_cast<size_t>(cursor.token - window_.tokens()) - window_.token();
  EndElement(TokenAt(used - 1) + 1, used);
  return Step::kOn;
}

}  // namespace headway::trace::kineto
