// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/document_walker.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "trace/importers/kineto/indexed_text.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kFirstCheck = size_t{64} << 10;  // a longer element is looked at for damage before its end is known
constexpr std::string_view kEventsKey = "traceEvents";

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

std::string_view Head(std::string_view text) { return text.substr(0, 160); }

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
  if (CharAt(0) != '"') return StartRecovery();
  if (!HasTokens(2)) {
    StartFraming();
    return Step::kNeedBytes;
  }
  const char* text = window_.text();
  const char* limit = text + window_.limit();
  const std::string_view key(text + TokenAt(0) + 1, TokenAt(1) - TokenAt(0) - 1);
  const char* colon = TokenCursor::SkipSpace(text + TokenAt(1) + 1);
  if (colon >= limit) return Step::kNeedBytes;
  if (*colon != ':') return StartRecovery();
  const char* value = TokenCursor::SkipSpace(colon + 1);
  if (value >= limit) return Step::kNeedBytes;
  if (*value == '[' && key == kEventsKey) {
    saw_events_ = true;
    mode_ = Mode::kEvents;
    EndElement(TokenAt(2) + 1, 3);
    elements_ = 0;
    return Step::kOn;
  }
  if (*value == '"' || *value == '{' || *value == '[') {
    StartFraming();
    framed_ = 2;
    return Step::kOn;
  }
  const char* end = TokenCursor::ScalarEnd(value);
  if (end >= limit && !finishing_) {
    if (window_.limit() - window_.begin() > options_.longest_element) return StartRecovery();
    return Step::kNeedBytes;
  }
  return DeliverMember(static_cast<size_t>(end - text), 2);
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
  if (commas_ != 1 || garbage_) [[unlikely]] ReportGap(true);
  commas_ = 1;
  garbage_ = false;
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
  StartFraming();  // a string or a list: dropped when its end is known
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

DocumentWalker::Step DocumentWalker::ContinueFraming() {
  const bool is_event = mode_ == Mode::kEvents && CharAt(0) == '{';
  if (FindFrameEnd()) return DeliverFramed();
  const size_t length = window_.limit() - window_.begin();
  const bool too_long = length > options_.longest_element;
  if (length >= next_check_ || too_long) {
    next_check_ *= 2;
    TokenCursor cursor = Cursor();
    const char* after = nullptr;
    Outcome outcome = Outcome::kIncomplete;
    if (is_event) {
      outcome = sink_->OnEvent(cursor, Here(), window_.HasOdd() ? &window_ : nullptr);
    } else if (const size_t first = mode_ == Mode::kMembers ? 2 : 0; framed_ > first && CharAt(first) != '"') {
      cursor.token += first;
      outcome = cursor.SkipContainer(&after);
    }
    if (outcome == Outcome::kOdd) return StartRecovery();
    if (too_long) {
      StartSkipping();
      return Step::kOn;
    }
  }
  return Step::kNeedBytes;
}

DocumentWalker::Step DocumentWalker::DeliverFramed() {
  if (mode_ == Mode::kMembers && framed_ <= 2) {  // only the key: now read on from it
    pending_ = Pending::kNone;
    return Step::kOn;
  }
  if (frame_end_ - window_.begin() > options_.longest_element) {
    log_->Add(ProblemKind::kDropped, mode_ == Mode::kMembers ? "metadata-too-long" : "event-too-long", Here(),
              Head(Held()));
    EndElement(frame_end_, framed_);
    return Step::kOn;
  }
  if (mode_ == Mode::kMembers) return DeliverMember(frame_end_, framed_);
  if (CharAt(0) != '{') {
    log_->Add(ProblemKind::kDropped, "non-object-event", Here(), Head(Held()));
    EndElement(frame_end_, framed_);
    return Step::kOn;
  }
  TokenCursor cursor = Cursor();
  if (sink_->OnEvent(cursor, Here(), window_.HasOdd() ? &window_ : nullptr) != Outcome::kDone) return StartRecovery();
  const auto used = static_cast<size_t>(cursor.token - window_.tokens()) - window_.token();
  EndElement(TokenAt(used - 1) + 1, used);
  return Step::kOn;
}

// ---- Damaged elements.

DocumentWalker::Step DocumentWalker::StartRecovery() {
  pending_ = Pending::kRecovering;
  boundary_ = BoundaryScan(Here() + (mode_ == Mode::kMembers ? 0 : 1));
  return Step::kOn;
}

DocumentWalker::Step DocumentWalker::ContinueRecovery() {
  if (mode_ == Mode::kMembers) return RecoverMembers();
  const int64_t begin = Here();
  const auto from = static_cast<size_t>(boundary_.offset() - begin);
  const std::string_view held = Held().substr(0, window_.limit() - window_.begin());
  const bool found = from < held.size() && boundary_.Feed(held.substr(from));
  const auto length = static_cast<size_t>(found ? boundary_.brace() + 1 - begin : boundary_.offset() - begin);
  if (length > options_.longest_element) {
    StartSkipping();
    return Step::kOn;
  }
  if (!found) return Step::kNeedBytes;
  const std::string damaged(held.substr(0, length));
  DeliverRepaired(RepairJson(damaged), damaged);
  Reindex(window_.begin() + length);
  return Step::kOn;
}

// The outer object is damaged: what matters in it is where the events begin.
DocumentWalker::Step DocumentWalker::RecoverMembers() {
  static const std::string pattern = '"' + std::string(kEventsKey) + '"';
  const std::string_view held = Held().substr(0, window_.limit() - window_.begin());
  size_t from = static_cast<size_t>(boundary_.offset() - Here());
  for (;;) {
    const size_t at = held.find(pattern, from);
    if (at == std::string_view::npos) break;
    const size_t colon = held.find_first_not_of(" \t\r\n", at + pattern.size());
    const size_t list = colon == std::string_view::npos ? colon : held.find_first_not_of(" \t\r\n", colon + 1);
    if (list == std::string_view::npos) {  // not known yet
      boundary_ = BoundaryScan(Here() + static_cast<int64_t>(at));
      return Step::kNeedBytes;
    }
    if (held[colon] == ':' && held[list] == '[') {
      log_->Add(ProblemKind::kDropped, "metadata-unparsable", Here(), Head(held));
      Reindex(window_.begin() + at);
      return Step::kOn;
    }
    from = at + 1;
  }
  const size_t keep = std::min(held.size(), pattern.size());
  from = std::max(from, held.size() - keep);
  if (from > options_.longest_element) {
    log_->Add(ProblemKind::kDropped, "metadata-unparsable", Here(), Head(held));
    window_.Consume(window_.begin() + from, window_.token_count());
    from = 0;
  }
  boundary_ = BoundaryScan(Here() + static_cast<int64_t>(from));
  return Step::kNeedBytes;
}

void DocumentWalker::StartSkipping() {
  log_->Add(ProblemKind::kDropped, mode_ == Mode::kMembers ? "metadata-too-long" : "event-too-long", Here(),
            Head(Held()));
  if (mode_ == Mode::kEvents && pending_ == Pending::kFraming) boundary_ = BoundaryScan(Here() + 1);
  pending_ = Pending::kSkipping;
}

DocumentWalker::Step DocumentWalker::ContinueSkipping() {
  if (mode_ == Mode::kMembers) {  // its quotes are in order: skip by nesting
    if (FindFrameEnd()) {
      EndElement(frame_end_, framed_);
      return Step::kOn;
    }
    window_.Consume(window_.limit(), window_.token_count());
    framed_ = 0;
    return Step::kNeedBytes;
  }
  const auto from = static_cast<size_t>(boundary_.offset() - Here());
  const std::string_view held = Held().substr(0, window_.limit() - window_.begin());
  if (from < held.size() && boundary_.Feed(held.substr(from))) {
    const int64_t behind = boundary_.brace() + 1 - Here();
    Reindex(static_cast<size_t>(static_cast<int64_t>(window_.begin()) + behind));
    return Step::kOn;
  }
  // Everything up to the last brace is done with; what may be the beginning of a boundary is kept.
  const int64_t keep_from = std::max(boundary_.brace(), boundary_.offset() - static_cast<int64_t>(options_.slice));
  if (keep_from > Here()) {
    const auto position = static_cast<size_t>(static_cast<int64_t>(window_.begin()) + keep_from - Here());
    window_.Consume(position, window_.token_count());
  }
  return Step::kNeedBytes;
}

void DocumentWalker::Reindex(size_t position) {
  window_.Restart(position);
  if (finishing_) window_.FillEnd();
  pending_ = Pending::kNone;
  ++elements_;
  commas_ = 0;
  garbage_ = false;
}

void DocumentWalker::DeliverRepaired(const Repair& repair, std::string_view damaged) {
  const IndexedText text(repair.json);
  TokenCursor cursor = text.Cursor();
  if (sink_->OnEvent(cursor, Here(), nullptr) != Outcome::kDone) {
    log_->Add(ProblemKind::kDropped, "unparsable-event", Here(), Head(damaged));
    return;
  }
  const std::pair<bool, std::string_view> done[] = {
      {repair.unescaped_quote, "unescaped-quote"}, {repair.missing_quote, "missing-quote"},
      {repair.bad_escape, "bad-escape"},           {repair.control, "control-character"},
      {repair.nan, "nan-literal"},                 {repair.bad_literal, "bad-literal"},
      {repair.trailing_comma, "trailing-comma"},   {repair.missing_comma, "missing-comma"},
      {!repair.complete, "unclosed-event"}};
  for (const auto& [seen, name] : done) {
    if (seen) log_->Add(ProblemKind::kRepaired, name, Here(), Head(damaged));
  }
}

// ---- The end of the input.

DocumentWalker::Step DocumentWalker::FinishPending() {
  switch (pending_) {
    case Pending::kFraming: return FinishFraming();
    case Pending::kRecovering: {
      if (mode_ == Mode::kMembers) return DropRest("metadata-unparsable");
      const std::string damaged(Held());
      const Repair repair = RepairJson(damaged);
      if (!repair.complete) return DropRest("truncated-tail");
      DeliverRepaired(repair, damaged);
      Reindex(window_.begin() + repair.consumed);
      return Step::kOn;
    }
    case Pending::kSkipping: return DropRest({});
    case Pending::kNone: break;
  }
  if (HasTokens(1) && mode_ == Mode::kMembers) return DropRest("truncated-tail");
  if (mode_ == Mode::kEvents || mode_ == Mode::kMembers) {
    log_->Add(ProblemKind::kNote, "missing-end", Here());
    mode_ = Mode::kAfter;
  }
  return Step::kNeedBytes;
}

DocumentWalker::Step DocumentWalker::FinishFraming() {
  if (mode_ == Mode::kEvents && CharAt(0) == '{') {
    TokenCursor cursor = Cursor();
    if (sink_->OnEvent(cursor, Here(), window_.HasOdd() ? &window_ : nullptr) == Outcome::kOdd) return StartRecovery();
  }
  return DropRest("truncated-tail");
}

DocumentWalker::Step DocumentWalker::DropRest(std::string_view problem) {
  if (!problem.empty()) log_->Add(ProblemKind::kDropped, problem, Here(), Head(Held()));
  window_.Consume(window_.end(), window_.token_count());
  pending_ = Pending::kNone;
  mode_ = Mode::kAfter;
  return Step::kNeedBytes;
}

}  // namespace headway::trace::kineto
