// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_kineto_floor.h"

#include <simdjson.h>

#include <cstring>
#include <string>
#include <vector>

namespace headway::bench {
namespace {

// Finds the end of the object that starts at text[0]; npos if it is not there yet. Aware of strings and escapes.
size_t ObjectEnd(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

uint64_t Sum(std::string_view text) { return text.size() + (text.empty() ? 0 : static_cast<unsigned char>(text[0])); }

// No key that is looked for has escapes.
std::string_view RawKey(simdjson::ondemand::field& field) {
  const char* begin = field.key().raw();
  return {begin, static_cast<size_t>(static_cast<const char*>(std::memchr(begin, '"', 256)) - begin)};
}

class Floor {
 public:
  void Feed(std::string_view bytes) {
    buffer_.resize(end_ + bytes.size() + simdjson::SIMDJSON_PADDING);
    std::memcpy(buffer_.data() + end_, bytes.data(), bytes.size());
    end_ += bytes.size();
    size_t at = 0;
    const std::string_view text(buffer_.data(), end_);
    if (!in_events_) {
      const size_t key = text.find("\"traceEvents\"");
      const size_t list = key == std::string_view::npos ? key : text.find('[', key);
      if (list == std::string_view::npos) return;
      at = list + 1;
      in_events_ = true;
    }
    for (;;) {
      while (at < end_ && text[at] != '{' && text[at] != ']') ++at;
      if (at >= end_ || text[at] == ']') break;
      const size_t length = ObjectEnd(text.substr(at));
      if (length == std::string_view::npos) break;
      ReadEvent(at, length);
      at += length;
    }
    std::memmove(buffer_.data(), buffer_.data() + at, end_ - at);
    end_ -= at;
  }

  [[nodiscard]] FloorResult result() const { return result_; }

 private:
  void ReadEvent(size_t at, size_t length) {
    ++result_.events;
    try {
      simdjson::ondemand::document document = parser_.iterate(buffer_.data() + at, length, buffer_.size() - at);
      for (simdjson::ondemand::field field : document.get_object()) {
        const std::string_view key = RawKey(field);
        if (key == "ph" || key == "cat" || key == "name")
          Text(field.value());
        else if (key == "pid" || key == "tid")
          NumberOrText(field.value());
        else if (key == "ts" || key == "dur")
          Number(field.value());
        else if (key == "args")
          Args(field.value());
      }
    } catch (const simdjson::simdjson_error&) {
      ++result_.broken;
    }
  }

  void Args(simdjson::ondemand::object args) {
    for (simdjson::ondemand::field field : args) {
      const std::string_view key = RawKey(field);
      if (key == "correlation" || key == "bytes" || key == "graph node id" || key == "In msg nelems" ||
          key == "Out msg nelems" || key == "Group size" || key == "Seq" || key == "Src Rank" || key == "Dst Rank" ||
          key == "est. achieved occupancy %") {
        NumberOrText(field.value());
      } else if (key == "grid" || key == "block") {
        for (auto element : field.value().get_array()) Number(element.value());
      } else if (key == "Collective name" || key == "dtype" || key == "Process Group Name" ||
                 key == "Process Group Description" || key == "Process Group Ranks") {
        Text(field.value());
      }
    }
  }

  void Text(simdjson::ondemand::value value) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) result_.checksum += Sum(text);
  }
  void Number(simdjson::ondemand::value value) {
    double number = 0;
    if (value.get_double().get(number) == simdjson::SUCCESS) result_.checksum += static_cast<uint64_t>(number);
  }
  void NumberOrText(simdjson::ondemand::value value) {
    if (value.type() == simdjson::ondemand::json_type::string)
      Text(value);
    else
      Number(value);
  }

  simdjson::ondemand::parser parser_;
  std::vector<char> buffer_;
  size_t end_ = 0;
  bool in_events_ = false;
  FloorResult result_;
};

}  // namespace

FloorResult RunKinetoFloor(const std::function<std::string_view()>& next) {
  Floor floor;
  for (std::string_view chunk = next(); !chunk.empty(); chunk = next()) floor.Feed(chunk);
  return floor.result();
}

}  // namespace headway::bench
