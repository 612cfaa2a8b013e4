// SPDX-License-Identifier: Apache-2.0
#include "synth/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace headway::synth {

Engine::Engine(int ranks, std::vector<std::vector<int>> channels, Transfer transfer, int max_pending)
    : ranks_(static_cast<size_t>(ranks)),
      transfer_(std::move(transfer)),
      max_pending_(static_cast<size_t>(max_pending)) {
  for (auto& members : channels) channels_.push_back({std::move(members), {}});
  for (Rank& rank : ranks_) {
    rank.handles.assign(kMaxHandles, kNone);
    rank.issued_on_channel.assign(channels_.size(), 0);
  }
}

std::vector<RankRecord> Engine::Run(const NextStep& next_step) {
  for (int r = static_cast<int>(ranks_.size()) - 1; r >= 0; --r) wake_.push_back(r);
  while (!wake_.empty()) {
    const int r = wake_.back();
    wake_.pop_back();
    Advance(r);
    RunHost(r, next_step);
  }
  std::vector<RankRecord> records;
  for (Rank& rank : ranks_) {
    const bool drained =
        std::all_of(rank.streams.begin(), rank.streams.end(), [](const Stream& s) { return s.done == s.items.size(); });
    HEADWAY_CHECK(rank.finished && drained && rank.open.empty());
    records.push_back(std::move(rank.record));
  }
  return records;
}

void Engine::RunHost(int r, const NextStep& next_step) {
  Rank& rank = ranks_[static_cast<size_t>(r)];
  while (!rank.finished) {
    while (rank.pc < rank.program.instrs.size()) {
      if (!Execute(r, rank.program.instrs[rank.pc])) return;
      ++rank.pc;
    }
    rank.program.Clear();
    rank.pc = 0;
    rank.finished = !next_step(r, rank.program);
  }
}

bool Engine::Execute(int r, const Instr& instr) {
  Rank& rank = ranks_[static_cast<size_t>(r)];
  if (instr.op != OpCode::kIssue && instr.op != OpCode::kHostWait) rank.host_work += instr.duration;
  switch (instr.op) {
    case OpCode::kOpen:
      OpenSpan(rank, instr);
      rank.now += instr.duration;
      return true;
    case OpCode::kClose:
      HEADWAY_CHECK(!rank.open.empty());
      rank.now += instr.duration;
      if (rank.open.back() >= 0) rank.record.spans[static_cast<size_t>(rank.open.back())].end = rank.now;
      rank.open.pop_back();
      return true;
    case OpCode::kBusy: rank.now += instr.duration; return true;
    case OpCode::kCall:
      Leaf(rank, instr, rank.now + instr.duration);
      rank.now += instr.duration;
      return true;
    case OpCode::kIssue:
      if (!Issue(rank, instr)) return false;
      Advance(r);
      return true;
    case OpCode::kDepend: Depend(rank, instr); return true;
    case OpCode::kHostWait: return HostWait(rank, instr);
    case OpCode::kMark:
      rank.record.marks.push_back({instr.handle, rank.now, rank.record.items.size(), rank.record.spans.size(),
                                   std::exchange(rank.host_work, 0), std::exchange(rank.device_work, 0)});
      return true;
  }
  return true;
}

Engine::Stream& Engine::StreamOf(Rank& rank, uint8_t index) {
  if (rank.streams.size() <= index) rank.streams.resize(index + size_t{1});
  return rank.streams[index];
}

int32_t Engine::Innermost(const Rank& rank) {
  if (rank.open.empty()) return kNone;
  return rank.open.back() >= 0 ? rank.open.back() : -2 - rank.open.back();
}

void Engine::OpenSpan(Rank& rank, const Instr& instr) {
  const int32_t parent = Innermost(rank);
  if (instr.name == kNoName) {
    rank.open.push_back(-2 - parent);
    return;
  }
  rank.open.push_back(static_cast<int32_t>(rank.record.spans.size()));
  rank.record.spans.push_back(
      {rank.now, rank.now, instr.name, instr.category, instr.thread, instr.detail, kNone, parent});
}

int32_t Engine::Leaf(Rank& rank, const Instr& instr, Time end) {
  if (instr.name == kNoName) return kNone;
  const int32_t parent = Innermost(rank);
  rank.record.spans.push_back({rank.now, end, instr.name, instr.category, instr.thread, instr.detail, kNone, parent});
  return static_cast<int32_t>(rank.record.spans.size()) - 1;
}

bool Engine::Issue(Rank& rank, const Instr& instr) {
  Stream& stream = StreamOf(rank, instr.stream);
  Time begin = rank.now;
  if (stream.items.size() >= max_pending_) {  // the queue is full until the item that many places ahead has ended
    const Item& oldest = rank.record.items[static_cast<size_t>(stream.items[stream.items.size() - max_pending_])];
    if (!oldest.done()) return false;
    begin = std::max(begin, oldest.end);
  }
  const auto index = static_cast<int32_t>(rank.record.items.size());
  Item item;
  item.work = rank.program.works[instr.work];
  item.ready = begin + instr.latency;
  item.stream = instr.stream;
  item.span = Leaf(rank, instr, begin + instr.duration);
  if (item.span >= 0) rank.record.spans[static_cast<size_t>(item.span)].item = index;
  item.dep_begin = static_cast<uint32_t>(rank.deps.size());
  item.dep_count = static_cast<uint32_t>(stream.pending_deps.size());
  rank.deps.insert(rank.deps.end(), stream.pending_deps.begin(), stream.pending_deps.end());
  stream.pending_deps.clear();
  if (item.work.channel >= 0) item.instance = rank.issued_on_channel[static_cast<size_t>(item.work.channel)]++;
  if (instr.handle >= 0) rank.handles[static_cast<size_t>(instr.handle)] = index;
  stream.items.push_back(index);
  rank.record.items.push_back(item);
  rank.now = begin + instr.duration;
  rank.host_work += instr.duration;
  if (item.work.channel < 0) rank.device_work += item.work.duration;
  return true;
}

void Engine::Depend(Rank& rank, const Instr& instr) {
  Leaf(rank, instr, rank.now + instr.duration);
  rank.now += instr.duration;
  StreamOf(rank, std::max(instr.stream, instr.other));  // both exist before a reference to one is taken
  int32_t target = kNone;
  if (instr.handle >= 0) {
    target = rank.handles[static_cast<size_t>(instr.handle)];
    HEADWAY_CHECK(target >= 0);
  } else if (const Stream& other = StreamOf(rank, instr.other); !other.items.empty()) {
    target = other.items.back();
  }
  if (target >= 0) StreamOf(rank, instr.stream).pending_deps.push_back(target);
}

bool Engine::HostWait(Rank& rank, const Instr& instr) {
  int32_t target = kNone;
  if (instr.handle >= 0) {
    target = rank.handles[static_cast<size_t>(instr.handle)];
    HEADWAY_CHECK(target >= 0);
  } else if (const Stream& stream = StreamOf(rank, instr.stream); !stream.items.empty()) {
    target = stream.items.back();
  }
  Time end = rank.now + instr.duration;
  if (target >= 0) {
    Item& item = rank.record.items[static_cast<size_t>(target)];
    if (!item.done()) return false;
    end = std::max(end, item.end + instr.latency);
    if (item.work.shown_until_wait) item.shown_end = std::max(item.shown_end, end);
  }
  Leaf(rank, instr, end);
  rank.now = end;
  return true;
}

void Engine::Advance(int r) {
  Rank& rank = ranks_[static_cast<size_t>(r)];
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t s = 0; s < rank.streams.size(); ++s) {
      while (rank.streams[s].done < rank.streams[s].items.size() && StartHead(r, rank.streams[s])) progress = true;
    }
  }
}

bool Engine::StartHead(int r, Stream& stream) {
  Rank& rank = ranks_[static_cast<size_t>(r)];
  const int32_t index = stream.items[stream.done];
  Item& item = rank.record.items[static_cast<size_t>(index)];
  if (!stream.head_started) {
    Time start = std::max(stream.free_at, item.ready);
    for (uint32_t d = 0; d < item.dep_count; ++d) {
      const Item& dep = rank.record.items[static_cast<size_t>(rank.deps[item.dep_begin + d])];
      if (!dep.done()) return false;
      start = std::max(start, dep.end);
    }
    item.start = start;
    stream.head_started = true;
    if (item.work.channel < 0) {
      item.end = start + item.work.duration;
    } else {
      Arrive(r, index);
    }
  }
  if (!item.done()) return false;
  stream.free_at = item.end;
  stream.head_started = false;
  ++stream.done;
  item.shown_end = std::max(item.shown_end, item.end);
  return true;
}

void Engine::Arrive(int r, int32_t item_index) {
  const Item& item = ranks_[static_cast<size_t>(r)].record.items[static_cast<size_t>(item_index)];
  Channel& channel = channels_[static_cast<size_t>(item.work.channel)];
  const auto number = static_cast<size_t>(item.instance);
  if (channel.instances.size() <= number) channel.instances.resize(number + 1);
  Open& open = channel.instances[number];
  if (open.items.empty()) open.items.assign(channel.members.size(), kNone);
  const auto member = std::find(channel.members.begin(), channel.members.end(), r) - channel.members.begin();
  HEADWAY_CHECK(static_cast<size_t>(member) < channel.members.size());
  open.items[static_cast<size_t>(member)] = item_index;
  if (++open.arrived == static_cast<int>(channel.members.size())) Resolve(item.work.channel, item.instance);
}

void Engine::Resolve(int32_t channel_index, int32_t number) {
  Channel& channel = channels_[static_cast<size_t>(channel_index)];
  Open& open = channel.instances[static_cast<size_t>(number)];
  const size_t members = channel.members.size();
  const auto item_of = [&](size_t m) -> Item& {
    return ranks_[static_cast<size_t>(channel.members[m])].record.items[static_cast<size_t>(open.items[m])];
  };
  starts_.resize(members);
  ends_.resize(members);
  const Work& first = item_of(0).work;
  Instance instance{channel_index, number, 0, first.key, first.step, first.detail, {}};
  for (size_t m = 0; m < members; ++m) {
    starts_[m] = item_of(m).start;
    instance.bytes = std::max(instance.bytes, item_of(m).work.bytes);
  }
  instance.starts = starts_;
  transfer_(instance, ends_);
  const size_t last = static_cast<size_t>(std::max_element(starts_.begin(), starts_.end()) - starts_.begin());
  for (size_t m = 0; m < members; ++m) {
    HEADWAY_CHECK(ends_[m] >= starts_[m]);
    item_of(m).end = ends_[m];
    item_of(m).last_start = starts_[last];
    item_of(m).last_rank = channel.members[last];
    wake_.push_back(channel.members[m]);
  }
  open.items = {};
}

}  // namespace headway::synth
