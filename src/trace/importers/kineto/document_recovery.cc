// SPDX-License-Identifier: Apache-2.0
// The part of the DocumentWalker that deals with damage: elements that are not well-formed, too long, or cut off.
#include <algorithm>
#include <utility>

#include "trace/importers/kineto/document_walker.h"
#include "trace/importers/kineto/indexed_text.h"

namespace headway::trace::kineto {

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
      log_->Add(ProblemKind::kDropped, "metadata-unparsable", Here(), Head(window_.end()));
      Reindex(window_.begin() + at);
      return Step::kOn;
    }
    from = at + 1;
  }
  const size_t keep = std::min(held.size(), pattern.size());
  from = std::max(from, held.size() - keep);
  if (from > options_.longest_element) {
    log_->Add(ProblemKind::kDropped, "metadata-unparsable", Here(), Head(window_.end()));
    window_.Consume(window_.begin() + from, window_.token_count());
    from = 0;
  }
  boundary_ = BoundaryScan(Here() + static_cast<int64_t>(from));
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
  if (from < held.size() && boundary_.Feed(held.substr(from))) {
    const int64_t behind = boundary_.brace() + 1 - Here();
    Reindex(static_cast<size_t>(static_cast<int64_t>(window_.begin()) + behind));
    return Step::kOn;
  }
  const int64_t done = boundary_.earliest_brace() - Here();
  window_.Consume(static_cast<size_t>(static_cast<int64_t>(window_.begin()) + done), window_.token_count());
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
      if (mode_ == Mode::kMembers) return DropRest("metadata-unparsable");
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
