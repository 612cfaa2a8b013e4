// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/boundary_scan.h"

#include <algorithm>
#include <array>

#include "trace/importers/kineto/number_text.h"

namespace headway::trace::kineto {
namespace {

constexpr std::array<std::string_view, 9> kEventKeys = {"ph", "cat", "name", "pid", "tid", "ts", "id", "s", "dur"};
// Keys that follow the list of events.
constexpr std::array<std::string_view, 11> kListKeys = {"traceName",
                                                        "displayTimeUnit",
                                                        "baseTimeNanoseconds",
                                                        "distributedInfo",
                                                        "schemaVersion",
                                                        "deviceProperties",
                                                        "trace_id",
                                                        "host_name",
                                                        "INFO",
                                                        "WARNING",
                                                        "ERROR"};
constexpr size_t kLongestKey = 24;
constexpr int64_t kLongestBoundary = 256;  // from the brace to the colon, white space included

template <size_t kSize>
bool Contains(const std::array<std::string_view, kSize>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

bool IsEventKey(std::string_view key) { return Contains(kEventKeys, key); }

bool BoundaryScan::Feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (found_) return true;
    Step(c);
    ++offset_;
  }
  return found_;
}

void BoundaryScan::Step(char c) {
  if (c == '}') {
    state_ = State::kBrace;
    brace_ = offset_;
    return;
  }
  if (state_ != State::kText && offset_ - brace_ > kLongestBoundary) state_ = State::kText;
  const bool in_key = state_ == State::kEventKey || state_ == State::kListKey;
  if (!in_key && IsSpace(c)) return;
  State next = State::kText;
  switch (state_) {
    case State::kText: break;
    case State::kBrace:
      if (c == ',') next = State::kComma;
      if (c == ']') next = State::kBracket;
      break;
    case State::kComma:
      if (c == '{') next = State::kOpen;
      break;
    case State::kOpen:
    case State::kListComma:
      if (c == '"') next = state_ == State::kOpen ? State::kEventKey : State::kListKey;
      key_.clear();
      break;
    case State::kEventKey:
      if (c == '"') {
        if (IsEventKey(key_)) next = State::kEventColon;
      } else if (key_.size() < kLongestKey) {
        key_ += c;
        next = State::kEventKey;
      }
      break;
    case State::kBracket:
      if (c == ',') next = State::kListComma;
      break;
    case State::kListKey:
      if (c == '"') {
        if (Contains(kListKeys, key_)) next = State::kListColon;
      } else if (key_.size() < kLongestKey) {
        key_ += c;
        next = State::kListKey;
      }
      break;
    case State::kEventColon:
    case State::kListColon: found_ = c == ':'; break;
  }
  state_ = next;
}

}  // namespace headway::trace::kineto
