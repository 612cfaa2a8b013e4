// SPDX-License-Identifier: Apache-2.0
#include "diagnose/channels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "base/median.h"
#include "base/text.h"
#include "diagnose/coordinates.h"
#include "diagnose/excess.h"
#include "trace/comm_sequence.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

constexpr size_t kLeastSteps = 4;  // fewer say nothing about what is usual

const trace::CommInstance& RowOf(const Job& job, const trace::CollectiveMember& member) {
  return job.ranks[static_cast<size_t>(member.rank_index)].comms.instances[static_cast<size_t>(member.instance)];
}

int32_t SenderOf(const Job& job, const trace::Collective& collective) {
  for (const trace::CollectiveMember& member : collective.members) {
    if (RowOf(job, member).op == CommOp::kSend) return member.rank_index;
  }
  return -1;
}

void FillMembers(const Job& job, Channel* channel) {
  for (const size_t c : channel->calls) {
    for (const trace::CollectiveMember& member : job.comms.collectives[c].members) {
      if (std::find(channel->ranks.begin(), channel->ranks.end(), member.rank_index) == channel->ranks.end()) {
        channel->ranks.push_back(member.rank_index);
      }
    }
    // Later calls add nobody, unless a file was cut off.
    if (channel->ranks.size() == job.comms.groups[static_cast<size_t>(channel->group)].ranks.size()) break;
  }
  std::sort(channel->ranks.begin(), channel->ranks.end());
  for (const int32_t r : channel->ranks) channel->hosts.push_back(job.comms.clock_of_rank[static_cast<size_t>(r)]);
  std::sort(channel->hosts.begin(), channel->hosts.end());
  channel->hosts.erase(std::unique(channel->hosts.begin(), channel->hosts.end()), channel->hosts.end());
}

// What channels or steps must have in common to be held against each other. `one_way`: also which program sends to
// which, where sizes are not written; `any_program`: there collectives of all programs are alike.
uint64_t LikenessOf(const Job& job, const Channel& channel, size_t step, bool one_way = true,
                    bool any_program = false) {
  uint64_t hash = 0x9e3779b97f4a7c15U;
  const auto mix = [&hash](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0xbf58476d1ce4e5b9U; };
  bool known = true;
  for (const size_t c : channel.CallsOf(step)) {
    const Bytes bytes = job.comms.collectives[c].bytes;
    mix(bytes);
    known = known && bytes >= 0;
  }
  // Where sizes are not written: what the same two programs exchange.
  if (!known && channel.sender < 0 && !any_program) mix(job.peer_class[static_cast<size_t>(channel.ranks.front())]);
  if (!known && channel.sender >= 0) {
    const int32_t a = job.peer_class[static_cast<size_t>(channel.ranks.front())];
    const int32_t b = job.peer_class[static_cast<size_t>(channel.ranks.back())];
    mix(std::min(a, b));
    mix(std::max(a, b));
    if (one_way) mix(job.peer_class[static_cast<size_t>(channel.sender)]);
  }
  mix(static_cast<int64_t>(channel.CallsOf(step).size()));
  return hash;
}

// Of the values in `sorted` without the one at `skip`: their lower middle, from eight on the one two fifths up. Where
// up to half of the like are struck too the others still count.
Nanos Expected(const std::vector<Nanos>& sorted, size_t skip) {
  const size_t n = sorted.size() - 1;
  const size_t i = n < 8 ? (n - 1) / 2 : (n - 1) * 2 / 5;
  return sorted[i < skip ? i : i + 1];
}

// One table of calls (rows) that stand for each other in several places (columns): adds to `sum[place]` what the others
// take, row by row.
void AddExpected(const std::vector<std::vector<Nanos>>& rows, std::vector<Nanos>* sum) {
  std::vector<std::pair<Nanos, size_t>> order;
  std::vector<Nanos> sorted;
  for (const std::vector<Nanos>& row : rows) {
    order.clear();
    for (size_t i = 0; i < row.size(); ++i) order.emplace_back(row[i], i);
    std::sort(order.begin(), order.end());
    sorted.clear();
    for (const auto& [value, i] : order) sorted.push_back(value);
    for (size_t k = 0; k < order.size(); ++k) (*sum)[order[k].second] += Expected(sorted, k);
  }
}

using Places = std::vector<std::pair<size_t, size_t>>;  // (channel, step) whose calls stand for each other

// Fills `field` of the channels' steps in `places`.
void Compare(const Job& job, const Places& places, std::vector<Nanos> Channel::* field,
             std::vector<Channel>* channels) {
  const size_t calls = (*channels)[places.front().first].CallsOf(places.front().second).size();
  std::vector<std::vector<Nanos>> rows(calls, std::vector<Nanos>(places.size()));
  for (size_t p = 0; p < places.size(); ++p) {
    const auto of = (*channels)[places[p].first].CallsOf(places[p].second);
    for (size_t k = 0; k < calls; ++k) rows[k][p] = TransferTime(job, of[k]);
  }
  std::vector<Nanos> sum(places.size(), 0);
  AddExpected(rows, &sum);
  for (size_t p = 0; p < places.size(); ++p) ((*channels)[places[p].first].*field)[places[p].second] = sum[p];
}

bool IsOfUnknownSize(const Job& job, const Channel& channel) {
  return channel.sender >= 0 && job.comms.collectives[channel.calls.front()].bytes < 0;
}

// A message that had ended before its receive began: its end was not seen, or it is not the one that was received.
bool TookNothing(const Job& job, const Channel& channel, size_t step) {
  const auto calls = channel.CallsOf(step);
  return IsOfUnknownSize(job, channel) &&
         std::any_of(calls.begin(), calls.end(), [&](size_t c) { return TransferTime(job, c) <= 0; });
}

// `one_way`: messages of unknown size alone.
void CompareSiblings(const Job& job, bool one_way, size_t least, std::vector<Channel>* channels) {
  std::map<std::tuple<int32_t, size_t, size_t, uint64_t>, Places> alike;  // (family, step, calls, likeness)
  for (size_t i = 0; i < channels->size(); ++i) {
    const Channel& channel = (*channels)[i];
    if (one_way && !IsOfUnknownSize(job, channel)) continue;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (channel.CallsOf(s).empty() || TookNothing(job, channel, s)) continue;
      alike[{channel.family, s, channel.CallsOf(s).size(), LikenessOf(job, channel, s, one_way)}].emplace_back(i, s);
    }
  }
  for (const auto& [key, places] : alike) {
    if (places.size() < least) continue;
    Compare(job, places, &Channel::siblings, channels);
    // By the first of them; where these differ from step to step, of the step that has the very first. Of sends held
    // against those of one way alone the others stay likes: they may yet be asked.
    const auto first = static_cast<int32_t>(places.front().first);
    for (const auto& [i, s] : places) {
      int32_t& likes = (*channels)[i].likes;
      likes = likes < 0 ? first : std::min(likes, first);
    }
  }
}

bool HasValue(const std::vector<Nanos>& by_step) {
  return std::any_of(by_step.begin(), by_step.end(), [](Nanos x) { return x != kNoValue; });
}

// Over the steps that `expected` knows.
bool IsFarFrom(const Channel& channel, const std::vector<Nanos>& expected) {
  constexpr Nanos kFar = 2;
  Nanos actual = 0, sum = 0;
  for (size_t s = 0; s < expected.size(); ++s) {
    if (expected[s] == kNoValue) continue;
    actual += channel.actual[s];
    sum += expected[s];
  }
  return sum > 0 && actual > kFar * sum;
}

// A pipeline's gradients are as large as the activations that went the other way. Where sizes are not written that is
// an assumption: made where too few send the same way to show what is usual, or where all of them are far slower.
void CompareWithBothWays(const Job& job, std::vector<Channel>* channels) {
  constexpr size_t kLeastOneWay = 4;
  CompareSiblings(job, false, 2, channels);
  std::vector<std::pair<size_t, std::vector<Nanos>>> both_ways;  // by channel
  for (size_t i = 0; i < channels->size(); ++i) {
    Channel& channel = (*channels)[i];
    if (!IsOfUnknownSize(job, channel)) continue;
    both_ways.emplace_back(i, std::move(channel.siblings));
    channel.siblings.assign(job.num_steps(), kNoValue);
  }
  CompareSiblings(job, true, kLeastOneWay, channels);
  for (auto& [i, expected] : both_ways) {
    Channel& channel = (*channels)[i];
    const bool has_own = HasValue(channel.siblings);
    if (has_own && !IsFarFrom(channel, expected)) continue;
    channel.siblings = std::move(expected);
    channel.is_assumed = HasValue(channel.siblings);
  }
}

// Tensor-parallel groups of all stages reduce activations of one size. Where sizes are not written and no group of the
// same program is there to be held against, those of the other programs are.
void CompareStages(const Job& job, std::vector<Channel>* channels) {
  std::map<std::tuple<int32_t, size_t, uint64_t>, Places> alike;  // (family, step, likeness)
  for (size_t i = 0; i < channels->size(); ++i) {
    const Channel& channel = (*channels)[i];
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(channel.group)];
    const bool unknown = channel.sender < 0 && job.comms.collectives[channel.calls.front()].bytes < 0;
    if (!unknown || RoleOfDescription(group.desc) != GroupRole::kTp) continue;
    for (size_t s = 0; s < job.num_steps(); ++s) {
      if (!channel.CallsOf(s).empty())
        alike[{channel.family, s, LikenessOf(job, channel, s, true, true)}].emplace_back(i, s);
    }
  }
  for (const auto& [key, places] : alike) {
    const auto has_likes = [&](const auto& place) {
      const Channel& channel = (*channels)[place.first];
      return channel.likes >= 0 && !channel.is_assumed;
    };
    if (places.size() < 2 || std::any_of(places.begin(), places.end(), has_likes)) continue;
    Compare(job, places, &Channel::siblings, channels);
    const auto first = static_cast<int32_t>(places.front().first);
    for (const auto& [i, s] : places) {
      (*channels)[i].is_assumed = true;
      (*channels)[i].likes = first;
    }
  }
}

// Slow from some step on, and longer so than not: what was usual is what it took before. `usual` is brought down to
// that where every earlier step is clearly quicker than every later one.
void LookForOnset(std::span<const size_t> steps, Channel* channel) {
  constexpr size_t kLeastBefore = 2;
  constexpr double kClearly = 1.08;
  std::vector<double> ratios;
  for (const size_t s : steps) {
    if (channel->usual[s] <= 0) return;
    ratios.push_back(static_cast<double>(channel->actual[s]) / static_cast<double>(channel->usual[s]));
  }
  std::vector<double> least_from(ratios.size() + 1, std::numeric_limits<double>::infinity());
  for (size_t i = ratios.size(); i-- > 0;) least_from[i] = std::min(least_from[i + 1], ratios[i]);
  double most = 0;
  for (size_t k = 1; k * 2 < ratios.size(); ++k) {
    most = std::max(most, ratios[k - 1]);
    if (k < kLeastBefore || most * kClearly >= least_from[k] || most >= 1) continue;
    const double before = UpperMedian(std::vector<double>(ratios.begin(), ratios.begin() + static_cast<ptrdiff_t>(k)));
    for (const size_t s : steps) {
      channel->usual[s] = static_cast<Nanos>(before * static_cast<double>(channel->usual[s]));
    }
    return;
  }
}

void CompareSteps(const Job& job, std::vector<Channel>* channels) {
  for (size_t i = 0; i < channels->size(); ++i) {
    std::map<std::pair<size_t, uint64_t>, Places> alike;  // (calls, likeness)
    for (size_t s = 0; s < job.num_steps(); ++s) {
      const Channel& channel = (*channels)[i];
      if (channel.CallsOf(s).empty() || TookNothing(job, channel, s)) continue;
      alike[{channel.CallsOf(s).size(), LikenessOf(job, channel, s)}].emplace_back(i, s);
    }
    for (const auto& [key, places] : alike) {
      if (places.size() < kLeastSteps) continue;
      Compare(job, places, &Channel::usual, channels);
      std::vector<size_t> steps;
      for (const auto& [channel, step] : places) steps.push_back(step);
      LookForOnset(steps, &(*channels)[i]);
    }
  }
}

// By (group, op, sender); collectives outside the step axis are left out. The collectives come in the order of steps.
std::vector<Channel> ByGroup(const Job& job) {
  std::vector<std::map<std::pair<CommOp, int32_t>, Channel>> found(job.comms.groups.size());
  for (size_t c = 0; c < job.comms.collectives.size(); ++c) {
    const trace::Collective& collective = job.comms.collectives[c];
    const auto it = std::lower_bound(job.steps.begin(), job.steps.end(), collective.step);
    if (it == job.steps.end() || *it != collective.step) continue;
    const bool is_p2p = job.comms.groups[static_cast<size_t>(collective.group)].is_p2p;
    const int32_t sender = is_p2p ? SenderOf(job, collective) : -1;
    Channel& channel = found[static_cast<size_t>(collective.group)][{collective.op, sender}];
    channel.group = collective.group;
    channel.op = collective.op;
    channel.sender = sender;
    if (channel.step_end.empty()) channel.step_end.assign(job.num_steps(), 0);
    channel.calls.push_back(c);
    channel.step_end[static_cast<size_t>(it - job.steps.begin())] = channel.calls.size();
  }
  const auto by_ordinal = [&](size_t a, size_t b) {
    return job.comms.collectives[a].ordinal < job.comms.collectives[b].ordinal;
  };
  std::vector<Channel> out;
  for (auto& of_group : found) {
    for (auto& [key, channel] : of_group) {
      size_t begin = 0;
      for (size_t& end : channel.step_end) {
        end = std::max(end, begin);
        std::sort(channel.calls.begin() + static_cast<std::ptrdiff_t>(begin),
                  channel.calls.begin() + static_cast<std::ptrdiff_t>(end), by_ordinal);
        begin = end;
      }
      FillMembers(job, &channel);
      out.push_back(std::move(channel));
    }
  }
  return out;
}

// A host backend may write a message's rows late, and its two ends are on two clocks.
void FillUncertainty(const Job& job, Channel* channel) {
  const trace::CollectiveMember& member = job.comms.collectives[channel->calls.front()].members.front();
  const trace::RankComms& rank = job.ranks[static_cast<size_t>(member.rank_index)].comms;
  if (channel->sender < 0 || !trace::IsHostMessage(rank, RowOf(job, member))) return;
  channel->uncertain = channel->wanders = trace::kRecordedLate;
  for (const int32_t host : channel->hosts) {
    if (channel->hosts.size() > 1) channel->uncertain += job.comms.clocks[static_cast<size_t>(host)].residual;
  }
}

}  // namespace

std::vector<Channel> CollectChannels(const Job& job) {
  std::vector<Channel> channels = ByGroup(job);
  std::map<std::tuple<std::string, bool, size_t, size_t, CommOp>, int32_t> families;
  for (Channel& channel : channels) {
    const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(channel.group)];
    const auto key = std::tuple(group.desc, group.is_p2p, group.ranks.size(), channel.hosts.size(), channel.op);
    channel.family = families.try_emplace(key, static_cast<int32_t>(families.size())).first->second;
    channel.actual.assign(job.num_steps(), 0);
    channel.siblings.assign(job.num_steps(), kNoValue);
    channel.usual.assign(job.num_steps(), kNoValue);
    for (size_t s = 0; s < job.num_steps(); ++s) {
      for (const size_t c : channel.CallsOf(s)) channel.actual[s] += TransferTime(job, c);
    }
    FillUncertainty(job, &channel);
  }
  CompareWithBothWays(job, &channels);
  CompareStages(job, &channels);
  CompareSteps(job, &channels);
  return channels;
}

std::string NameOf(const Job& job, const Channel& channel) {
  const trace::JobGroup& group = job.comms.groups[static_cast<size_t>(channel.group)];
  return (group.desc.empty() ? "group of ranks " : group.desc + ", ranks ") + FormatRanks(group.ranks, 6);
}

void ScaleTransfers(const Job& job, std::span<const size_t> collectives, double keep, replay::SegmentEdit* edit,
                    double lags) {
  for (const size_t c : collectives) {
    edit->transfers.push_back({static_cast<int32_t>(c),
                               static_cast<Nanos>(keep * static_cast<double>(job.graph.collectives[c].transfer)),
                               lags});
  }
}

}  // namespace headway::diagnose
