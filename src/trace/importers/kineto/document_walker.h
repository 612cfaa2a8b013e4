// SPDX-License-Identifier: Apache-2.0
// Finds the elements of a trace file in a stream of chunks: the members of the outer object, and the events of its
// traceEvents list (or of an outer list). Holds one element at a time; comes back after damaged ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/import_log.h"
#include "trace/importers/kineto/boundary_scan.h"
#include "trace/importers/kineto/json_repair.h"
#include "trace/importers/kineto/token_cursor.h"
#include "trace/importers/kineto/token_window.h"

namespace headway::trace::kineto {

class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  // `cursor` stands on the event's opening brace, whose place in the stream is `offset`. On kDone the cursor must stand
  // behind the event; on anything else nothing may have happened yet. `odd`: where to ask for raw control characters
  // and bytes outside ASCII; nullptr = there are none.
  virtual Outcome OnEvent(TokenCursor& cursor, int64_t offset, const TokenWindow* odd) = 0;
  // A member of the outer object other than traceEvents; `value` is its text.
  virtual void OnMember(std::string_view key, std::string_view value, int64_t offset) = 0;
};

struct WalkerOptions {
  size_t slice = size_t{256} << 10;           // bytes indexed at once
  size_t longest_element = size_t{16} << 20;  // longer events and members are skipped
};

class DocumentWalker {
 public:
  DocumentWalker(DocumentSink* sink, ImportLog* log, const WalkerOptions& options, ScanFunction scan);

  // Fails where the text is no trace at all; then nothing more should be fed.
  Result<void> Feed(std::string_view bytes);
  Result<void> Finish();

  // A list of events began. One without a key around it has to hold an element, as other JSON begins with a bracket,
  // too; its end may be missing.
  [[nodiscard]] bool saw_events() const { return saw_events_ || (outer_list_ && elements_ > 0); }

 private:
  enum class Mode : uint8_t { kStart, kMembers, kEvents, kAfter };
  enum class Pending : uint8_t {
    kNone,
    kFraming,     // waiting for the end of the element at window_.begin()
    kRecovering,  // the element there is damaged: looking for the next one
    kSkipping,    // too long: its bytes are dropped as they come
  };
  // What one step of the walk came to.
  enum class Step : uint8_t { kOn, kNeedBytes };

  [[nodiscard]] Result<void> Sniff(std::string_view bytes);
  [[nodiscard]] Result<void> Walk();
  Step StepAny();
  Step StepOutside();
  Step StepMembers();
  Step StepValue();
  Step StepEvents();
  Step StepEvent();
  Step StepNoEvent();
  Step StepString();
  [[nodiscard]] std::optional<bool> EventBegins(size_t brace) const;
  Step GoOnWithEvents(size_t dropped);
  Step ContinueFraming();
  Step ContinueRecovery();
  Step RecoverMembers();
  Step ContinueSkipping();
  Step FinishPending();
  Step FinishFraming();

  bool ScanGap();
  void ReportGap(bool before_event);
  void StartFraming();
  bool FindFrameEnd();
  bool IsOdd(TokenCursor cursor);
  Step GiveUpLong();
  Step DeliverFramed();
  Step DeliverMember(size_t end, size_t tokens);
  Step StartRecovery();
  void StartSkipping();
  void EndElement(size_t end, size_t tokens);
  void Reindex(size_t position);
  void DeliverRepaired(const Repair& repair, std::string_view damaged);
  Step DropRest(std::string_view problem);

  [[nodiscard]] TokenCursor Cursor() const;
  [[nodiscard]] bool HasTokens(size_t count) const { return window_.token() + count <= window_.token_count(); }
  [[nodiscard]] size_t TokenAt(size_t index) const { return window_.tokens()[window_.token() + index]; }
  [[nodiscard]] char CharAt(size_t index) const { return window_.text()[TokenAt(index)]; }
  [[nodiscard]] int64_t Here() const { return window_.Offset(window_.begin()); }
  [[nodiscard]] std::string_view Held() const {
    return {window_.text() + window_.begin(), window_.end() - window_.begin()};
  }
  static constexpr size_t kExample = 160;
  static constexpr std::string_view kEventsKey = "traceEvents";
  // The beginning of the element, which ends at position `end`.
  [[nodiscard]] std::string_view Head(size_t end) const {
    return Held().substr(0, std::min(kExample, end - window_.begin()));
  }
  // True for an event; false for what stands where one should.
  [[nodiscard]] bool HoldsObject() const { return Held().starts_with('{'); }

  DocumentSink* sink_;
  ImportLog* log_;
  WalkerOptions options_;
  TokenWindow window_;
  Mode mode_ = Mode::kStart;
  Pending pending_ = Pending::kNone;
  int64_t sniffed_ = 0;
  bool begun_ = false;
  bool finishing_ = false;
  bool saw_events_ = false;
  bool outer_list_ = false;
  bool no_events_ = false;  // an outer list whose first element is no object
  int64_t elements_ = 0;    // of the current list
  // Text since the last element.
  int commas_ = 0;
  bool garbage_ = false;
  // Framing: tokens looked at, counted from window_.token(), and where that has led.
  size_t framed_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  size_t frame_end_ = 0;  // position behind the element, once known; 0 = not yet
  size_t next_check_ = 0;
  // Recovery and skipping among events: what boundary_ has not looked at yet starts at its offset().
  BoundaryScan boundary_;
};

}  // namespace headway::trace::kineto
