// SPDX-License-Identifier: Apache-2.0
#include "trace/group_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace headway::trace {
namespace {

constexpr std::string_view kWorldDesc = "default_pg";

// One named group as one rank knows it.
struct Entry {
  int32_t rank_index = -1;
  std::string_view name;
  std::string_view desc;
  const std::vector<RankId>* ranks = nullptr;  // nullptr or empty = unknown
  int32_t size = -1;
  std::vector<int32_t> locals;  // local groups that are this one
  int32_t group = -1;

  [[nodiscard]] bool HasAllRanks() const {
    return ranks != nullptr && !ranks->empty() && size <= static_cast<int32_t>(ranks->size());
  }
};

std::string_view CleanDesc(std::string_view desc) { return desc == "undefined" ? std::string_view() : desc; }

bool SameMembers(const std::vector<RankId>& a, const std::vector<RankId>& b) {
  return a.size() == b.size() && (a == b || std::is_permutation(a.begin(), a.end(), b.begin()));
}

bool StartsWith(const std::vector<RankId>& all, const std::vector<RankId>& prefix) {
  return all.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), all.begin());
}

void Fill(Entry* entry, std::string_view desc, const std::vector<RankId>& ranks, int32_t size) {
  if (entry->desc.empty()) entry->desc = CleanDesc(desc);
  const bool longer = entry->ranks == nullptr || ranks.size() > entry->ranks->size();
  if (!ranks.empty() && longer) entry->ranks = &ranks;
  entry->size = std::max(entry->size, size);
}

// Whether a local group of this name is the entry: names are unique within a rank, but a list that contradicts wins.
bool IsSame(const Entry& entry, const LocalGroup& local) {
  if (local.name.empty() || entry.name != local.name) return false;
  if (!entry.HasAllRanks() || local.ranks.empty() || entry.ranks == &local.ranks) return true;
  if (entry.ranks->size() == local.ranks.size() && entry.ranks->front() == local.ranks.front() &&
      entry.ranks->back() == local.ranks.back()) {
    return true;  // lists of one rank under one name: the whole comparison of ten thousand is not worth it
  }
  return StartsWith(*entry.ranks, local.ranks) || SameMembers(*entry.ranks, local.ranks);
}

// Names count groups in order of creation; where they are not numbers, the file's order stands for it.
void SortByCreation(std::vector<Entry>* entries) {
  const auto number = [](std::string_view name) {
    int64_t value = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    return error == std::errc() && end == name.data() + name.size() ? value : int64_t{-1};
  };
  for (const Entry& e : *entries) {
    if (number(e.name) < 0) return;
  }
  std::stable_sort(entries->begin(), entries->end(),
                   [&](const Entry& a, const Entry& b) { return number(a.name) < number(b.name); });
}

std::vector<Entry> EntriesOf(const RankComms& rank, int32_t rank_index) {
  std::vector<Entry> entries;
  for (const ProcessGroup& group : rank.declared) {
    auto same = std::find_if(entries.begin(), entries.end(),
                             [&](const Entry& e) { return !e.name.empty() && e.name == group.name; });
    if (same == entries.end()) {
      entries.push_back({.rank_index = rank_index, .name = group.name});
      same = entries.end() - 1;
    }
    Fill(&*same, group.desc, group.ranks, -1);
  }
  for (size_t i = 0; i < rank.groups.size(); ++i) {
    const LocalGroup& local = rank.groups[i];
    if (local.name.empty() && local.ranks.empty()) continue;
    auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return IsSame(e, local); });
    if (same == entries.end()) {
      entries.push_back({.rank_index = rank_index, .name = local.name});
      same = entries.end() - 1;
    }
    Fill(&*same, local.desc, local.ranks, local.size);
    same->locals.push_back(static_cast<int32_t>(i));
  }
  SortByCreation(&entries);
  return entries;
}

class NamedGroupResolver {
 public:
  NamedGroupResolver(const std::vector<RankComms>& ranks, int world_size)
      : ranks_(ranks), world_(static_cast<size_t>(std::max(world_size, 0))) {
    std::iota(world_.begin(), world_.end(), 0);
    table_.of_local.resize(ranks.size());
    table_.declared.resize(ranks.size());
  }

  GroupTable Resolve() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      table_.of_local[r].assign(ranks_[r].groups.size(), -1);
      entries_.push_back(EntriesOf(ranks_[r], static_cast<int32_t>(r)));
    }
    AssignLists();
    MergeNameless();
    SplitRepeated();
    Publish();
    return std::move(table_);
  }

 private:
  void AssignLists() {
    for (auto& of_rank : entries_) {
      for (Entry& e : of_rank) {
        const bool is_world = e.desc == kWorldDesc || e.size == static_cast<int32_t>(world_.size());
        if (!e.HasAllRanks() && is_world && !world_.empty()) e.ranks = &world_;
        if (e.HasAllRanks() || e.ranks == &world_) e.group = table_.FindOrAdd(*e.ranks, e.desc);
      }
    }
    for (auto& of_rank : entries_) {
      for (Entry& e : of_rank) {
        if (e.group < 0 && e.ranks != nullptr && !e.ranks->empty()) CompleteCutList(&e);
      }
    }
  }

  void CompleteCutList(Entry* e) {
    const RankId own = ranks_[static_cast<size_t>(e->rank_index)].rank;
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      const JobGroup& group = table_.groups[g];
      if (static_cast<int32_t>(group.ranks.size()) != e->size || group.desc != e->desc) continue;
      if (!StartsWith(table_.written_order[g], *e->ranks)) continue;
      if (!std::binary_search(group.ranks.begin(), group.ranks.end(), own)) continue;
      e->group = static_cast<int32_t>(g);
      return;
    }
    cut_[{*e->ranks, e->size, std::string(e->desc)}].push_back(e);
  }

  // Lists that nobody has whole: the members are those named and those whose file names the same beginning.
  void AddCutGroups() {
    for (auto& [key, entries] : cut_) {
      std::vector<RankId> members = std::get<0>(key);
      for (const Entry* e : entries) members.push_back(ranks_[static_cast<size_t>(e->rank_index)].rank);
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      const int32_t group = table_.FindOrAdd(members, std::get<2>(key));
      for (Entry* e : entries) e->group = group;
    }
    if (!cut_.empty()) {
      table_.notes.push_back("rank lists of " + std::to_string(cut_.size()) +
                             " process groups are cut in every file: only the members named or present are known");
    }
  }

  // A group without description is the one with its members that has one, if only one has.
  void MergeNameless() {
    AddCutGroups();
    std::map<std::vector<RankId>, std::vector<int32_t>> by_members;
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      if (table_.groups[g].desc.empty()) by_members[table_.groups[g].ranks] = {static_cast<int32_t>(g)};
    }
    if (by_members.empty()) return;
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      if (table_.groups[g].desc.empty()) continue;
      if (auto it = by_members.find(table_.groups[g].ranks); it != by_members.end()) {
        it->second.push_back(static_cast<int32_t>(g));
      }
    }
    std::vector<int32_t> target(table_.groups.size());
    std::iota(target.begin(), target.end(), 0);
    for (const auto& [members, same] : by_members) {
      if (same.size() == 2) target[static_cast<size_t>(same[0])] = same[1];
    }
    for (auto& of_rank : entries_) {
      for (Entry& e : of_rank) {
        if (e.group >= 0) e.group = target[static_cast<size_t>(e.group)];
      }
    }
  }

  // Several groups of one rank with equal members and description: told apart by name where the names of all ranks fit
  // together, else by their order.
  void SplitRepeated() {
    std::vector<size_t> most(table_.groups.size(), 0);
    std::vector<std::vector<std::string_view>> names(table_.groups.size());
    for (const auto& of_rank : entries_) CountRepeats(of_rank, &most, &names);
    const size_t groups = table_.groups.size();
    std::vector<std::vector<int32_t>> copies(groups);
    for (size_t g = 0; g < groups; ++g) {
      copies[g].push_back(static_cast<int32_t>(g));
      for (size_t k = 1; k < most[g]; ++k) {
        copies[g].push_back(static_cast<int32_t>(table_.groups.size()));
        table_.groups.push_back(table_.groups[g]);
        table_.written_order.push_back(table_.written_order[g]);
      }
    }
    for (auto& of_rank : entries_) {
      std::map<int32_t, size_t> seen;
      for (Entry& e : of_rank) {
        if (e.group < 0 || most[static_cast<size_t>(e.group)] < 2) continue;
        const auto g = static_cast<size_t>(e.group);
        size_t place = seen[e.group]++;
        if (names[g].size() == most[g]) {
          place = static_cast<size_t>(std::find(names[g].begin(), names[g].end(), e.name) - names[g].begin());
        }
        e.group = copies[g][place];
      }
    }
  }

  static void CountRepeats(const std::vector<Entry>& of_rank, std::vector<size_t>* most,
                           std::vector<std::vector<std::string_view>>* names) {
    std::vector<int32_t> groups;
    for (const Entry& e : of_rank) {
      if (e.group >= 0) groups.push_back(e.group);
    }
    std::sort(groups.begin(), groups.end());
    for (size_t i = 0, j = 0; i < groups.size(); i = j) {
      while (j < groups.size() && groups[j] == groups[i]) ++j;
      auto& m = (*most)[static_cast<size_t>(groups[i])];
      m = std::max(m, j - i);
    }
    for (const Entry& e : of_rank) {
      if (e.group < 0) continue;
      auto& known = (*names)[static_cast<size_t>(e.group)];
      if (known.size() <= 8 && std::find(known.begin(), known.end(), e.name) == known.end()) known.push_back(e.name);
    }
  }

  void Publish() {
    std::vector<char> named(table_.groups.size(), 0);
    for (auto& of_rank : entries_) {
      for (const Entry& e : of_rank) {
        if (e.group < 0) continue;
        const auto r = static_cast<size_t>(e.rank_index);
        const auto g = static_cast<size_t>(e.group);
        auto& declared = table_.declared[r];
        if (std::find(declared.begin(), declared.end(), e.group) == declared.end()) declared.push_back(e.group);
        for (const int32_t local : e.locals) table_.of_local[r][static_cast<size_t>(local)] = e.group;
        std::string& name = table_.groups[g].name;
        if (named[g] == 0) name = e.name;
        if (name != e.name) name.clear();
        named[g] = 1;
      }
    }
  }

  const std::vector<RankComms>& ranks_;
  std::vector<RankId> world_;
  GroupTable table_;
  std::vector<std::vector<Entry>> entries_;  // by rank index
  std::map<std::tuple<std::vector<RankId>, int32_t, std::string>, std::vector<Entry*>> cut_;
};

}  // namespace

int32_t GroupTable::FindOrAdd(const std::vector<RankId>& ranks, std::string_view desc) {
  const auto key_of = [](RankId first, RankId last, size_t size) {
    return ((uint64_t{static_cast<uint32_t>(first)} << 32U) + static_cast<uint32_t>(last)) * 0x9e3779b97f4a7c15U + size;
  };
  const auto find = [&](const std::vector<RankId>& members) {
    if (members.empty()) return int32_t{-1};
    const auto alike = index_.find(key_of(members.front(), members.back(), members.size()));
    if (alike == index_.end()) return int32_t{-1};
    for (const int32_t g : alike->second) {
      const JobGroup& group = groups[static_cast<size_t>(g)];
      if (group.desc == desc && group.ranks == members) return g;
    }
    return int32_t{-1};
  };
  if (const int32_t g = find(ranks); g >= 0) return g;
  std::vector<RankId> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (const int32_t g = find(sorted); g >= 0) return g;
  const auto id = static_cast<int32_t>(groups.size());
  if (!sorted.empty()) index_[key_of(sorted.front(), sorted.back(), sorted.size())].push_back(id);
  groups.push_back({.ranks = std::move(sorted), .desc = std::string(desc)});
  written_order.push_back(ranks);
  return id;
}

GroupTable ResolveNamedGroups(const std::vector<RankComms>& ranks, int world_size) {
  return NamedGroupResolver(ranks, world_size).Resolve();
}

int WorldSize(const std::vector<RankComms>& ranks, int world_size) {
  if (world_size > 0) return world_size;
  RankId highest = -1;
  for (const RankComms& rank : ranks) {
    highest = std::max(highest, rank.rank);
    for (const ProcessGroup& group : rank.declared) {
      for (const RankId member : group.ranks) highest = std::max(highest, member);
    }
    for (const LocalGroup& group : rank.groups) {
      for (const RankId member : group.ranks) highest = std::max(highest, member);
    }
  }
  return highest + 1;
}

}  // namespace headway::trace
