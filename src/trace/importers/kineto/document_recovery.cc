// SPDX-License-Identifier: Apache-2.0
// The part of the DocumentWalker that deals with damage: elements that are not well-formed, too long, or cut off.
#include <algorithm>
#include <utility>

#include "trace/importers/kineto/document_walker.h"
#include "trace/importers/kineto/indexed_text.h"

namespace headway::trace::kineto {

DocumentWalker::Step DocumentWalker::StartRecovery() {
  pending_ = Pending::kRecovering;
  if (mode_ == Mode::kMembers) {
    const bool has_key = CharAt(0) == '"' && HasTokens(2);
    log_->Add(ProblemKind::kDropped, "metadata-unparsable", Here(), has_key ? Head(TokenAt(1) + 1) : "");
  } else {
    boundary_ = BoundaryScan(Here() + 1);
  }
  return Step::kOn;
}

DocumentWalker::Step DocumentWalker::ContinueRecovery() {
  if (mode_ == Mode::kMembers) return RecoverMembers();
  const int64_t begin = Here();
  const auto from = static_cast<size_t>(boundary_.offset() - begin);
  const std::string_view held = Held().substr(0, window_.limit() - window_.begin());
  const bool found = from < held.size() && boundary_.Feed(held.substr(from));
  const auto length = static_cast<size_t>((found ? boundary_.brace() : boundary_.earliest_brace()) + 1 - begin);
  if (length > options_.longest_element) {
    StartSkipping();
    return Step::kOn;
  }
  if (!found) return Step::kNeedBytes;
  if (HoldsObject()) {
    const std::string damaged(held.substr(0, length));
    DeliverRepaired(RepairJson(damaged), damaged);
  } else {
    log_->Add(ProblemKind::kDropped, "garbage-between-events", Here(), Head(window_.begin() + length));
  }
  Reindex(window_.begin() + length);
  return Step::kOn;
}

// Whether an event begins with the brace at that token, in front of which nothing stands but token 0. nullopt = not
// known yet.
std::optional<bool> DocumentWalker::EventBegins(size_t brace) const {
  constexpr size_t kLongest = 256;  // to the end of its first key, white space included
  const bool known = HasTokens(brace + 3);
  if ((known ? TokenAt(brace + 2) : window_.limit()) - window_.begin() > kLongest) return false;
  if (!known) return finishing_ ? std::optional(false) : std::nullopt;
  if (CharAt(brace) != '{' || CharAt(brace + 1) != '"') return false;
  const char* text = window_.text();
  if (brace > 0 && TokenCursor::SkipSpace(text + TokenAt(0) + 1) != text + TokenAt(brace)) return false;
  return IsEventKey({text + TokenAt(brace + 1) + 1, TokenAt(brace + 2) - TokenAt(brace + 1) - 1});
}

// A bracket among the events, where a comma should be, say: it neither ends their list nor begins another one.
DocumentWalker::Step DocumentWalker::GoOnWithEvents(size_t dropped) {
  log_->Add(ProblemKind::kRepaired, "stray-bracket", Here());
  if (dropped > 0) window_.Consume(TokenAt(dropped - 1) + 1, window_.token() + dropped);
  mode_ = Mode::kEvents;
  elements_ = std::max<int64_t>(elements_, 1);
  commas_ = std::max(commas_, 1);
  return Step::kOn;
}

// The outer object is damaged: what matters in it is where the events begin. Nothing before that is kept.
DocumentWalker::Step DocumentWalker::RecoverMembers() {
  const size_t longest = std::min<size_t>(256, options_.longest_element);  // from the key to the bracket
  static const std::string key = '"' + std::string(kEventsKey) + '"';
  const std::string_view held = Held().substr(0, window_.limit() - window_.begin());
  const auto behind_space = [&](size_t from) { return std::min(held.find_first_not_of(" \t\r\n", from), held.size()); };
  size_t at = held.find(key);
  for (; at != std::string_view::npos; at = held.find(key, at + 1)) {
    const size_t colon = behind_space(at + key.size());
    const size_t list = colon < held.size() && held[colon] == ':' ? behind_space(colon + 1) : colon;
    if (list - at > longest) continue;
    if (list == held.size()) break;  // not known yet
    if (list > colon && held[list] == '[') {
      Reindex(window_.begin() + at);
      return Step::kOn;
    }
  }
  // The key may have begun at the end of what is at hand.
  if (at == std::string_view::npos) at = held.size() - std::min(held.size(), key.size());
  window_.Consume(window_.begin() + at, window_.token_count());
  return Step::kNeedBytes;
}

void DocumentWalker::StartSkipping() {
  log_->Add(ProblemKind::kDropped, mode_ == Mode::kMembers ? "metadata-too-long" : "event-too-long", Here(),
            Head(window_.end()));
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
  // It may have been found before: in the text that made the element too long.
  if (boundary_.found() || (from < held.size() && boundary_.Feed(held.substr(from)))) {
    Reindex(window_.begin() + static_cast<size_t>(boundary_.brace() + 1 - Here()));
    return Step::kOn;
  }
  window_.Consume(window_.begin() + static_cast<size_t>(boundary_.earliest_brace() - Here()), window_.token_count());
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
    log_->Add(ProblemKind::kDropped, "unparsable-event", Here(), damaged.substr(0, kExample));
    return;
  }
  const std::pair<bool, std::string_view> done[] = {{repair.unescaped_quote, "unescaped-quote"},
                                                    {repair.missing_quote, "missing-quote"},
                                                    {repair.bad_escape, "bad-escape"},
                                                    {repair.control, "control-character"},
                                                    {repair.nan, "nan-literal"},
                                                    {repair.bad_literal, "bad-literal"},
                                                    {repair.trailing_comma, "trailing-comma"},
                                                    {repair.missing_comma, "missing-comma"},
                                                    {!repair.complete, "unclosed-event"}};
  for (const auto& [seen, name] : done) {
    if (seen) log_->Add(ProblemKind::kRepaired, name, Here(), damaged.substr(0, kExample));
  }
}

// ---- The end of the input.

DocumentWalker::Step DocumentWalker::FinishPending() {
  switch (pending_) {
    case Pending::kFraming: return FinishFraming();
    case Pending::kRecovering: {
      if (mode_ == Mode::kMembers) return DropRest({});
      if (!HoldsObject()) return DropRest("garbage-between-events");
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
  // A member that swallowed the events was damaged, not cut off.
  const bool swallowed =
      mode_ == Mode::kMembers && Held().find(kEventsKey, 1 + kEventsKey.size()) != std::string_view::npos;
  return swallowed || IsOdd(Cursor()) ? StartRecovery() : DropRest("truncated-tail");
}

DocumentWalker::Step DocumentWalker::DropRest(std::string_view problem) {
  if (!problem.empty()) log_->Add(ProblemKind::kDropped, problem, Here(), Head(window_.end()));
  window_.Consume(window_.end(), window_.token_count());
  pending_ = Pending::kNone;
  mode_ = Mode::kAfter;
  return Step::kNeedBytes;
}

}  // namespace headway::trace::kineto
