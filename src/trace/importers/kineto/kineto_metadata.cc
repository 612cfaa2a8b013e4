// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/kineto_metadata.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "trace/importers/kineto/indexed_text.h"
#include "trace/importers/kineto/json_repair.h"
#include "trace/importers/kineto/json_string.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kMostDevices = 1024;  // of one host; a damaged file may hold anything there
constexpr size_t kMostMessages = 200;
constexpr size_t kLongestMessage = 500;
constexpr size_t kMostVersions = 100;
constexpr size_t kMostGroups = 10'000;

std::string_view Unquoted(std::string_view value) {
  if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) return value.substr(1, value.size() - 2);
  return value;
}

std::string Text(std::string_view value) { return CleanString(Unquoted(value)).text; }

int64_t Number(std::string_view value, int64_t otherwise) {
  int64_t number = 0;
  return ParseDecimal(Unquoted(value), 0, &number) ? number : otherwise;
}

bool IsSet(std::string_view value) {
  value = Unquoted(value);
  return value == "true" || value == "True" || (Number(value, 0) != 0);
}

RankId Rank(std::string_view value) {
  const int64_t number = Number(value, -1);
  return number >= 0 && number <= std::numeric_limits<RankId>::max() ? static_cast<RankId>(number) : -1;
}

// Calls visit(key, text of the value) for each member. False if `cursor` does not stand on a sound object.
template <typename Visit>
bool ForMembers(TokenCursor& cursor, const char** after, Visit&& visit) {
  bool trailing_comma = false;
  return ReadObject(cursor, &trailing_comma, after, [&](const Member& member, const char** behind) {
           const Outcome outcome = cursor.SkipValue(member.value, behind);
           if (outcome == Outcome::kDone) {
             visit(member.key, std::string_view(member.value, static_cast<size_t>(*behind - member.value)));
           }
           return outcome;
         }) == Outcome::kDone;
}

template <typename Visit>
bool ForMembersOf(std::string_view object, Visit&& visit) {
  if (!object.starts_with('{')) return false;
  const IndexedText text(object);
  TokenCursor cursor = text.Cursor();
  const char* after = nullptr;
  return ForMembers(cursor, &after, visit);
}

template <typename Visit>
bool ForElementsOf(std::string_view list, Visit&& visit) {
  if (!list.starts_with('[')) return false;
  const IndexedText text(list);
  TokenCursor cursor = text.Cursor();
  const char* after = nullptr;
  return ReadList(cursor, &after, [&](const char* value, const char** behind) {
           const Outcome outcome = cursor.SkipValue(value, behind);
           if (outcome == Outcome::kDone) visit(std::string_view(value, static_cast<size_t>(*behind - value)));
           return outcome;
         }) == Outcome::kDone;
}

ProcessGroup ReadGroup(std::string_view value) {
  ProcessGroup group;
  std::string uid;
  ForMembersOf(value, [&](std::string_view key, std::string_view member) {
    if (key == "pg_name" || key == "name")
      group.name = Text(member);
    else if (key == "pg_desc" || key == "desc" || key == "dim") {
      if (group.desc.empty() || key == "pg_desc") group.desc = Text(member);
    } else if (key == "uid")
      uid = Text(member);
    else if (key == "backend_config" || key == "backend")
      group.backend = Text(member);
    else if (key == "ranks") {
      bool cut = false;
      group.ranks = ParseRanks(member, &cut);
      if (cut) group.ranks.clear();
    }
  });
  if (group.name.empty()) group.name = uid;
  return group;
}

std::vector<ProcessGroup> ReadGroups(std::string_view list) {
  std::vector<ProcessGroup> groups;
  const auto add = [&](std::string_view element) {
    if (element.starts_with('{') && groups.size() < kMostGroups) groups.push_back(ReadGroup(element));
  };
  if (list.starts_with('"')) {  // on-demand traces may write the list as text
    ForElementsOf(Text(list), add);
  } else {
    ForElementsOf(list, add);
  }
  return groups;
}

bool IsVersion(std::string_view key) { return key.ends_with("version") || key.ends_with("Version"); }

}  // namespace

std::vector<RankId> ParseRanks(std::string_view text, bool* cut) {
  std::vector<RankId> ranks;
  *cut = text.find("..") != std::string_view::npos;
  for (size_t i = 0; i < text.size();) {
    if (!IsDigit(text[i])) {
      ++i;
      continue;
    }
    int64_t number = 0;
    for (; i < text.size() && IsDigit(text[i]); ++i)
      number = std::min<int64_t>(number * 10 + (text[i] - '0'), 1LL << 40);
    if (number <= std::numeric_limits<RankId>::max()) ranks.push_back(static_cast<RankId>(number));
  }
  return ranks;
}

void KinetoMetadata::OnMember(std::string_view key, std::string_view value, int64_t offset) {
  if (key == "distributedInfo") return DistributedInfo(value, offset);
  if (key == "deviceProperties" || key == "computeProperties") return Devices(value);
  if (key == "INFO" || key == "WARNING" || key == "ERROR") return Messages(value);
  if (value.starts_with('{')) return OtherObject(value, offset);
  if (value.starts_with('[')) return;
  if (value.starts_with("\"{") && value.find("\\\"groups\\\"") != std::string_view::npos) {
    return OtherObject(Text(value), offset);  // JSON written as a string
  }
  Scalar(key, value);
}

void KinetoMetadata::Scalar(std::string_view key, std::string_view value) {
  if (key == "baseTimeNanoseconds") {
    found_.time_base = Number(value, 0);
  } else if (key == "host_name" || key == "hostname") {
    found_.host = Text(value);
  } else if (key == "trace_id" || (key == "group_trace_id" && found_.trace_id.empty())) {
    found_.trace_id = Text(value);
  } else if (key == "with_stack") {
    found_.with_stack = IsSet(value);
  } else if (key == "record_shapes") {
    found_.record_shapes = IsSet(value);
  } else if (key == "rank" || key == "RANK") {
    other_rank_ = Rank(value);
  } else if (key == "world_size" || key == "WORLD_SIZE") {
    other_world_ = Rank(value);
  } else if (IsVersion(key) && key != "schemaVersion" && found_.versions.size() < kMostVersions) {
    found_.versions.emplace_back(CleanString(key).text, Text(value));
  }
}

void KinetoMetadata::DistributedInfo(std::string_view value, int64_t offset) {
  saw_distributed_info_ = true;
  const auto visit = [&](std::string_view key, std::string_view member) {
    if (key == "rank")
      found_.rank = Rank(member);
    else if (key == "world_size")
      found_.world_size = Rank(member);
    else if (key == "backend")
      found_.backend = Text(member);
    else if (key == "pg_config")
      AddGroups(ReadGroups(member));
    else if (IsVersion(key) && Text(member) != "unknown")
      found_.versions.emplace_back(std::string(key), Text(member));
  };
  const std::string nested = value.starts_with('"') ? Text(value) : std::string();
  const std::string_view object = nested.empty() ? value : std::string_view(nested);
  if (ForMembersOf(object, visit)) return;
  if (ForMembersOf(RepairJson(object.starts_with('{') ? object : "{}").json, visit) && object.starts_with('{')) {
    log_->Add(ProblemKind::kRepaired, "metadata-repaired", offset, value.substr(0, 160));
  } else {
    log_->Add(ProblemKind::kDropped, "metadata-unparsable", offset, value.substr(0, 160));
  }
}

// Metadata of the training script that tells of process groups: {"rank": 3, "world": 8, "groups": [{…}]}.
void KinetoMetadata::OtherObject(std::string_view value, int64_t offset) {
  std::vector<ProcessGroup> read;
  RankId rank = -1;
  RankId world = -1;
  const bool sound = ForMembersOf(value, [&](std::string_view key, std::string_view member) {
    if (key == "groups")
      read = ReadGroups(member);
    else if (key == "rank")
      rank = Rank(member);
    else if (key == "world" || key == "world_size")
      world = Rank(member);
  });
  if (!sound) log_->Add(ProblemKind::kDropped, "metadata-unparsable", offset, value.substr(0, 160));
  if (read.empty()) return;
  if (other_rank_ < 0) other_rank_ = rank;
  if (other_world_ < 0) other_world_ = world;
  AddGroups(std::move(read));
}

void KinetoMetadata::AddGroups(std::vector<ProcessGroup> groups) {
  for (ProcessGroup& group : groups) {
    const auto same = std::find_if(found_.groups.begin(), found_.groups.end(), [&](const ProcessGroup& known) {
      return known.name == group.name && (known.ranks == group.ranks || known.ranks.empty() || group.ranks.empty());
    });
    if (same == found_.groups.end()) {
      found_.groups.push_back(std::move(group));
      continue;
    }
    if (same->ranks.empty()) same->ranks = std::move(group.ranks);
    if (same->desc.empty()) same->desc = std::move(group.desc);
    if (same->backend.empty()) same->backend = std::move(group.backend);
  }
}

void KinetoMetadata::Devices(std::string_view value) {
  ForElementsOf(value, [&](std::string_view device) {
    ForMembersOf(device, [&](std::string_view key, std::string_view member) {
      if (key != "name" || found_.devices.size() >= kMostDevices) return;
      found_.devices.push_back(std::string(Utf8Prefix(Text(member), kLongestMessage)));
    });
  });
}

void KinetoMetadata::Messages(std::string_view value) {
  const auto add = [&](std::string_view message) {
    if (found_.profiler_messages.size() >= kMostMessages) return;
    found_.profiler_messages.push_back(std::string(Utf8Prefix(Text(message), kLongestMessage)));
  };
  if (!ForElementsOf(value, add) && value.starts_with('"')) add(value);
}

void KinetoMetadata::Export(RankMeta* meta) {
  *meta = std::move(found_);
  if (meta->rank < 0) meta->rank = static_cast<RankId>(other_rank_);
  if (meta->world_size < 0) meta->world_size = static_cast<int32_t>(other_world_);
  if (meta->rank >= 0) meta->rank_source = "content";
  std::sort(meta->versions.begin(), meta->versions.end());
}

}  // namespace headway::trace::kineto
