// SPDX-License-Identifier: Apache-2.0
// Lanes of one file: (process, thread) on the host, (device, stream) on devices; and what the file calls them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/event.h"
#include "trace/import_log.h"
#include "trace/importers/kineto/event_text.h"

namespace headway::trace::kineto {

class LaneTable {
 public:
  explicit LaneTable(ImportLog* log) : log_(log) {}

  // The lane of a row; its category, not its pid, says whether it is on a device.
  LaneId Find(bool on_device, const IdField& pid, const IdField& tid);
  // A "thread_name" row.
  void NameThread(const IdField& pid, const IdField& tid, std::string_view name);

  // With names put in; call once, at the end.
  [[nodiscard]] std::vector<Lane> Take();

 private:
  struct Key {
    int64_t pid = -1;
    int64_t tid = -1;
    uint32_t pid_text = 0;  // 1 + index into texts_
    uint32_t tid_text = 0;
    bool on_device = false;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Recent {
    Key key;
    LaneId lane = 0;
    bool used = false;
  };

  [[nodiscard]] Key MakeKey(bool on_device, const IdField& pid, const IdField& tid);
  LaneId Add(const Key& key);
  uint32_t TextIndex(std::string_view text);

  ImportLog* log_;
  std::vector<Lane> lanes_;
  std::unordered_map<Key, LaneId, KeyHash> index_;  // looked up only
  std::array<Recent, 64> recent_;
  std::map<std::string, uint32_t, std::less<>> texts_;
  std::vector<std::string> text_list_;
  std::map<std::pair<int64_t, int64_t>, std::string> thread_names_;
};

}  // namespace headway::trace::kineto
