// SPDX-License-Identifier: Apache-2.0
#include "pattern/function_tree.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace headway::pattern {
namespace {

// What a function's numbers are kept to: finer than anything is concluded from, and half the size in a .hwp file.
Nanos WholeMicroseconds(Nanos t) { return (t + kMicrosecond / 2) / kMicrosecond * kMicrosecond; }
double SixteenBits(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 16)), exponent - 16);
}

}  // namespace

std::string StripAddresses(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (size_t i = 0; i < name.size(); ++i) {
    out.push_back(name[i]);
    if (name[i] != '0' || i + 1 >= name.size() || name[i + 1] != 'x') continue;
    out.push_back(name[++i]);
    while (i + 1 < name.size() && std::isxdigit(static_cast<unsigned char>(name[i + 1])) != 0) ++i;
  }
  return out;
}

FunctionTree::Node FunctionTree::Child(Node parent, StringPool::Id name, WorkClass work_class) {
  if (name >= text_of_name_.size()) text_of_name_.resize(std::max(names_.size(), name + size_t{1}), -1);
  int64_t& text = text_of_name_[name];
  if (text < 0) text = texts_.Intern(StripAddresses(names_.Get(name)));
  return Find(parent, static_cast<uint32_t>(text), work_class);
}

FunctionTree::Node FunctionTree::ChildNamed(Node parent, std::string_view name, WorkClass work_class) {
  return Find(parent, texts_.Intern(name), work_class);
}

FunctionTree::Node FunctionTree::Find(Node parent, uint32_t text, WorkClass work_class) {
  const Key key{parent, text, work_class};
  if (auto it = index_.find(key); it != index_.end()) return it->second;
  if (nodes_.size() >= max_nodes_ && parent != kRoot) {
    ++capped_;
    return parent;
  }
  const Node node = static_cast<Node>(nodes_.size());
  NodeRow row;
  row.name = text;
  row.parent = parent;
  row.work_class = work_class;
  nodes_.push_back(row);
  index_.emplace(key, node);
  return node;
}

void FunctionTree::Touch(Node node) {
  const NodeRow& row = nodes_[static_cast<size_t>(node)];
  if (row.step_own == 0 && row.step_calls == 0) touched_.push_back(node);
}

void FunctionTree::AddOwn(Node node, Nanos time) {
  if (node == kRoot || time == 0) return;
  Touch(node);
  nodes_[static_cast<size_t>(node)].step_own += time;
}

void FunctionTree::AddCall(Node node, Nanos total, Nanos uncovered, double utilisation, const char* resource) {
  if (node == kRoot) return;
  Touch(node);
  NodeRow& row = nodes_[static_cast<size_t>(node)];
  ++row.step_calls;
  if (!in_totals_) return;
  ++row.calls;
  row.total += total;
  row.uncovered += uncovered;
  if (utilisation < 0 || total <= 0) return;
  row.resource = resource;
  const double weight = static_cast<double>(total);
  row.util_weight += weight;
  const double delta = utilisation - row.util_mean;
  row.util_mean += delta * weight / row.util_weight;
  row.util_m2 += weight * delta * (utilisation - row.util_mean);
}

void FunctionTree::EndStep(int32_t step) {
  for (const Node node : touched_) {
    NodeRow& row = nodes_[static_cast<size_t>(node)];
    if (step >= 0) {
      (in_totals_ ? row.own : row.beyond) += row.step_own;
      rows_.push_back({step, node, row.step_own, row.step_calls});
    }
    row.step_own = 0;
    row.step_calls = 0;
  }
  touched_.clear();
}

std::vector<bool> FunctionTree::Kept(Nanos window, size_t max_functions, double min_share) const {
  std::vector<Nanos> weight(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {  // children have larger indices than their parents
    weight[i] += std::max(nodes_[i].own, nodes_[i].uncovered) + nodes_[i].beyond;
    if (nodes_[i].parent != kRoot) weight[static_cast<size_t>(nodes_[i].parent)] += weight[i];
  }
  std::vector<Node> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0);
  // A parent weighs at least what its child does and comes first at equal weight, so the kept set is closed upwards.
  std::sort(order.begin(), order.end(), [&](Node a, Node b) {
    const Nanos wa = weight[static_cast<size_t>(a)];
    const Nanos wb = weight[static_cast<size_t>(b)];
    return wa != wb ? wa > wb : a < b;
  });
  const Nanos floor = static_cast<Nanos>(min_share * static_cast<double>(window));
  std::vector<bool> kept(nodes_.size(), false);
  for (size_t i = 0; i < order.size() && i < max_functions; ++i) {
    if (weight[static_cast<size_t>(order[i])] < std::max<Nanos>(floor, 1)) break;
    kept[static_cast<size_t>(order[i])] = true;
  }
  return kept;
}

std::vector<FunctionTree::Node> FunctionTree::CanonicalOrder(const std::vector<bool>& kept) const {
  std::vector<std::vector<Node>> children(nodes_.size() + 1);  // [0] = roots
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (kept[i]) children[static_cast<size_t>(nodes_[i].parent + 1)].push_back(static_cast<Node>(i));
  }
  const auto before = [this](Node a, Node b) {
    const NodeRow& x = nodes_[static_cast<size_t>(a)];
    const NodeRow& y = nodes_[static_cast<size_t>(b)];
    if (x.work_class != y.work_class) return x.work_class < y.work_class;
    return texts_.Get(x.name) < texts_.Get(y.name);
  };
  for (auto& list : children) std::sort(list.begin(), list.end(), before);
  std::vector<Node> order;
  std::vector<Node> stack(children[0].rbegin(), children[0].rend());
  while (!stack.empty()) {
    const Node node = stack.back();
    stack.pop_back();
    order.push_back(node);
    const auto& below = children[static_cast<size_t>(node) + 1];
    stack.insert(stack.end(), below.rbegin(), below.rend());
  }
  return order;
}

void FunctionTree::Export(Nanos window, size_t max_functions, double min_share, RankPattern* out) {
  EndStep(-1);
  const std::vector<bool> kept = Kept(window, max_functions, min_share);
  const std::vector<Node> order = CanonicalOrder(kept);
  FunctionTable table;
  std::vector<FunctionTotals>& totals = out->functions;
  totals.clear();
  exported_.assign(nodes_.size(), -1);
  std::array<FunctionId, kWorkClasses> other{};
  other.fill(-1);
  for (const Node node : order) {
    const NodeRow& row = nodes_[static_cast<size_t>(node)];
    exported_[static_cast<size_t>(node)] = static_cast<FunctionId>(table.size());
    table.push_back({std::string(texts_.Get(row.name)), row.parent == kRoot ? -1 : Exported(row.parent), row.work_class,
                     row.resource});
    totals.emplace_back();
  }
  // Cut nodes: the nearest kept ancestor of the same class, else "(other)" of the class.
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (kept[i]) continue;
    const WorkClass c = nodes_[i].work_class;
    Node up = nodes_[i].parent;
    while (up != kRoot && !(kept[static_cast<size_t>(up)] && nodes_[static_cast<size_t>(up)].work_class == c)) {
      up = nodes_[static_cast<size_t>(up)].parent;
    }
    if (up != kRoot) {
      exported_[i] = Exported(up);
      continue;
    }
    other[static_cast<size_t>(c)] = 0;  // needed; numbered below in class order, so that ranks agree
  }
  for (int c = 0; c < kWorkClasses; ++c) {
    if (other[static_cast<size_t>(c)] < 0) continue;
    other[static_cast<size_t>(c)] = static_cast<FunctionId>(table.size());
    table.push_back({"(other)", -1, static_cast<WorkClass>(c), ""});
    totals.emplace_back();
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (exported_[i] < 0) exported_[i] = other[static_cast<size_t>(nodes_[i].work_class)];
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const NodeRow& row = nodes_[i];
    FunctionTotals& t = totals[static_cast<size_t>(exported_[i])];
    t.calls += row.calls;
    t.total += row.total;
    t.uncovered += row.uncovered > 0 ? row.uncovered : row.own;  // host functions: their exclusive time
    if (kept[i] && row.util_weight > 0) {
      t.mu = SixteenBits(row.util_mean);
      t.sigma = SixteenBits(std::sqrt(std::max(0.0, row.util_m2 / row.util_weight)));
    }
  }
  for (FunctionTotals& t : totals) {
    t.total = WholeMicroseconds(t.total);
    t.uncovered = WholeMicroseconds(t.uncovered);
  }
  for (FunctionStep& row : rows_) row.function = Exported(row.function);
  std::sort(rows_.begin(), rows_.end(), [](const FunctionStep& a, const FunctionStep& b) {
    return a.step != b.step ? a.step < b.step : a.function < b.function;
  });
  std::vector<FunctionStep>& merged = out->function_steps;
  merged.clear();
  for (const FunctionStep& row : rows_) {
    if (!merged.empty() && merged.back().step == row.step && merged.back().function == row.function) {
      merged.back().own += row.own;
      merged.back().calls += row.calls;
    } else {
      merged.push_back(row);
    }
  }
  for (FunctionStep& row : merged) row.own = WholeMicroseconds(row.own);
  std::erase_if(merged, [](const FunctionStep& row) { return row.own == 0 && row.calls == 0; });
  out->function_table = std::make_shared<const FunctionTable>(std::move(table));
}

}  // namespace headway::pattern
