// SPDX-License-Identifier: Apache-2.0
#include "diagnose/explain.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnose/excess.h"

namespace headway::diagnose {

using pattern::WorkClass;
using Node = FunctionView::Node;

namespace {

struct Row {
  Nanos mine = 0, peers = 0;  // own time of the node itself
  int64_t my_calls = 0, peer_calls = 0;
  Nanos mine_all = 0, peers_all = 0;  // with everything below it
  [[nodiscard]] Nanos excess() const { return mine_all - peers_all; }
};

double Scale(const Sample& mine, const Sample& reference) {
  return static_cast<double>(mine.steps.size()) / static_cast<double>(std::max<size_t>(1, reference.steps.size()));
}

Nanos Scaled(int64_t value, double scale) { return static_cast<Nanos>(static_cast<double>(value) * scale); }

std::vector<Row> Compare(FunctionView* view, const Sample& sample, std::span<const Sample> references,
                         const WorkClasses& classes) {
  std::vector<std::vector<FunctionView::Cell>> sums;
  for (const Sample& reference : references) sums.push_back(view->Sum(reference.rank, reference.steps));
  const std::vector<FunctionView::Cell> mine = view->Sum(sample.rank, sample.steps);
  std::vector<Row> rows(view->size());
  std::vector<Nanos> own, calls;
  for (size_t n = 0; n < rows.size(); ++n) {
    const WorkClass work_class = view->work_class(static_cast<Node>(n));
    if (work_class == WorkClass::kCommunication || !Has(classes, work_class)) continue;  // waiting is nobody's own time
    own.clear();
    calls.clear();
    for (size_t i = 0; i < sums.size(); ++i) {
      const double scale = Scale(sample, references[i]);
      own.push_back(n < sums[i].size() ? Scaled(sums[i][n].own, scale) : 0);
      calls.push_back(n < sums[i].size() ? Scaled(sums[i][n].calls, scale) : 0);
    }
    rows[n].mine = mine[n].own;
    rows[n].my_calls = mine[n].calls;
    rows[n].peers = Median(own);
    rows[n].peer_calls = Median(calls);
  }
  for (size_t n = rows.size(); n-- > 0;) {  // children come after their parents
    rows[n].mine_all += rows[n].mine;
    rows[n].peers_all += rows[n].peers;
    const Node up = view->parent(static_cast<Node>(n));
    if (up >= 0) {
      rows[static_cast<size_t>(up)].mine_all += rows[n].mine_all;
      rows[static_cast<size_t>(up)].peers_all += rows[n].peers_all;
    }
  }
  return rows;
}

// Down from a node (-1 = the root) that holds `total` into the child that holds most of the excess, as long as it holds
// 60 % of it.
Node Descend(const FunctionView& view, const std::vector<Row>& rows, Node from, Nanos total) {
  std::vector<std::vector<Node>> children(rows.size() + 1);
  for (size_t n = 0; n < rows.size(); ++n) {
    if (view.work_class(static_cast<Node>(n)) != WorkClass::kCommunication) {
      children[static_cast<size_t>(view.parent(static_cast<Node>(n)) + 1)].push_back(static_cast<Node>(n));
    }
  }
  Node at = from;
  Nanos here = total;
  while (true) {
    Node best = -1;
    for (const Node child : children[static_cast<size_t>(at + 1)]) {
      if (best < 0 || rows[static_cast<size_t>(child)].excess() > rows[static_cast<size_t>(best)].excess())
        best = child;
    }
    if (best < 0 || rows[static_cast<size_t>(best)].excess() * 10 < here * 6) return at;
    at = best;
    here = rows[static_cast<size_t>(best)].excess();
  }
}

void CompareProportions(const FunctionView& view, const std::vector<Row>& rows, Explanation* out) {
  // The functions the peers spend most in: those above 2 % of their own time, at least the largest 32.
  constexpr size_t kLeast = 32;
  Nanos peers_total = 0;
  std::vector<size_t> compared;
  for (size_t n = 0; n < rows.size(); ++n) {
    if (view.work_class(static_cast<Node>(n)) == WorkClass::kCommunication || rows[n].peers <= 0) continue;
    peers_total += rows[n].peers;
    compared.push_back(n);
  }
  std::stable_sort(compared.begin(), compared.end(),
                   [&rows](size_t a, size_t b) { return rows[a].peers > rows[b].peers; });
  size_t large = 0;
  while (large < compared.size() && rows[compared[large]].peers * 50 >= peers_total) ++large;
  compared.resize(large >= 4 ? large : std::min(compared.size(), kLeast));
  Nanos mine = 0, peers = 0;
  for (const size_t n : compared) {
    mine += rows[n].mine;
    peers += rows[n].peers;
  }
  out->functions_compared = static_cast<int32_t>(compared.size());
  if (peers <= 0) return;
  out->ratio = static_cast<double>(mine) / static_cast<double>(peers);
  Nanos longer = 0;
  int count = 0;
  for (const size_t n : compared) {
    const double ratio = static_cast<double>(rows[n].mine) / static_cast<double>(rows[n].peers);
    if (ratio - 1 < (out->ratio - 1) / 2) continue;
    longer += rows[n].peers;
    ++count;
  }
  out->proportional_functions = static_cast<double>(count) / static_cast<double>(compared.size());
  out->proportional_share = static_cast<double>(longer) / static_cast<double>(peers);
}

// No single path holds most of it: the two nodes with the largest own excess, if they hold 70 % together.
void NamePair(const FunctionView& view, const std::vector<Row>& rows, Explanation* out) {
  std::vector<Node> order;
  for (size_t n = 0; n < rows.size(); ++n) {
    if (view.work_class(static_cast<Node>(n)) != WorkClass::kCommunication) order.push_back(static_cast<Node>(n));
  }
  const auto own = [&](Node n) { return rows[static_cast<size_t>(n)].mine - rows[static_cast<size_t>(n)].peers; };
  std::stable_sort(order.begin(), order.end(), [&](Node a, Node b) { return own(a) > own(b); });
  if (order.size() < 2 || (own(order[0]) + own(order[1])) * 10 < out->total * 7) return;
  out->node = order[0];
  out->other_node = order[1];
  out->other_excess = rows[static_cast<size_t>(order[1])].excess();
  out->other = view.Path(order[1], 1);
  out->function = view.Path(order[0], 3) + ", " + out->other;
  out->pair = true;
}

std::array<Nanos, pattern::kWorkClasses> ClassSums(const Job& job, const Sample& sample) {
  std::array<Nanos, pattern::kWorkClasses> sums{};
  for (const size_t s : sample.steps) {
    const pattern::Step* step = job.StepOf(sample.rank, s);
    if (step == nullptr) continue;
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += step->by_class[c];
  }
  return sums;
}

}  // namespace

std::vector<Sample> SameSteps(std::span<const size_t> peers, const std::vector<size_t>& steps) {
  std::vector<Sample> samples;
  for (const size_t p : peers) samples.push_back({p, steps});
  return samples;
}

namespace {

// Kernel names of a hundred characters make no sentence: each frame keeps its beginning and its end.
std::string Abbreviated(const std::string& path) {
  constexpr int kMost = 44;  // columns
  std::string out;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(" > ", begin), path.size());
    if (begin > 0) out += " > ";
    out += TruncateMiddle(path.substr(begin, end - begin), kMost);
    begin = end + 3;
  }
  return out;
}

// What a file lacks that breaks off is not what its rank did not do. Of none that have a step all stay: nobody does it.
std::vector<Sample> WithTheirSteps(const Job& job, std::span<const Sample> references) {
  std::vector<Sample> out;
  for (const Sample& reference : references) {
    Sample there{reference.rank, {}};
    for (const size_t s : reference.steps) {
      if (job.StepOf(reference.rank, s) != nullptr) there.steps.push_back(s);
    }
    if (!there.steps.empty()) out.push_back(std::move(there));
  }
  return out.empty() ? std::vector<Sample>(references.begin(), references.end()) : out;
}

}  // namespace

Explanation Explain(const Job& job, FunctionView* view, const Sample& mine, std::span<const Sample> all_references,
                    FunctionView::Node within, const WorkClasses& classes) {
  const std::vector<Sample> references = WithTheirSteps(job, all_references);
  Explanation out;
  const auto here = ClassSums(job, mine);
  std::vector<std::array<Nanos, pattern::kWorkClasses>> there;
  for (const Sample& reference : references) {
    there.push_back(ClassSums(job, reference));
    for (Nanos& value : there.back()) value = Scaled(value, Scale(mine, reference));
  }
  for (size_t c = 0; c < here.size(); ++c) {
    std::vector<Nanos> others;
    for (const auto& sums : there) others.push_back(sums[c]);
    out.peers_by_class[c] = Median(std::move(others));
    out.by_class[c] = classes[c] ? here[c] - out.peers_by_class[c] : 0;
    if (static_cast<WorkClass>(c) != WorkClass::kCommunication) out.total += out.by_class[c];
  }
  const std::vector<Row> rows = Compare(view, mine, references, classes);
  CompareProportions(*view, rows, &out);
  out.node = Descend(*view, rows, within, within < 0 ? out.total : rows[static_cast<size_t>(within)].excess());
  if (out.node >= 0) {
    out.function = view->Path(out.node, 3);
  } else {
    NamePair(*view, rows, &out);
  }
  out.brief = Abbreviated(out.function);
  if (out.node < 0) return out;
  const Row& row = rows[static_cast<size_t>(out.node)];
  out.leaf = view->name(out.node);
  out.node_class = view->work_class(out.node);
  out.node_excess = row.excess();
  out.node_own = row.mine_all;
  out.node_peers = row.peers_all;
  out.node_calls = row.my_calls;
  out.node_peer_calls = row.peer_calls;
  out.only_here = row.peers_all * 10 < row.mine_all;
  return out;
}

}  // namespace headway::diagnose
