// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's trace file; used by trace_writer.cc alone.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "synth/output_file.h"
#include "synth/trace_writer.h"

namespace headway::synth {

class RankWriter {
 public:
  RankWriter(const JobRun& run, int rank, OutputFile& out);
  void Write();

 private:
  // trace_metadata.cc
  void Head();
  void DistributedInfo(std::string& text);
  void JobGroups(std::string& text);
  void ThreadNames();
  void NameThread(std::string_view pid, int64_t tid, std::string_view name);
  void Tail();
  void MetadataEvent(std::string_view name, std::string_view pid, int64_t tid, std::string_view args);

  // trace_writer.cc
  void NumberSpans();
  void HostSpans(HostThread thread);
  void HostSpan(size_t index);
  void GlooWork();
  void DeviceItems();
  void Launch(const Item& item);
  void PlainCalls();
  void DeviceAnnotations();
  void EventHead(std::string_view category, uint32_t name, int64_t pid, int64_t tid, Time begin, Time end);
  void EventTail();
  void Flow(char phase, int64_t id, int64_t pid, int64_t tid, Time at, std::string_view category);
  void KernelArgs(const Item& item);
  void CopyArgs(const Item& item);
  void ForwardBackwardFlow(const Span& span);
  void AppendTime(Time at);
  void AppendDuration(Time begin, Time end);

  // trace_args.cc
  void CommsArgs(std::string& text, const CollectiveDetail& detail, int32_t sequence);
  void ShapeArgs(std::string& text, const Span& span);
  const CollectiveDetail* DetailOf(const Span& span) const;
  int32_t SequenceOf(const Item& item) const;

  bool IsCall(const Span& span) const { return span.category == kRuntime || span.category == kDriver; }
  int64_t StreamId(uint8_t stream) const;
  int64_t WorkThread(const Item& item) const;  // of a gloo item
  int64_t Tid(HostThread thread) const { return thread == kAutogradThread ? pid_ + 9848 : pid_; }
  const Item* ItemNear(size_t span) const;  // the item issued in a record_param_comms span

  const JobRun& run_;
  const Job& job_;
  const RankRecord& record_;
  int rank_;
  OutputFile& out_;
  bool gloo_, old_;
  int64_t pid_, device_;
  HostClock clock_;
  Time base_ = 0;  // subtracted from all times
  size_t first_span_, first_item_;
  std::vector<int64_t> external_;     // per recorded span: External id, correlation or Python id
  std::vector<int32_t> peer_number_;  // per recorded item: number among the rank's sends and receives
  int64_t event_index_ = 0;
};

}  // namespace headway::synth
