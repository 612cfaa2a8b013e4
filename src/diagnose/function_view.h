// SPDX-License-Identifier: Apache-2.0
// The functions of several ranks on one tree, so that they can be compared.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

class FunctionView {
 public:
  using Node = int32_t;

  explicit FunctionView(const Job& job) : job_(job) {}

  struct Cell {
    Nanos own = 0;
    int64_t calls = 0;
  };

  // Own time by node (not inclusive) of one rank, summed over the given axis steps. Adds the rank's functions to the
  // tree on first use. O(rows of those steps).
  [[nodiscard]] std::vector<Cell> Sum(size_t rank, std::span<const size_t> steps);

  // The same of each axis step by itself. O(rows + steps * nodes).
  [[nodiscard]] std::vector<std::vector<Cell>> SumByStep(size_t rank);

  // Time of the node and all below it on one rank, by axis step.
  [[nodiscard]] std::vector<Nanos> Series(Node node, size_t rank);

  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] Node parent(Node node) const { return nodes_[static_cast<size_t>(node)].parent; }
  [[nodiscard]] const std::string& name(Node node) const { return nodes_[static_cast<size_t>(node)].name; }
  [[nodiscard]] pattern::WorkClass work_class(Node node) const { return nodes_[static_cast<size_t>(node)].work_class; }
  // "read_shard > sleep": the last `depth` frames down to the node, outermost first, shortened to what names the code.
  [[nodiscard]] std::string Path(Node node, int depth) const;

 private:
  struct Row {
    Node parent;
    std::string name;
    pattern::WorkClass work_class;
    bool operator<(const Row& o) const {
      return std::tie(parent, work_class, name) < std::tie(o.parent, o.work_class, o.name);
    }
  };
  const std::vector<Node>& MapOf(const std::shared_ptr<const pattern::FunctionTable>& table);

  const std::vector<pattern::FunctionStep>& RowsOf(size_t rank);

  const Job& job_;
  std::map<size_t, std::vector<pattern::FunctionStep>> loaded_;  // by rank index; looked up only
  std::vector<Row> nodes_;
  std::map<Row, Node> index_;
  std::map<const pattern::FunctionTable*, std::vector<Node>> maps_;  // looked up only
};

// "train.py(88): read_shard" -> "read_shard", "<built-in function sleep>" -> "sleep"; other names as they are.
[[nodiscard]] std::string ShortFrame(const std::string& name);

}  // namespace headway::diagnose
