// SPDX-License-Identifier: Apache-2.0
#include "diagnose/transfer_start.h"

#include <algorithm>

#include "diagnose/excess.h"

namespace headway::diagnose {

namespace {

using trace::CommOp;

constexpr Bytes kLarger = 4;       // times the payload: enough for the start to matter little
constexpr double kSomewhat = 2;    // times what moves: enough to tell what more of it takes
constexpr Bytes kTiny = 16;        // the payload is so many times
constexpr size_t kEnoughTiny = 4;  // for a middle
constexpr Nanos kLeastOfDevices = 10 * kMicrosecond;
constexpr Nanos kLeastOfHosts = 50 * kMicrosecond;

bool LeavesHost(const Channel& channel) { return channel.hosts.size() > 1; }

// Bytes that pass each link.
double Moved(const Job& job, const Channel& channel, Bytes bytes) {
  const auto n =
      static_cast<double>(std::max<size_t>(2, job.comms.groups[static_cast<size_t>(channel.group)].ranks.size()));
  const double round = (n - 1) / n;
  const double times = channel.op == CommOp::kAllReduce                                           ? 2 * round
                       : channel.op == CommOp::kAllGather || channel.op == CommOp::kReduceScatter ? round
                                                                                                  : 1;
  return times * static_cast<double>(bytes);
}

}  // namespace

Bytes MeanBytes(const Job& job, std::span<const size_t> calls) {
  Bytes sum = 0;
  for (const size_t c : calls) {
    if (job.comms.collectives[c].bytes < 0) return -1;
    sum += job.comms.collectives[c].bytes;
  }
  return calls.empty() ? -1 : sum / static_cast<Bytes>(calls.size());
}

Nanos ShortestTransfer(const Job& job, const std::vector<Channel>& channels, const Channel& like) {
  std::vector<Nanos> times;
  for (const Channel& channel : channels) {
    if (channel.op != like.op || LeavesHost(channel) != LeavesHost(like)) continue;
    for (const size_t c : channel.calls) times.push_back(TransferTime(job, c));
  }
  if (times.empty()) return 0;
  const auto low = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 20);
  std::nth_element(times.begin(), low, times.end());
  return *low;
}

Nanos StartOf(const Job& job, const std::vector<Channel>& channels, const Channel& like, Nanos shortest) {
  const Bytes bytes = MeanBytes(job, like.calls);
  if (bytes <= 0) return shortest;
  std::vector<Nanos> tiny;
  std::vector<double> rates;       // bytes per ns
  std::vector<double> more_rates;  // of what somewhat larger ones move more, in what they take longer
  const double moved = Moved(job, like, bytes);
  for (const Channel& channel : channels) {
    if (LeavesHost(channel) != LeavesHost(like)) continue;
    for (const size_t c : channel.calls) {
      const Bytes of_call = job.comms.collectives[c].bytes;
      const Nanos time = TransferTime(job, c);
      if (of_call < 0 || time <= 0) continue;
      if (channel.op == like.op && of_call * kTiny <= bytes) tiny.push_back(time);
      const double of_larger = Moved(job, channel, of_call);
      if (of_call >= kLarger * bytes) rates.push_back(of_larger / static_cast<double>(time));
      if (of_larger >= kSomewhat * moved && time > shortest) {
        more_rates.push_back((of_larger - moved) / static_cast<double>(time - shortest));
      }
    }
  }
  const Nanos least = job.ranks.front().has_device ? kLeastOfDevices : kLeastOfHosts;
  if (tiny.size() >= kEnoughTiny) return std::clamp(Median(std::move(tiny)), std::min(least, shortest), shortest);
  if (rates.empty()) rates = std::move(more_rates);
  if (rates.empty()) return shortest;
  // The quicker ones: others share their links.
  const auto quick = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() * 9 / 10);
  std::nth_element(rates.begin(), quick, rates.end());
  std::vector<Nanos> rest;
  for (const size_t c : like.calls) {
    rest.push_back(TransferTime(job, c) -
                   static_cast<Nanos>(Moved(job, like, job.comms.collectives[c].bytes) / *quick));
  }
  const auto low = rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 20);
  std::nth_element(rest.begin(), low, rest.end());
  return std::clamp(*low, std::min(least, shortest), shortest);
}

}  // namespace headway::diagnose
