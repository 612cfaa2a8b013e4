// SPDX-License-Identifier: Apache-2.0
#include "diagnose/uneven_work.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "diagnose/scope.h"

namespace headway::diagnose {

namespace {

// Two devices may happen to be slow in one kernel, as by what else they have in their caches.
constexpr size_t kManyForOneKernel = 3;

// By rank index: whether it exchanges with all others of a group at once, as tokens go to their experts.
std::vector<bool> ExchangesTokens(const Job& job) {
  std::vector<bool> out(job.num_ranks(), false);
  for (const trace::Collective& collective : job.comms.collectives) {
    if (collective.op != trace::CommOp::kAllToAll) continue;
    for (const trace::CollectiveMember& member : collective.members) {
      out[static_cast<size_t>(member.rank_index)] = true;
    }
  }
  return out;
}

bool AllExchange(const Job& job, const std::vector<bool>& exchanges, const report::Scope& scope) {
  const std::vector<size_t> ranks = RanksOf(job, scope);
  return !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), [&](size_t r) { return exchanges[r]; });
}

bool IsKernel(const report::Finding& finding) {
  return finding.cause == "slow-device" && !finding.scope.function.empty();
}

// PyTorch's own, or what autograd calls one: "aten::bmm", "BmmBackward0", "MyFunctionBackward".
bool IsOperatorName(const std::string& path) {
  std::string leaf = LeafOf(path);
  if (leaf.starts_with("aten::")) return true;
  while (!leaf.empty() && std::isdigit(static_cast<unsigned char>(leaf.back())) != 0) leaf.pop_back();
  return leaf.ends_with("Backward");
}

// Without devices: beside one, how long the host is in an operator says nothing of what the operator is given. What no
// other rank runs is no share of something, but for the products of an expert that gets all tokens.
bool IsOperator(const Job& job, size_t rank, const Candidate& candidate) {
  const report::Finding& finding = candidate.finding;
  if (finding.cause != "slow-host-code" || job.ranks[rank].has_device) return false;
  const std::string leaf = LeafOf(finding.scope.function);
  return IsOperatorName(finding.scope.function) && (candidate.other.empty() || IsOperatorName(candidate.other)) &&
         (!candidate.only_here || leaf.find("mm") != std::string::npos || leaf.starts_with("Mm"));
}

}  // namespace

std::string LeafOf(const std::string& path) {
  const size_t way = path.rfind(" > ");
  return way == std::string::npos ? path : path.substr(way + 3);
}

void TellAsImbalance(const std::string& reason, report::Finding* finding) {
  const bool one = finding->scope.ranks.size() == 1;
  // The rest of the id stays: a rank may have several findings of a cause.
  const std::string rest =
      finding->id.starts_with(finding->cause) ? finding->id.substr(finding->cause.size()) : "-" + finding->id;
  finding->cause = "data-imbalance";
  finding->id = finding->cause + rest;
  finding->sentence += " " + reason + ": by what " + (one ? "it was" : "they were") + " given rather than by " +
                       (one ? "itself." : "themselves.");
  finding->suggestion = "balance what each rank gets in a step (tokens, sequence lengths, experts)";
}

void NameUnevenWork(const Job& job, RankCandidates* candidates) {
  const std::vector<bool> exchanges = ExchangesTokens(job);
  for (auto& [rank, candidate] : *candidates) {
    report::Finding& finding = candidate.finding;
    const bool is_kernel = IsKernel(finding);
    if (!is_kernel && !IsOperator(job, rank, candidate)) continue;
    const std::string what = (candidate.other.empty() ? "one " : "two ") +
                             std::string(is_kernel ? "kernel" : "operator") +
                             (candidate.other.empty() ? " alone" : "s alone");
    // Of one host, or where hosts are not known, operators may be slow by what else the host does.
    const bool is_many =
        finding.scope.ranks.size() >= kManyForOneKernel && (is_kernel || finding.scope.hosts.size() > 1);
    if (is_many) {
      TellAsImbalance(std::string(is_kernel ? "On so many devices " : "On so many ranks ") + what, &finding);
    } else if (AllExchange(job, exchanges, finding.scope)) {
      TellAsImbalance("In a program that exchanges tokens " + what, &finding);
    }
  }
}

}  // namespace headway::diagnose
