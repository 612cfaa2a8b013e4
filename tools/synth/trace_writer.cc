// SPDX-License-Identifier: Apache-2.0
#include "synth/trace_writer.h"

#include <algorithm>
#include <array>
#include <map>

#include "synth/draws.h"
#include "synth/rank_writer.h"

namespace headway::synth {
namespace {

// The reference date that recent versions subtract, and where the simulated time begins after it.
constexpr Time kBase = 1'790'857'026'000'000'000;
constexpr Time kStart = 5'104'000'000'000'000;

constexpr const char* kCategoryNames[] = {"cpu_op",          "cpu_op",          "cpu_op",
                                          "cpu_op",          "user_annotation", "python_function",
                                          "python_function", "cuda_runtime",    "cuda_driver"};

int CallbackId(std::string_view name) {
  constexpr std::pair<std::string_view, int> kIds[] = {
      {"cudaLaunchKernel", 211},      {"cudaLaunchKernelExC", 430},   {"cudaMemcpyAsync", 41},
      {"cudaEventRecord", 135},       {"cudaEventQuery", 138},        {"cudaStreamWaitEvent", 147},
      {"cudaStreamSynchronize", 131}, {"cudaStreamIsCapturing", 317}, {"cudaMemsetAsync", 51},
      {"cudaDeviceSynchronize", 165}, {"cudaEventSynchronize", 137}};
  for (const auto& [known, id] : kIds) {
    if (name == known) return id;
  }
  return 0;
}

}  // namespace

HostClock ClockOf(const Job& job, int rank) {
  const int host = job.mesh.Host(rank);
  const double offset = job.spec.clock_ms * (2 * Uniform(Key(job.spec.seed, 0xc10c, host)) - 1);
  const double drift = job.spec.drift_ppm * (2 * Uniform(Key(job.spec.seed, 0xd41f, host)) - 1);
  return {kBase + kStart + static_cast<Time>(offset * 1e6), drift * 1e-6};
}

Result<int64_t> WriteRankTrace(const JobRun& run, int rank, const std::string& dir, bool gzip) {
  const std::string path = dir + "/rank" + std::to_string(rank) + (gzip ? ".json.gz" : ".json");
  Result<OutputFile> out = OutputFile::Create(path, gzip);
  if (!out) return std::unexpected(out.error());
  RankWriter(run, rank, *out).Write();
  const int64_t bytes = out->bytes();
  if (Result<void> closed = out->Close(); !closed) return std::unexpected(closed.error());
  return bytes;
}

RankWriter::RankWriter(const JobRun& run, int rank, OutputFile& out)
    : run_(run),
      job_(*run.job),
      record_(run.ranks[static_cast<size_t>(rank)]),
      rank_(rank),
      out_(out),
      gloo_(job_.gloo()),
      old_(job_.spec.args == ArgsEra::kNoArgs),
      pid_(14'500 + 211 * rank),
      device_(rank % job_.spec.ranks_per_host),
      clock_(ClockOf(job_, rank)),
      base_(job_.spec.whole_us ? 0 : kBase) {
  const StepMark& before = record_.marks[static_cast<size_t>(job_.spec.warmup) - 1];
  first_span_ = before.spans;
  first_item_ = before.items;
}

void RankWriter::Write() {
  NumberSpans();
  Head();
  if (gloo_) {
    ThreadNames();
    GlooWork();
    HostSpans(kMainThread);
  } else {
    HostSpans(kAutogradThread);
    HostSpans(kMainThread);
    DeviceItems();
    PlainCalls();
    if (job_.spec.gpu_annotations) DeviceAnnotations();
    ThreadNames();
  }
  Tail();
}

// External ids count the events of the CPU, correlations the calls, Python ids the functions: each in order of begin.
void RankWriter::NumberSpans() {
  int64_t external = 0, correlation = 40'000 + 911 * rank_, python = 0;
  external_.resize(record_.spans.size() - first_span_);
  for (size_t i = first_span_; i < record_.spans.size(); ++i) {
    const Span& span = record_.spans[i];
    int64_t& number = external_[i - first_span_];
    if (IsCall(span)) {
      correlation += 1 + static_cast<int64_t>(Mix(i) % 4);
      number = correlation;
    } else if (span.category == kPython || span.category == kPythonModule) {
      number = ++python;
    } else {
      number = ++external;
    }
  }
  int32_t peers = 0;
  peer_number_.resize(record_.items.size(), 0);
  for (size_t i = 0; i < record_.items.size(); ++i) {
    const Work& work = record_.items[i].work;
    if (work.kind != kCollectiveWork) continue;
    const Coll op = job_.details[static_cast<size_t>(work.detail)].op;
    if (op == Coll::kSend || op == Coll::kRecv) peer_number_[i] = ++peers;
  }
}

void RankWriter::AppendTime(Time at) {
  const Time ns = clock_.At(at) - base_;
  if (job_.spec.whole_us) {
    AppendInt(out_.Text(), ns / 1000);
  } else {
    AppendMicros(out_.Text(), ns);
  }
}

void RankWriter::AppendDuration(Time begin, Time end) {
  const Time from = clock_.At(begin), to = clock_.At(end);
  if (job_.spec.whole_us) {
    AppendInt(out_.Text(), to / 1000 - from / 1000);
  } else {
    AppendMicros(out_.Text(), to - from);
  }
}

void RankWriter::EventHead(std::string_view category, uint32_t name, int64_t pid, int64_t tid, Time begin, Time end) {
  std::string& text = out_.Text();
  const char* gap = gloo_ ? ",\n    " : ", ";
  text += "  {\n    \"ph\": \"X\"";
  text.append(gap).append("\"cat\": \"").append(category).append("\"").append(gap).append("\"name\": ");
  AppendJsonString(text, job_.names.At(name));
  text.append(gap).append("\"pid\": ");
  AppendInt(text, pid);
  text.append(gap).append("\"tid\": ");
  AppendInt(text, tid);
  text += ",\n    \"ts\": ";
  AppendTime(begin);
  text.append(gap).append("\"dur\": ");
  AppendDuration(begin, end);
  text += gloo_ ? "\n    ,\n    \"args\": {\n      " : ",\n    \"args\": {\n      ";
}

void RankWriter::EventTail() { out_.Text() += "\n    }\n  },\n"; }

void RankWriter::Flow(char phase, int64_t id, int64_t pid, int64_t tid, Time at, std::string_view category) {
  std::string& text = out_.Text();
  text += "  {\n    \"ph\": \"";
  text += phase;
  text += "\", \"id\": ";
  AppendInt(text, id);
  text += ", \"pid\": ";
  AppendInt(text, pid);
  text += ", \"tid\": ";
  AppendInt(text, tid);
  text += ", \"ts\": ";
  AppendTime(at);
  text.append(",\n    \"cat\": \"").append(category).append("\", \"name\": \"").append(category).append("\"");
  text += phase == 'f' ? ", \"bp\": \"e\"\n  },\n" : "\n  },\n";
}

void RankWriter::HostSpans(HostThread thread) {
  for (size_t i = first_span_; i < record_.spans.size(); ++i) {
    const Span& span = record_.spans[i];
    if (span.thread == thread && !IsCall(span)) HostSpan(i);
  }
}

void RankWriter::HostSpan(size_t index) {
  const Span& span = record_.spans[index];
  const int64_t tid = Tid(static_cast<HostThread>(span.thread));
  const int64_t number = external_[index - first_span_];
  EventHead(kCategoryNames[span.category], span.name, pid_, tid, span.begin, span.end);
  std::string& text = out_.Text();
  if (span.category == kPython || span.category == kPythonModule) {
    int32_t parent = span.parent;
    while (parent >= 0 && record_.spans[static_cast<size_t>(parent)].category != kPython &&
           record_.spans[static_cast<size_t>(parent)].category != kPythonModule) {
      parent = record_.spans[static_cast<size_t>(parent)].parent;
    }
    text += "\"Python parent id\": ";
    if (parent >= static_cast<int32_t>(first_span_)) {
      AppendInt(text, external_[static_cast<size_t>(parent) - first_span_]);
    } else {
      text += "null";
    }
    text += ", \"Python id\": ";
    AppendInt(text, number);
    if (span.category == kPythonModule) text += ", \"Python module id\": 0";
  } else {
    text += "\"External id\": ";
    AppendInt(text, number);
    if (!old_) text += gloo_ ? ",\"Record function id\": 0" : ",\"Record function id\": " + std::to_string(number);
    if (span.category == kForwardOp || span.category == kBackwardOp) {
      text += ", \"Sequence number\": ";
      AppendInt(text, span.detail);
      text += span.category == kBackwardOp ? ", \"Fwd thread id\": 1" : ", \"Fwd thread id\": 0";
    }
    if (span.category == kParamComms && !old_) {
      const Item* item = ItemNear(index);
      const bool wait = job_.details[static_cast<size_t>(span.detail)].group < 0;
      CommsArgs(text, job_.details[static_cast<size_t>(span.detail)], wait || item == nullptr ? -1 : SequenceOf(*item));
    }
    if (job_.spec.shapes) ShapeArgs(text, span);
  }
  text += ", \"Ev Idx\": ";
  AppendInt(text, event_index_++);
  EventTail();
  if (job_.spec.flows) ForwardBackwardFlow(span);
}

void RankWriter::ForwardBackwardFlow(const Span& span) {
  if (span.category != kForwardOp && span.category != kBackwardOp) return;
  Flow(span.category == kForwardOp ? 's' : 'f', span.detail, pid_, Tid(static_cast<HostThread>(span.thread)),
       span.begin, "fwdbwd");
}

const Item* RankWriter::ItemNear(size_t span) const {
  for (size_t i = span; i < std::min(record_.spans.size(), span + 16); ++i) {
    if (record_.spans[i].item >= 0) return &record_.items[static_cast<size_t>(record_.spans[i].item)];
  }
  return nullptr;
}

// gloo's work threads write an annotation per collective; sends and receives are the main thread's.
void RankWriter::GlooWork() {
  int64_t external = 1024;
  for (size_t i = first_item_; i < record_.items.size(); ++i) {
    const Item& item = record_.items[i];
    EventHead("user_annotation", item.work.name, pid_, WorkThread(item), item.start, item.shown_end);
    std::string& text = out_.Text();
    text += "\"External id\": ";
    AppendInt(text, ++external);
    text += ",\"Record function id\": 0";
    if (job_.spec.shapes) {
      text +=
          ", \"Concrete Inputs\": [\"\"], \"Input type\": [\"float\"], \"Input Strides\": [[1]], \"Input Dims\": [[";
      AppendInt(text, job_.details[static_cast<size_t>(item.work.detail)].in_elements);
      text += "]]";
    }
    text += ", \"Ev Idx\": ";
    AppendInt(text, event_index_++);
    EventTail();
  }
}

void RankWriter::DeviceItems() {
  for (size_t i = first_item_; i < record_.items.size(); ++i) {
    const Item& item = record_.items[i];
    const bool copy = item.work.kind == kMemcpyWork;
    EventHead(copy ? "gpu_memcpy" : "kernel", item.work.name, device_, StreamId(item.stream), item.start, item.end);
    copy ? CopyArgs(item) : KernelArgs(item);
    EventTail();
    const int64_t correlation = external_[static_cast<size_t>(item.span) - first_span_];
    if (job_.spec.flows) Flow('f', correlation, device_, StreamId(item.stream), item.start, "ac2g");
    Launch(item);
  }
}

void RankWriter::Launch(const Item& item) {
  const Span& span = record_.spans[static_cast<size_t>(item.span)];
  const int64_t correlation = external_[static_cast<size_t>(item.span) - first_span_];
  const int64_t tid = Tid(static_cast<HostThread>(span.thread));
  EventHead("cuda_runtime", span.name, pid_, tid, span.begin, span.end);
  std::string& text = out_.Text();
  text += "\"External id\": ";
  AppendInt(text, old_ ? correlation : external_[static_cast<size_t>(span.parent) - first_span_]);
  text += ",      \"cbid\": " + std::to_string(CallbackId(job_.names.At(span.name))) + ", \"correlation\": ";
  AppendInt(text, correlation);
  EventTail();
  if (job_.spec.flows) Flow('s', correlation, pid_, tid, span.begin, "ac2g");
}

void RankWriter::PlainCalls() {
  for (size_t i = first_span_; i < record_.spans.size(); ++i) {
    const Span& span = record_.spans[i];
    if (!IsCall(span) || span.item >= 0) continue;
    const int64_t tid = Tid(static_cast<HostThread>(span.thread));
    const int64_t correlation = external_[i - first_span_];
    EventHead(kCategoryNames[span.category], span.name, pid_, tid, span.begin, span.end);
    std::string& text = out_.Text();
    text += "\"External id\": ";
    const bool inside = !old_ && span.parent >= static_cast<int32_t>(first_span_);
    AppendInt(text, inside ? external_[static_cast<size_t>(span.parent) - first_span_] : correlation);
    text += ",      \"cbid\": " + std::to_string(CallbackId(job_.names.At(span.name))) + ", \"correlation\": ";
    AppendInt(text, correlation);
    EventTail();
    if (job_.spec.flows) Flow('f', correlation, pid_, tid, span.begin, "ac2g");
  }
}

// What the annotations of the host look like on the streams: from the first to the last item issued inside.
void RankWriter::DeviceAnnotations() {
  std::map<std::pair<int32_t, uint8_t>, std::pair<Time, Time>> ranges;
  for (size_t i = first_item_; i < record_.items.size(); ++i) {
    const Item& item = record_.items[i];
    for (int32_t p = record_.spans[static_cast<size_t>(item.span)].parent; p >= static_cast<int32_t>(first_span_);
         p = record_.spans[static_cast<size_t>(p)].parent) {
      if (record_.spans[static_cast<size_t>(p)].category != kAnnotation) continue;
      auto [range, added] = ranges.try_emplace({p, item.stream}, item.start, item.end);
      if (added) continue;
      range->second.first = std::min(range->second.first, item.start);
      range->second.second = std::max(range->second.second, item.end);
    }
  }
  for (const auto& [where, range] : ranges) {
    const auto& [span, stream] = where;
    EventHead("gpu_user_annotation", record_.spans[static_cast<size_t>(span)].name, device_, StreamId(stream),
              range.first - 1, range.second + 1);
    out_.Text() += "\"External id\": ";
    AppendInt(out_.Text(), external_[static_cast<size_t>(span) - first_span_]);
    EventTail();
  }
}

}  // namespace headway::synth
