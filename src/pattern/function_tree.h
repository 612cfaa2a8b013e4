// SPDX-License-Identifier: Apache-2.0
// The functions of one rank while its trace is folded: a tree of call paths with own time per step, cut down at the end
// to what matters, in canonical order.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/string_pool.h"
#include "pattern/pattern.h"

namespace headway::pattern {

class FunctionTree {
 public:
  using Node = int32_t;
  static constexpr Node kRoot = -1;

  // `names` is the reader's pool and must outlive the tree. Beyond `max_nodes` a new path is charged to its parent
  // (counted in capped()).
  explicit FunctionTree(const StringPool& names, size_t max_nodes = 200'000) : names_(names), max_nodes_(max_nodes) {}

  // The node of `name` called from `parent`. Addresses ("0x7f…") in names are stripped, so that ranks agree.
  Node Child(Node parent, StringPool::Id name, WorkClass work_class);
  // The same for a fixed text (kernel geometry, "(nothing ran)").
  Node ChildNamed(Node parent, std::string_view name, WorkClass work_class);

  [[nodiscard]] WorkClass work_class(Node node) const { return nodes_[static_cast<size_t>(node)].work_class; }

  // Adds exclusive critical time of the running step; negative takes back what turned out to be a wait.
  void AddOwn(Node node, Nanos time);
  // One finished execution; `utilisation` < 0 = not recorded.
  void AddCall(Node node, Nanos total, Nanos uncovered, double utilisation, const char* resource);
  // Closes the running step: its own times become rows of step `step`; -1 throws them away (outside the window).
  void EndStep(int32_t step);
  // Lets the node weigh more when Export chooses, by time that no total holds.
  void AddWeight(Node node, Nanos time) {
    if (node != kRoot) nodes_[static_cast<size_t>(node)].beyond += time;
  }
  // What follows has rows of its step, and is in no totals.
  void EndTotals() { in_totals_ = false; }

  // Moves the table, totals and rows into `out`. Keeps the `max_functions` heaviest nodes (by own time, or uncovered
  // time, of the node and all below it) that hold at least `min_share` of `window`; the rest is charged to the nearest
  // kept ancestor of its class, else to "(other)". Times are rounded to whole microseconds, mu and sigma
  // to 16 significant bits. O(n log n).
  void Export(Nanos window, size_t max_functions, double min_share, RankPattern* out);

  // After Export: the table index a node ended up in; -1 for kRoot.
  [[nodiscard]] FunctionId Exported(Node node) const {
    return node == kRoot ? -1 : exported_[static_cast<size_t>(node)];
  }

  [[nodiscard]] int64_t capped() const { return capped_; }

 private:
  struct NodeRow {
    uint32_t name = 0;  // index in texts_
    Node parent = kRoot;
    WorkClass work_class = WorkClass::kHost;
    const char* resource = "";
    int64_t calls = 0;
    Nanos total = 0;
    Nanos uncovered = 0;
    Nanos own = 0;       // over all kept steps
    Nanos beyond = 0;    // weight beside the totals
    Nanos step_own = 0;  // running step
    int32_t step_calls = 0;
    double util_weight = 0, util_mean = 0, util_m2 = 0;  // West's weighted incremental variance
  };
  struct Key {
    Node parent;
    uint32_t name;
    WorkClass work_class;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      uint64_t x = (static_cast<uint64_t>(static_cast<uint32_t>(k.parent)) << 32) | k.name;
      x = (x ^ (static_cast<uint64_t>(k.work_class) << 60)) * 0x9E3779B97F4A7C15ULL;
      return static_cast<size_t>(x ^ (x >> 29));
    }
  };

  Node Find(Node parent, uint32_t text, WorkClass work_class);
  void Touch(Node node);
  [[nodiscard]] std::vector<bool> Kept(Nanos window, size_t max_functions, double min_share) const;
  [[nodiscard]] std::vector<Node> CanonicalOrder(const std::vector<bool>& kept) const;

  const StringPool& names_;
  size_t max_nodes_;
  StringPool texts_;                   // normalised names
  std::vector<int64_t> text_of_name_;  // reader's id -> texts_ id, -1 = not seen
  std::vector<NodeRow> nodes_;
  std::unordered_map<Key, Node, KeyHash> index_;  // looked up only
  std::vector<Node> touched_;                     // nodes with time in the running step
  std::vector<FunctionStep> rows_;                // function = node until Export
  std::vector<FunctionId> exported_;
  int64_t capped_ = 0;
  bool in_totals_ = true;
};

// "0x" followed by hex digits becomes "0x"; exposed for its test.
[[nodiscard]] std::string StripAddresses(std::string_view name);

}  // namespace headway::pattern
