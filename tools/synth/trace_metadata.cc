// SPDX-License-Identifier: Apache-2.0
// The parts of a trace file around its events.
#include <algorithm>
#include <cstdio>

#include "synth/draws.h"
#include "synth/rank_writer.h"

namespace headway::synth {
namespace {

std::string JsonRanks(const std::vector<int>& ranks) {
  std::string text = "[";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text + "]";
}

std::string HostName(const Job& job, int rank) {
  char name[32];
  std::snprintf(name, sizeof name, "node%03d", job.mesh.Host(rank));
  return name;
}

constexpr const char* kDevice =
    "\"name\": \"NVIDIA A100-SXM4-80GB\", \"totalGlobalMem\": 85097971712,\n"
    "      \"computeMajor\": 8, \"computeMinor\": 0,\n"
    "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
    "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
    "      \"sharedMemPerBlock\": 49152, \"numSms\": 108\n"
    "    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 166912, \"sharedMemPerMultiprocessor\": "
    "167936";

}  // namespace

void RankWriter::Head() {
  std::string& text = out_.Text();
  text += "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [";
  for (int d = 0; !gloo_ && d < std::min(job_.spec.ranks_per_host, 8); ++d) {
    text += std::string(d == 0 ? "" : ",") + "\n    {\n      \"id\": " + std::to_string(d) + ", " + kDevice + "\n    }";
  }
  text += gloo_ ? "],\n" : "\n  ],\n";
  if (!old_) {
    char id[40];
    std::snprintf(id, sizeof id, "%016llX%016llX", static_cast<unsigned long long>(Key(job_.spec.seed, 1, rank_)),
                  static_cast<unsigned long long>(Key(job_.spec.seed, 2, rank_)));
    text += std::string("  \"trace_id\": \"") + id + "\",\n";
  }
  if (job_.spec.stacks) text += "  \"with_stack\": 1,\n";
  if (job_.spec.shapes) text += "  \"record_shapes\": 1,\n";
  DistributedInfo(text);
  if (job_.spec.job_groups) JobGroups(text);
  if (!old_) text += "  \"host_name\": \"" + HostName(job_, rank_) + "\",\n";
  if (!job_.spec.whole_us)
    text += "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": " + std::to_string(base_) + ",\n";
  text += "  \"traceEvents\": [\n";
}

void RankWriter::DistributedInfo(std::string& text) {
  text += std::string("  \"distributedInfo\": {\"backend\": \"") + (gloo_ ? "gloo" : "nccl") +
          "\", \"rank\": " + std::to_string(rank_) + ", \"world_size\": " + std::to_string(job_.mesh.world());
  if (!old_) {
    text += ", \"pg_count\": " + std::to_string(job_.mesh.groups().size()) + ", \"pg_config\": [";
    bool first = true;
    for (const Group& group : job_.mesh.groups()) {
      if (std::find(group.ranks.begin(), group.ranks.end(), rank_) == group.ranks.end()) continue;
      text += std::string(first ? "" : ", ") + "{\"pg_name\": \"" + group.name + "\", \"pg_desc\": \"" +
              DimDescription(group.dim) + "\", \"backend_config\": \"" + (gloo_ ? "cpu:gloo,cuda:gloo" : "cuda:nccl") +
              "\", \"pg_size\": " + std::to_string(group.ranks.size()) + ", \"ranks\": " + JsonRanks(group.ranks) + "}";
      first = false;
    }
    text += "]";
    if (!gloo_) text += ", \"nccl_version\": \"2.21.5\"";
  }
  text += "},\n";
}

void RankWriter::JobGroups(std::string& text) {
  const Coordinate at = job_.mesh.At(rank_);
  text += "  \"job_groups\": {\"rank\": " + std::to_string(rank_) +
          ", \"world\": " + std::to_string(job_.mesh.world()) +
          ", \"mesh\": {\"dim_names\": [\"pp\", \"dp\", \"tp\"], \"shape\": [" + std::to_string(job_.spec.pp) + ", " +
          std::to_string(job_.spec.dp) + ", " + std::to_string(job_.spec.tp) +
          "], \"coordinate\": {\"pp\": " + std::to_string(at.pp) + ", \"dp\": " + std::to_string(at.dp) +
          ", \"tp\": " + std::to_string(at.tp) + "}}, \"groups\": [";
  bool first = true;
  for (Dim dim : {Dim::kWorld, Dim::kPp, Dim::kDp, Dim::kTp, Dim::kEp}) {
    const int index = job_.mesh.GroupOf(rank_, dim);
    if (index < 0) continue;
    const Group& group = job_.mesh.groups()[static_cast<size_t>(index)];
    text += std::string(first ? "" : ", ") + "{\"dim\": \"" + DimName(dim) + "\", \"pg_name\": \"" + group.name +
            "\", \"pg_desc\": \"" + DimDescription(group.dim) + "\", \"ranks\": " + JsonRanks(group.ranks) + "}";
    first = false;
  }
  text += "]},\n";
}

int64_t RankWriter::StreamId(uint8_t stream) const {
  if (stream == kCompute) return 7;
  if (stream >= kSendForward) return 40 + 4 * (stream - kSendForward);
  return 20 + 4 * (stream - kFirstCommStream);
}

// Every group has two work threads, made in the order of the groups; sends and receives run on the main thread.
int64_t RankWriter::WorkThread(const Item& item) const {
  if (item.stream >= kSendForward) return pid_;
  return pid_ + 10 + (item.stream - kFirstCommStream);
}

void RankWriter::MetadataEvent(std::string_view name, std::string_view pid, int64_t tid, std::string_view args) {
  std::string& text = out_.Text();
  const char* gap = gloo_ ? ",\n    " : ", ";
  text += "  {\n    ";
  text.append(gloo_ ? "\"ph\": \"M\",\n    \"name\": \"" : "\"name\": \"").append(name).append("\"");
  if (!gloo_) text += ", \"ph\": \"M\"";
  text.append(gap).append("\"ts\": ");
  AppendTime(record_.marks[static_cast<size_t>(job_.spec.warmup) - 1].host_end);
  text.append(gap).append("\"pid\": ").append(pid).append(gap).append("\"tid\": ");
  AppendInt(text, tid);
  text.append(",\n    \"args\": {\n      ").append(args);
  EventTail();
}

void RankWriter::NameThread(std::string_view pid, int64_t tid, std::string_view name) {
  MetadataEvent("thread_name", pid, tid, "\"name\": \"" + std::string(name) + "\"");
  MetadataEvent("thread_sort_index", pid, tid, "\"sort_index\": " + std::to_string(tid));
}

void RankWriter::ThreadNames() {
  const std::string pid = std::to_string(pid_), device = std::to_string(device_);
  MetadataEvent("process_name", pid, 0, "\"name\": \"python\"");
  MetadataEvent("process_labels", pid, 0, "\"labels\": \"CPU\"");
  MetadataEvent("process_sort_index", pid, 0, "\"sort_index\": " + pid);
  std::vector<uint8_t> streams;
  for (size_t i = first_item_; i < record_.items.size(); ++i) streams.push_back(record_.items[i].stream);
  std::sort(streams.begin(), streams.end());
  streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
  const auto thread = [&](int64_t tid, const char* name) {
    NameThread(pid, tid, "thread " + std::to_string(tid) + " (" + name + ")");
  };
  if (gloo_) {
    for (uint8_t stream : streams) {
      if (stream < kSendForward) thread(pid_ + 10 + (stream - kFirstCommStream), "pt_gloo_runloop");
    }
    thread(pid_, "python");
    return;
  }
  MetadataEvent("process_name", device, 0, "\"name\": \"python\"");
  MetadataEvent("process_labels", device, 0, "\"labels\": \"GPU " + device + "\"");
  MetadataEvent("process_sort_index", device, 0, "\"sort_index\": " + std::to_string(16777216 + device_));
  for (uint8_t stream : streams)
    NameThread(device, StreamId(stream), "stream " + std::to_string(StreamId(stream)) + " ");
  thread(pid_, "pt_main_thread");
  if (job_.spec.autograd_thread) thread(Tid(kAutogradThread), "pt_autograd_0");
}

void RankWriter::Tail() {
  const Time begin = record_.marks[static_cast<size_t>(job_.spec.warmup) - 1].host_end;
  Time end = record_.marks.back().host_end;
  for (size_t i = first_item_; i < record_.items.size(); ++i) end = std::max(end, record_.items[i].end);
  std::string& text = out_.Text();
  text += "  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ";
  AppendTime(begin);
  text += ", \"dur\": ";
  AppendDuration(begin, end);
  text +=
      ",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n"
      "    \"args\": {\n      \"Op count\": 0\n    }\n  },\n";
  text += "  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ";
  AppendTime(begin);
  text += ",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n";
  text +=
      "  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n"
      "    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ";
  AppendTime(begin);
  text +=
      "\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
      "    \"pid\": \"\", \"tid\": \"\", \"ts\": ";
  AppendTime(end + 400'000);
  text += "\n  }\n  ],\n  \"traceName\": \"rank" + std::to_string(rank_) + ".json\"\n}\n";
}

}  // namespace headway::synth
