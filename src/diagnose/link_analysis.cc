// SPDX-License-Identifier: Apache-2.0
// Transfers that are long while nobody is late: a slow link shows in the order in which the members of a ring finish, a
// slow group beside its siblings; a slow fabric in transfers that hold most of the step everywhere.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/scope.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

// One kind of operation of one group.
struct Traffic {
  int32_t group = -1;
  CommOp op = CommOp::kUnknown;
  std::vector<size_t> collectives;
  Nanos median_transfer = 0;
};

struct LastEnder {
  RankId rank = -1;  // ends last most often
  int64_t times = 0;
  int64_t of = 0;
  double z = 0;   // against 1 / members, in standard deviations
  Nanos lag = 0;  // its median distance to the first end
};

std::vector<Traffic> CollectTraffic(const Job& job) {
  std::vector<std::map<CommOp, Traffic>> by_group(job.comms.groups.size());
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const trace::Collective& collective = job.comms.collectives[c];
    if (job.comms.groups[static_cast<size_t>(collective.group)].is_p2p || collective.members.size() < 2) continue;
    Traffic& traffic = by_group[static_cast<size_t>(collective.group)][collective.op];
    traffic.group = collective.group;
    traffic.op = collective.op;
    traffic.collectives.push_back(c);
  }
  std::vector<Traffic> out;
  for (auto& kinds : by_group) {
    for (auto& [op, traffic] : kinds) {
      std::vector<Nanos> transfers;
      for (const size_t c : traffic.collectives) transfers.push_back(job.graph.collectives[c].transfer);
      traffic.median_transfer = Median(std::move(transfers));
      out.push_back(std::move(traffic));
    }
  }
  return out;
}

// How long after the first member a rank ends in a collective; nothing where it is no member.
std::optional<Nanos> LagOf(const Job& job, size_t collective, int32_t rank) {
  const auto& members = job.comms.collectives[collective].members;
  const auto it = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.rank_index == rank; });
  if (it == members.end()) return std::nullopt;
  const auto r = static_cast<size_t>(rank);
  const trace::HostClock& clock = job.comms.clocks[static_cast<size_t>(job.comms.clock_of_rank[r])];
  const Nanos end = Align(clock, job.ranks[r].comms.instances[static_cast<size_t>(it->instance)].end);
  return end - job.graph.collectives[collective].first_end;
}

LastEnder WhoEndsLast(const Job& job, const Traffic& traffic) {
  const Nanos residual = [&job] {
    Nanos worst = 0;
    for (const trace::HostClock& clock : job.comms.clocks) worst = std::max(worst, clock.residual);
    return worst;
  }();
  std::map<int32_t, int64_t> last;
  std::vector<size_t> told;  // collectives whose order of ends the clocks can tell
  LastEnder out;
  size_t members = 0;
  for (const size_t c : traffic.collectives) {
    members = std::max(members, job.comms.collectives[c].members.size());
    if (job.graph.collectives[c].end_margin <= residual) continue;
    ++last[job.graph.collectives[c].last_to_end];
    told.push_back(c);
  }
  out.of = static_cast<int64_t>(told.size());
  int32_t most = -1;
  for (const auto& [rank, times] : last) {
    if (times <= out.times) continue;
    out.times = times;
    most = rank;
  }
  if (most >= 0) {
    out.rank = job.ranks[static_cast<size_t>(most)].meta.rank;
    std::vector<Nanos> lags;
    for (const size_t c : told) {
      if (const std::optional<Nanos> lag = LagOf(job, c, most)) lags.push_back(*lag);
    }
    out.lag = Median(std::move(lags));
  }
  if (out.of > 0 && members >= 2) {
    const double p = 1.0 / static_cast<double>(members);
    const auto n = static_cast<double>(out.of);
    out.z = (static_cast<double>(out.times) / n - p) / std::sqrt(p * (1 - p) / n);
  }
  return out;
}

// The member a ring sends from to `receiver`. gloo's all-reduce (and the reduce-scatter made of it) sends to the rank
// before, its all-gather to the rank after; other libraries choose their own order: -1.
RankId RingSender(const trace::JobGroup& group, CommOp op, RankId receiver, bool host_backend) {
  if (!host_backend) return -1;
  const auto it = std::find(group.ranks.begin(), group.ranks.end(), receiver);
  if (it == group.ranks.end()) return -1;
  const size_t n = group.ranks.size();
  const auto i = static_cast<size_t>(it - group.ranks.begin());
  if (op == CommOp::kAllReduce || op == CommOp::kReduceScatter) return group.ranks[(i + 1) % n];
  if (op == CommOp::kAllGather) return group.ranks[(i + n - 1) % n];
  return -1;
}

// Mean over ranks of exposed transfer per step, for the operations in question.
Nanos ExposedPerStep(const Job& job, const std::vector<const Traffic*>& traffic) {
  Nanos sum = 0;
  for (const Traffic* t : traffic) {
    for (const size_t c : t->collectives) sum += job.graph.collectives[c].exposed_transfer;
  }
  return sum / static_cast<Nanos>(std::max<size_t>(1, job.num_ranks() * job.num_steps()));
}

std::vector<Nanos> ExcessBySteps(const Job& job, const std::vector<const Traffic*>& traffic, double keep) {
  std::vector<Nanos> by_step(job.num_steps(), 0);
  for (const Traffic* t : traffic) {
    for (const size_t c : t->collectives) {
      const auto it = std::lower_bound(job.steps.begin(), job.steps.end(), job.comms.collectives[c].step);
      if (it == job.steps.end() || *it != job.comms.collectives[c].step) continue;
      by_step[static_cast<size_t>(it - job.steps.begin())] +=
          static_cast<Nanos>((1 - keep) * static_cast<double>(job.graph.collectives[c].transfer));
    }
  }
  return by_step;
}

// No like to compare with: the price of a slow link is given as if it were four times faster.
constexpr double kKeep = 0.25;

void ScaleTransfers(const Job& job, const std::vector<const Traffic*>& traffic, double keep,
                    replay::SegmentEdit* edit) {
  for (const Traffic* t : traffic) {
    for (const size_t c : t->collectives) {
      edit->transfers.push_back(
          {static_cast<int32_t>(c), static_cast<Nanos>(keep * static_cast<double>(job.graph.collectives[c].transfer))});
    }
  }
}

std::string GroupName(const trace::JobGroup& group) {
  return (group.desc.empty() ? "group of ranks " : group.desc + ", ranks ") + FormatRanks(group.ranks, 6);
}

Candidate MakeSlowLink(const AnalysisInput& in, const trace::JobGroup& group,
                       const std::vector<std::pair<const Traffic*, LastEnder>>& marked,
                       const std::vector<const Traffic*>& all_traffic) {
  const Job& job = in.job;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-link";
  std::set<RankId> ends, senders;
  const bool host_backend = !job.ranks.front().has_device;
  std::string order;
  for (const auto& [traffic, ender] : marked) {
    const RankId sender = RingSender(group, traffic->op, ender.rank, host_backend);
    ends.insert(ender.rank);
    if (sender >= 0) {
      ends.insert(sender);
      senders.insert(sender);
      finding.scope.links.push_back({sender, ender.rank});
    } else {
      finding.scope.links.push_back({-1, ender.rank});
    }
    order += (order.empty() ? "" : "; ") + std::string("rank ") + std::to_string(ender.rank) + " ends last in " +
             std::to_string(ender.times) + " of " + std::to_string(ender.of) + " " + trace::ToString(traffic->op) +
             ", " + FormatDuration(ender.lag) + " after the first";
    finding.evidence.push_back(
        {std::string("median transfer of ") + trace::ToString(traffic->op), Milliseconds(traffic->median_transfer), "",
         "", Counted(static_cast<int64_t>(traffic->collectives.size()), "operation") + " of " + GroupName(group)});
  }
  // Two kinds that run round the ring in opposite directions and agree on the sender settle it.
  if (marked.size() >= 2 && senders.size() == 1) {
    finding.scope.ranks.assign(senders.begin(), senders.end());
    finding.confidence = report::Confidence::kLikely;
    finding.confidence_reason = "two kinds of collective that run in opposite directions point at the same sender";
    finding.headline = "the link out of rank " + std::to_string(*senders.begin());
  } else {
    finding.scope.ranks.assign(ends.begin(), ends.end());
    finding.confidence = report::Confidence::kSuspected;
    finding.confidence_reason = "from the order of ends alone; link counters or a pairwise test would prove it";
    finding.headline = ends.size() == 2 ? "between ranks " + FormatRanks(finding.scope.ranks, 2) + " (either end)"
                                        : "into rank " + FormatRanks(finding.scope.ranks, 2);
  }
  finding.id = "slow-link-" + std::to_string(finding.scope.ranks.front());
  finding.scope.group = GroupName(group);
  finding.sentence = "Transfers are slow though nobody is late: " + order + ".";
  finding.suggestion =
      "test this link (counters, a pairwise bandwidth test); check rate limits, cabling, NIC and its driver";
  candidate.excess = ExcessBySteps(job, all_traffic, kKeep);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  finding.evidence.push_back(
      {"gain is estimated as if the link were", "4x faster", "", "", "no faster link to compare with"});
  ScaleTransfers(job, all_traffic, kKeep, &candidate.edit);
  return candidate;
}

Candidate MakeSlowFabric(const AnalysisInput& in, const std::vector<const Traffic*>& traffic, Nanos exposed) {
  const Job& job = in.job;
  Candidate candidate;
  report::Finding& finding = candidate.finding;
  finding.cause = "slow-fabric";
  finding.id = "slow-fabric";
  FillScope(job, AllRanks(job), &finding.scope);
  finding.headline = Who(job, finding.scope);
  finding.sentence = "Moving data holds " +
                     FormatPercent(static_cast<double>(exposed) / static_cast<double>(job.median_step)) +
                     " of the step though nobody is late, and no member of a group ends later than the others.";
  finding.suggestion =
      "check the network between all hosts (rate limits, congestion, wrong interface or protocol); compare "
      "with an earlier run (--baseline); send less or overlap it";
  finding.confidence = report::Confidence::kSuspected;
  finding.confidence_reason = "no faster transfers in this job to compare with";
  for (const Traffic* t : traffic) {
    finding.evidence.push_back({std::string("median transfer of ") + trace::ToString(t->op),
                                Milliseconds(t->median_transfer), "", "",
                                GroupName(job.comms.groups[static_cast<size_t>(t->group)])});
    if (finding.evidence.size() >= 5) break;
  }
  candidate.excess = ExcessBySteps(job, traffic, kKeep);
  finding.when = ClassifyWhen(candidate.excess, job.steps);
  ScaleTransfers(job, traffic, kKeep, &candidate.edit);
  return candidate;
}

}  // namespace

void RunLinkAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  const Job& job = in.job;
  const std::vector<Traffic> traffic = CollectTraffic(job);
  std::vector<const Traffic*> unexplained;
  std::map<int32_t, std::vector<const Traffic*>> by_group;
  for (const Traffic& t : traffic) by_group[t.group].push_back(&t);
  for (const auto& [g, kinds] : by_group) {
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(g)];
    std::vector<std::pair<const Traffic*, LastEnder>> marked;
    if (group.ranks.size() >= 3) {
      for (const Traffic* t : kinds) {
        const LastEnder ender = WhoEndsLast(job, *t);
        // Chance, size and share: as good as never by chance, and late by a good part of the transfer itself.
        if (ender.of >= 6 && ender.z >= 3.5 && ender.lag * 100 >= t->median_transfer * 15)
          marked.emplace_back(t, ender);
      }
    }
    if (!marked.empty() && ExposedPerStep(job, kinds) * 10 >= job.median_step) {
      out->candidates.push_back(MakeSlowLink(in, group, marked, kinds));
    } else {
      unexplained.insert(unexplained.end(), kinds.begin(), kinds.end());
    }
  }
  // Two steps, or one, say too little about a whole network.
  if (job.num_steps() < 3 || job.median_step <= 0) return;
  const Nanos exposed = ExposedPerStep(job, unexplained);
  if (exposed * 100 >= job.median_step * 45) out->candidates.push_back(MakeSlowFabric(in, unexplained, exposed));
}

}  // namespace headway::diagnose
