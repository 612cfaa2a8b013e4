// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/lane_table.h"

#include <limits>

#include "trace/importers/kineto/fast_hash.h"
#include "trace/importers/kineto/json_string.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kMostLanes = std::numeric_limits<LaneId>::max();
constexpr size_t kMostThreadNames = 65536;
constexpr size_t kMostTexts = 65536;
constexpr size_t kLongestText = 256;

// "stream 7 " -> 7, "GPU 0" -> 0: the number at the end.
bool TrailingNumber(std::string_view text, int64_t* number) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  size_t begin = text.size();
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  return begin < text.size() && ParseDecimal(text.substr(begin), 0, number);
}

// "thread 8538 (pt_gloo_runloop)" -> "pt_gloo_runloop"; other names as they are, without white space around.
std::string_view Inner(std::string_view name) {
  while (name.ends_with(' ')) name.remove_suffix(1);
  const size_t open = name.find('(');
  if (name.starts_with("thread ") && open != std::string_view::npos && name.ends_with(')')) {
    name = name.substr(open + 1, name.size() - open - 2);
  }
  return name;
}

// Names that every thread of a Python program may carry say little.
int Weight(std::string_view name) {
  if (name.empty()) return 0;
  return name.starts_with("python") || name == "pt_main_thread" || name.starts_with("thread ") ? 1 : 2;
}

}  // namespace

size_t LaneTable::KeyHash::operator()(const Key& key) const {
  return FoldedProduct(static_cast<uint64_t>(key.pid) * 2 + (key.on_device ? 1 : 0) + 0x9E3779B97F4A7C15ULL,
                       static_cast<uint64_t>(key.tid) ^ 0xD6E8FEB86659FD93ULL) ^
         (static_cast<uint64_t>(key.pid_text) << 32 | key.tid_text);
}

uint32_t LaneTable::TextIndex(std::string_view text) {
  text = text.substr(0, kLongestText);
  const auto it = texts_.find(text);
  if (it != texts_.end()) return it->second;
  if (texts_.size() >= kMostTexts) return 1;
  text_list_.emplace_back(text);
  const auto index = static_cast<uint32_t>(text_list_.size());
  texts_.emplace(text_list_.back(), index);
  return index;
}

LaneTable::Key LaneTable::MakeKey(bool on_device, const IdField& pid, const IdField& tid) {
  Key key;
  key.on_device = on_device;
  const auto fill = [&](const IdField& id, int64_t* number, uint32_t* text) {
    if (id.form != FieldForm::kGood) return;
    if (!id.is_text) {
      *number = id.number;
    } else if (!on_device || !TrailingNumber(id.text, number)) {
      *text = TextIndex(id.text);
    }
  };
  fill(pid, &key.pid, &key.pid_text);
  fill(tid, &key.tid, &key.tid_text);
  return key;
}

LaneId LaneTable::Find(bool on_device, const IdField& pid, const IdField& tid) {
  const Key key = MakeKey(on_device, pid, tid);
  Recent& recent = recent_[KeyHash()(key) % recent_.size()];
  if (recent.used && recent.key == key) return recent.lane;
  const auto it = index_.find(key);
  recent = {key, it != index_.end() ? it->second : Add(key), true};
  return recent.lane;
}

LaneId LaneTable::Add(const Key& key) {
  if (lanes_.size() >= kMostLanes) {
    log_->Add(ProblemKind::kDropped, "lanes-capped");
    return static_cast<LaneId>(kMostLanes - 1);
  }
  Lane lane;
  lane.is_device = key.on_device;
  lane.device = key.on_device ? static_cast<int32_t>(key.pid) : -1;
  lane.pid = key.pid;
  lane.tid = key.tid;
  const uint32_t text = key.tid_text != 0 ? key.tid_text : key.pid_text;
  if (text != 0) lane.name = CleanString(text_list_[text - 1]).text;
  if (key.on_device && lane.name.empty()) lane.name = "stream " + std::to_string(key.tid);
  const auto id = static_cast<LaneId>(lanes_.size());
  lanes_.push_back(std::move(lane));
  index_.emplace(key, id);
  return id;
}

void LaneTable::NameThread(const IdField& pid, const IdField& tid, std::string_view name) {
  if (pid.form != FieldForm::kGood || tid.form != FieldForm::kGood || pid.is_text || tid.is_text) return;
  const std::string clean = CleanString(name.substr(0, kLongestText)).text;
  const std::string_view inner = Inner(clean);
  if (thread_names_.size() >= kMostThreadNames) return;
  std::string& kept = thread_names_[{pid.number, tid.number}];
  if (Weight(inner) > Weight(kept)) kept = inner;
}

std::vector<Lane> LaneTable::Take() {
  for (Lane& lane : lanes_) {
    const auto it = thread_names_.find({lane.pid, lane.tid});
    if (it == thread_names_.end()) continue;
    if (lane.is_device == it->second.starts_with("stream ")) lane.name = it->second;
  }
  return std::move(lanes_);
}

}  // namespace headway::trace::kineto
