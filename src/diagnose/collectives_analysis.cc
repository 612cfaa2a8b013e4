// SPDX-License-Identifier: Apache-2.0
// How a program exchanges its gradients and parameters, held against how it could: in many small pieces that each pay
// the start of a transfer, or one after the other with the work they could have run beside.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "base/median.h"
#include "base/text.h"
#include "diagnose/analyses.h"
#include "diagnose/exchange_role.h"
#include "diagnose/handing_in.h"
#include "diagnose/own_edit.h"
#include "diagnose/scope.h"
#include "diagnose/transfer_start.h"
#include "diagnose/when.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

constexpr Bytes kUsualBucket = 25'000'000;            // what frameworks put into one exchange of gradients
constexpr size_t kManyCalls = 64;                     // a step; fewer are no burden
constexpr size_t kManyMore = 4;                       // times the calls of other steps
constexpr Nanos kLongestStart = 150 * kMicrosecond;   // to a transfer: in longer ones a quick network moves megabytes,
constexpr Nanos kLongestStartOfHosts = kMillisecond;  // and processes a few hundred kilobytes
constexpr int kSmallPercent = 1;                      // of the step: from here on worth a remark
constexpr int kExposedPercent = 3;
constexpr double kHardlyHidden = 0.85;  // share of the transfers that is exposed

// Whether most calls take hardly longer than a transfer needs to start. Where all of a job are equally long the
// shortest of them need not be a start.
bool AreShort(const Job& job, std::span<const size_t> calls, Nanos start) {
  if (start > (job.ranks.front().has_device ? kLongestStart : kLongestStartOfHosts)) return false;
  std::vector<Nanos> times;
  for (const size_t c : calls) times.push_back(TransferTime(job, c));
  return Median(std::move(times)) <= 3 * start;
}

// By index, ascending.
std::vector<size_t> RanksOf(const Family& family) {
  std::set<size_t> out;
  for (const Channel* channel : family) out.insert(channel->ranks.begin(), channel->ranks.end());
  return {out.begin(), out.end()};
}

void Describe(const Job& job, const Family& family, Candidate* candidate) {
  report::Finding& finding = candidate->finding;
  FillScope(job, RanksOf(family), &finding.scope);
  finding.headline = Who(job, finding.scope);
  const auto& group = job.comms.groups[static_cast<size_t>(family.front()->group)];
  finding.scope.group = group.desc.empty() ? "" : group.desc;
  finding.when = ClassifyWhen(candidate->excess, job.steps);
  finding.confidence = report::Confidence::kSuspected;
  candidate->at_most_info = true;
}

// What a channel exchanges in many small pieces, by step.
struct SmallCalls {
  std::vector<Nanos> saved;    // by axis step: what fewer calls would save in each; 0 = not many, or not small
  std::vector<double> fewer;   // by axis step: share of its calls that would not be made
  std::vector<size_t> pieces;  // axis steps in which it is cut into many more pieces than in others
  size_t calls = 0;            // in the struck steps
  Bytes bytes = -1;            // mean of a call; -1 = not written
  size_t struck = 0;
  size_t usual = 0;  // calls of the middle step
};

// What the channel's steps have in common that are not cut into many more pieces than most.
struct UsualCalls {
  size_t calls = 0;    // of the middle one
  Nanos transfer = 0;  // of the middle one of those with about as many
};

UsualCalls UsualOf(const Job& job, const Channel& channel) {
  std::vector<size_t> counts;
  for (size_t s = 0; s < job.num_steps(); ++s) counts.push_back(channel.CallsOf(s).size());
  UsualCalls out{LowerMedian(&counts)};
  std::vector<Nanos> transfers;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (channel.CallsOf(s).size() <= 2 * out.calls) transfers.push_back(channel.actual[s]);
  }
  out.transfer = Median(std::move(transfers));
  return out;
}

// Axis steps in which it is cut into many more pieces than the `usual` number of calls.
std::vector<size_t> StepsInPieces(const Job& job, const Channel& channel, size_t usual) {
  std::vector<size_t> out;
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const size_t calls = channel.CallsOf(s).size();
    if (usual > 0 && calls >= kManyCalls && calls >= kManyMore * usual) out.push_back(s);
  }
  return out;
}

// `shortest` transfer of such calls; of that what a start takes.
SmallCalls SmallCallsOf(const Job& job, const Channel& channel, Nanos shortest, Nanos start) {
  SmallCalls out{std::vector<Nanos>(job.num_steps(), 0), std::vector<double>(job.num_steps(), 0), {}};
  const UsualCalls usual = UsualOf(job, channel);
  out.usual = usual.calls;
  const std::vector<size_t> pieces = StepsInPieces(job, channel, usual.calls);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    const std::span<const size_t> calls = channel.CallsOf(s);
    const Bytes bytes = MeanBytes(job, calls);
    if (calls.size() < kManyCalls) continue;
    // The same in many more pieces than in other steps needs no size to be told: what it takes longer is known.
    const bool in_pieces = std::binary_search(pieces.begin(), pieces.end(), s);
    const bool small = bytes * 4 <= kUsualBucket && (bytes >= 0 || AreShort(job, calls, shortest));
    if (!in_pieces && !small) continue;
    const double fewer = 1 - (bytes < 0 ? static_cast<double>(kManyCalls) / static_cast<double>(calls.size())
                                        : static_cast<double>(bytes) / static_cast<double>(kUsualBucket));
    const Nanos longer = (channel.actual[s] - usual.transfer) / static_cast<Nanos>(calls.size());
    const auto most = static_cast<Nanos>(fewer * static_cast<double>(shortest));
    if ((small ? most : longer) * static_cast<Nanos>(calls.size()) * 100 < job.median_step * kSmallPercent) continue;
    out.saved[s] = small ? static_cast<Nanos>(fewer * static_cast<double>(start)) : longer;
    out.fewer[s] = in_pieces ? 1 - static_cast<double>(usual.calls) / static_cast<double>(calls.size()) : fewer;
    if (in_pieces) out.pieces.push_back(s);
    out.calls += calls.size();
    out.bytes = out.struck == 0 ? bytes : std::max(out.bytes, bytes);
    ++out.struck;
  }
  return out;
}

// More calls are more work of the host, too: what each rank's own time is longer by in these steps than in its others.
void RemoveCalling(const AnalysisInput& in, const std::vector<size_t>& ranks, const std::vector<size_t>& steps,
                   Candidate* candidate) {
  const size_t n = in.job.num_steps();
  std::vector<std::vector<Nanos>> longer(n);
  for (const size_t r : ranks) {
    std::vector<Nanos> others, cost(n, 0);
    for (size_t s = 0; s < n; ++s) {
      const bool is_struck = std::binary_search(steps.begin(), steps.end(), s);
      if (const Nanos own = in.excess.own[r * n + s]; own != kNoValue && !is_struck) others.push_back(own);
    }
    const Nanos usual = Median(std::move(others));
    for (const size_t s : steps) {
      const Nanos own = in.excess.own[r * n + s];
      cost[s] = own == kNoValue ? 0 : std::max<Nanos>(0, own - usual);
      longer[s].push_back(cost[s]);
    }
    RemoveOwnTime(in.job, r, {}, cost, &candidate->edit);
  }
  for (const size_t s : steps) candidate->excess[s] += Median(std::move(longer[s]));
}

// Without a device each call that need not be made is time of its rank, before it arrives. False: not known.
bool RemoveHandingIn(const Job& job, const Family& family, const SmallCalls& small, Candidate* candidate) {
  std::vector<Nanos> each;
  for (const size_t r : RanksOf(family)) each.push_back(HandingInOf(job, r, family.front()->op));
  if (*std::min_element(each.begin(), each.end()) == 0) return false;
  std::vector<double> fewer(job.graph.collectives.size(), 0);
  for (const Channel* channel : family) {
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (small.saved[s] == 0) continue;
      for (const size_t c : channel->CallsOf(s)) fewer[c] = small.fewer[s];
    }
  }
  auto mean = each.begin();
  for (const size_t r : RanksOf(family)) RemoveBeforeArrivals(job, r, fewer, *mean++, &candidate->edit);
  const Nanos usual = Median(std::move(each));
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (small.saved[s] == 0) continue;
    const auto calls = static_cast<double>(family.front()->CallsOf(s).size());
    candidate->excess[s] += static_cast<Nanos>(small.fewer[s] * calls * static_cast<double>(usual));
  }
  return true;
}

// Of an unknown role only what a few steps show against the others is told: the exchange of gradients alone is cut now
// so and now so.
void CheckSmall(const AnalysisInput& in, const Family& family, bool role_known, AnalysisOutput* out) {
  const Job& job = in.job;
  const Channel& first = *family.front();
  bool many = false;
  for (size_t s = 0; s < job.num_steps(); ++s) many = many || first.CallsOf(s).size() >= kManyCalls;
  if (!many) return;  // before all transfers of the job are looked at
  const Nanos shortest = ShortestTransfer(job, in.channels, first);
  const Nanos start = StartOf(job, in.channels, first, shortest);
  const SmallCalls small = SmallCallsOf(job, first, shortest, start);
  if (small.struck == 0 || (!role_known && small.pieces.size() < small.struck)) return;
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  for (size_t s = 0; s < job.num_steps(); ++s) {
    if (small.saved[s] == 0) continue;
    candidate.excess[s] = small.saved[s] * static_cast<Nanos>(first.CallsOf(s).size());
    for (const Channel* channel : family) {
      for (const size_t c : channel->CallsOf(s)) {
        candidate.edit.transfers.push_back(
            {static_cast<int32_t>(c), std::max<Nanos>(0, job.graph.collectives[c].transfer - small.saved[s])});
      }
    }
  }
  if (!RemoveHandingIn(job, family, small, &candidate) && !small.pieces.empty())
    RemoveCalling(in, RanksOf(family), small.pieces, &candidate);
  Describe(job, family, &candidate);
  report::Finding& finding = candidate.finding;
  finding.cause = "small-collectives";
  finding.id = "small-collectives-" + std::to_string(first.group);
  const auto calls = static_cast<int64_t>(small.calls / small.struck);
  const bool known = small.bytes >= 0;
  // Of an unknown role it is some steps always: those in pieces are less than half.
  const bool some = small.struck * 4 < job.num_steps() * 3;
  const std::string travel = std::string(!role_known ? "In some steps the same data"
                                         : some      ? "In some steps gradients or parameters"
                                                     : "Gradients or parameters") +
                             " travel in " + FormatCount(calls) + " " + trace::ToString(first.op) +
                             (known ? " of " + FormatBytes(small.bytes) : "") + " a step";
  if (small.pieces.size() == small.struck) {
    finding.sentence = travel + ", in the others in " + FormatCount(static_cast<int64_t>(small.usual)) + ".";
    finding.suggestion = "exchange the same buckets in all steps; look at what these steps do differently";
    finding.confidence_reason = "against the steps in which the same exchange is cut less";
    finding.evidence.push_back({std::string("calls of ") + trace::ToString(first.op) + " per step", FormatCount(calls),
                                FormatCount(static_cast<int64_t>(small.usual)), "", "expected: as in the other steps"});
    out->candidates.push_back(std::move(candidate));
    return;
  }
  finding.sentence = travel + "; each pays about " + FormatDuration(start) + " before data move" +
                     (known ? "." : ", and hardly takes longer (no sizes are written).");
  finding.suggestion = "larger buckets (DDP: bucket_cap_mb; FSDP: wrap larger modules)";
  finding.confidence_reason = "what fewer calls bring is estimated from the other transfers of this job";
  const int64_t enough =
      known ? std::max<int64_t>(1, calls * small.bytes / kUsualBucket) : static_cast<int64_t>(kManyCalls);
  finding.evidence.push_back(
      {std::string("calls of ") + trace::ToString(first.op) + " per step", FormatCount(calls), FormatCount(enough), "",
       known ? "expected: as many buckets of " + FormatBytes(kUsualBucket) : "expected: no more"});
  out->candidates.push_back(std::move(candidate));
}

struct Exposure {
  Nanos exposed = 0, transfer = 0;  // of one member on average
  Nanos alone = 0;                  // of `exposed` what the call is that has nothing to run beside
  size_t calls = 0;
};

// Without what is a small part of the largest: beside the buckets a program may exchange a number, the loss or a norm.
std::vector<size_t> LargeCalls(const Job& job, std::span<const size_t> calls) {
  constexpr Nanos kPart = 10;
  Nanos largest = 0;
  for (const size_t c : calls) largest = std::max(largest, job.graph.collectives[c].transfer);
  std::vector<size_t> out;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(out),
               [&](size_t c) { return job.graph.collectives[c].transfer * kPart >= largest; });
  return out;
}

std::vector<Exposure> ExposureBySteps(const Job& job, const Family& family) {
  std::vector<Exposure> out(job.num_steps());
  for (const Channel* channel : family) {
    const auto members = static_cast<Nanos>(channel->ranks.size());
    for (size_t s = 0; s < out.size(); ++s) {
      const std::span<const size_t> calls = channel->CallsOf(s);
      for (const size_t c : calls) {
        out[s].exposed += job.graph.collectives[c].exposed_transfer / members;
        out[s].transfer += job.graph.collectives[c].transfer;
      }
      const std::vector<size_t> large = LargeCalls(job, calls);
      out[s].calls = std::max(out[s].calls, large.size());
      if (large.empty()) continue;
      // Gradients come at the end of the work they are of, parameters before it.
      const size_t alone = channel->op == CommOp::kAllGather ? large.front() : large.back();
      out[s].alone += job.graph.collectives[alone].exposed_transfer / members;
    }
  }
  for (Exposure& e : out) {
    e.exposed /= static_cast<Nanos>(family.size());
    e.transfer /= static_cast<Nanos>(family.size());
    e.alone /= static_cast<Nanos>(family.size());
  }
  return out;
}

// Own work of a step that transfers can run beside, mean over ranks.
Nanos WorkOf(const Job& job, size_t s) {
  Nanos sum = 0;
  for (size_t r = 0; r < job.num_ranks(); ++r) {
    const pattern::Step* step = job.StepOf(r, s);
    if (step != nullptr) sum += step->by_class[static_cast<size_t>(pattern::WorkClass::kCompute)];
  }
  return sum / static_cast<Nanos>(std::max<size_t>(1, job.num_ranks()));
}

// Adds what of the family's transfers could be hidden to the candidate. Returns whether it is worth naming.
bool AddHideable(const Job& job, const Family& family, Candidate* candidate) {
  const std::vector<Exposure> exposure = ExposureBySteps(job, family);
  Nanos sum = 0;
  std::vector<double> keep(job.num_steps(), 1);
  for (size_t s = 0; s < exposure.size(); ++s) {
    const auto [exposed, transfer, alone, calls] = exposure[s];
    // A single call is always exposed.
    if (calls < 2 || transfer <= 0 || static_cast<double>(exposed) < kHardlyHidden * static_cast<double>(transfer))
      continue;
    const Nanos room = std::max<Nanos>(0, WorkOf(job, s) * 2 / 3 - candidate->excess[s]);
    const Nanos hidden = std::min(exposed - alone, room);
    candidate->excess[s] += hidden;
    keep[s] = std::max(0.0, 1 - static_cast<double>(hidden) / static_cast<double>(transfer));
    sum += hidden;
  }
  if (sum <= 0) return false;
  for (const Channel* channel : family) {
    for (size_t s = 0; s < keep.size(); ++s) {
      if (keep[s] < 1) ScaleTransfers(job, channel->CallsOf(s), keep[s], &candidate->edit);
    }
  }
  return true;
}

void CheckOverlap(const AnalysisInput& in, const std::vector<Family>& families, AnalysisOutput* out) {
  const Job& job = in.job;
  Candidate candidate;
  candidate.excess.assign(job.num_steps(), 0);
  std::string operations;
  const Family* first = nullptr;
  for (const Family& family : families) {
    if (!AddHideable(job, family, &candidate)) continue;
    if (first == nullptr) first = &family;
    operations += (operations.empty() ? "" : " and ") + std::string(trace::ToString(family.front()->op));
  }
  Nanos sum = 0;
  for (const Nanos x : candidate.excess) sum += x;
  const Nanos mean = sum / static_cast<Nanos>(job.num_steps());
  if (first == nullptr || mean * 100 < job.median_step * kExposedPercent) return;
  Describe(job, *first, &candidate);
  report::Finding& finding = candidate.finding;
  finding.cause = "lost-overlap";
  finding.id = "lost-overlap";
  finding.sentence = "The transfers of " + operations +
                     " run beside no work: nothing hides them, though the step has work that could.";
  finding.suggestion =
      "let gradients be exchanged while the backward pass runs (DDP buckets, FSDP prefetch; no synchronisation "
      "between)";
  finding.confidence_reason = "a program may need them one after the other; the trace cannot tell";
  finding.evidence.push_back({"transfers that could be hidden, per step", Milliseconds(mean), "", "",
                              "exposed transfers beside at most two thirds of the computing time"});
  out->candidates.push_back(std::move(candidate));
}

}  // namespace

void RunCollectivesAnalysis(const AnalysisInput& in, AnalysisOutput* out) {
  if (in.job.num_steps() == 0 || in.job.num_ranks() < 2) return;
  const Exchanges exchanges = ExchangesOf(in.job, in.channels);
  for (const Family& family : exchanges.known) CheckSmall(in, family, true, out);
  for (const Family& family : exchanges.unknown) {
    // Groups that nothing names are one family, whatever they do: those that are cut in the same steps belong together.
    std::map<std::vector<size_t>, Family> varying;
    for (const Channel* channel : family) {
      std::vector<size_t> steps = StepsInPieces(in.job, *channel, UsualOf(in.job, *channel).calls);
      if (!steps.empty()) varying[std::move(steps)].push_back(channel);
    }
    for (const auto& [steps, alike] : varying) CheckSmall(in, alike, false, out);
  }
  CheckOverlap(in, exchanges.known, out);
}

}  // namespace headway::diagnose
