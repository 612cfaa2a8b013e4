// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/open_spans.h"

#include <algorithm>
#include <iterator>

namespace headway::trace::kineto {

OpenSpans::Thread OpenSpans::ThreadOf(const IdField& pid, const IdField& tid) {
  static constexpr size_t kLongestText = 256;
  Thread thread;
  const auto fill = [](const IdField& id, int64_t* number, std::string* text) {
    if (id.form != FieldForm::kGood) {
      *text = "?";
    } else if (id.is_text) {
      *text = id.text.substr(0, kLongestText);
    } else {
      *number = id.number;
    }
  };
  fill(pid, &thread.pid, &thread.pid_text);
  fill(tid, &thread.tid, &thread.tid_text);
  return thread;
}

bool OpenSpans::Begin(const IdField& pid, const IdField& tid, const Span& span) {
  if (count_ >= kMost) return false;
  open_[ThreadOf(pid, tid)].push_back(span);
  ++count_;
  return true;
}

std::optional<OpenSpans::Span> OpenSpans::End(const IdField& pid, const IdField& tid, uint64_t name,
                                              std::vector<Span>* unmatched) {
  const auto thread = open_.find(ThreadOf(pid, tid));
  if (thread == open_.end()) return std::nullopt;
  std::vector<Span>& spans = thread->second;
  size_t at = spans.size() - 1;
  const size_t deepest = spans.size() > kDeepest ? spans.size() - kDeepest : 0;
  while (name != 0 && spans[at].name != name) {
    if (at == deepest) return std::nullopt;
    --at;
  }
  const Span ended = spans[at];
  unmatched->insert(unmatched->end(), spans.begin() + static_cast<std::ptrdiff_t>(at) + 1, spans.end());
  count_ -= spans.size() - at;
  spans.resize(at);
  if (spans.empty()) open_.erase(thread);
  return ended;
}

std::vector<OpenSpans::Span> OpenSpans::TakeAll() {
  std::vector<Span> all;
  for (const auto& [thread, spans] : open_) all.insert(all.end(), spans.begin(), spans.end());
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.offset < b.offset; });
  open_.clear();
  count_ = 0;
  return all;
}

}  // namespace headway::trace::kineto
