// SPDX-License-Identifier: Apache-2.0
// Arguments of events.
#include <algorithm>

#include "synth/rank_writer.h"

namespace headway::synth {
namespace {

const char* CollectiveName(Coll op) {
  constexpr const char* kNames[] = {
      "allreduce", "_allgather_base", "_reduce_scatter_base", "all_to_allv", "broadcast", "barrier", "send", "recv"};
  return kNames[static_cast<size_t>(op)];
}

// Cut to 30 entries, as PyTorch does.
std::string RankList(const std::vector<int>& ranks) {
  std::string text = "[";
  for (size_t i = 0; i < std::min<size_t>(ranks.size(), 30); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text + (ranks.size() > 30 ? ", ...]" : "]");
}

}  // namespace

void RankWriter::KernelArgs(const Item& item) {
  std::string& text = out_.Text();
  const Span& span = record_.spans[static_cast<size_t>(item.span)];
  const int64_t correlation = external_[static_cast<size_t>(item.span) - first_span_];
  // The operation that launched it: the innermost one that is no annotation.
  int32_t parent = span.parent;
  while (parent >= 0 && record_.spans[static_cast<size_t>(parent)].category >= kAnnotation) {
    parent = record_.spans[static_cast<size_t>(parent)].parent;
  }
  text += "\"External id\": ";
  AppendInt(text, old_ || parent < static_cast<int32_t>(first_span_)
                      ? correlation
                      : external_[static_cast<size_t>(parent) - first_span_]);
  text += ",      \"queued\": 0, \"device\": ";
  AppendInt(text, device_);
  text += ", \"context\": 1,      \"stream\": ";
  AppendInt(text, StreamId(item.stream));
  text += ", \"correlation\": ";
  AppendInt(text, correlation);
  if (item.work.kind == kCollectiveWork) {
    text +=
        ",      \"registers per thread\": 96,      \"shared memory\": 87568,      \"blocks per SM\": 0.074074,"
        "      \"warps per SM\": 1.259259,      \"grid\": [8, 1, 1],      \"block\": [544, 1, 1],"
        "      \"est. achieved occupancy %\": 0";
    if (!old_) CommsArgs(text, job_.details[static_cast<size_t>(item.work.detail)], SequenceOf(item));
    return;
  }
  const KernelShape& shape = job_.shapes[static_cast<size_t>(item.work.detail)];
  text.append(",      \"registers per thread\": ").append(shape.registers);
  text.append(",      \"shared memory\": ").append(shape.shared_memory);
  text.append(",      \"blocks per SM\": ").append(shape.blocks_per_sm);
  text.append(",      \"warps per SM\": ").append(shape.warps_per_sm);
  text.append(",      \"grid\": ").append(shape.grid).append(",      \"block\": ").append(shape.block);
  text.append(",      \"est. achieved occupancy %\": ").append(shape.occupancy);
}

void RankWriter::CopyArgs(const Item& item) {
  std::string& text = out_.Text();
  const int64_t correlation = external_[static_cast<size_t>(item.span) - first_span_];
  const int32_t parent = record_.spans[static_cast<size_t>(item.span)].parent;
  text += "\"External id\": ";
  AppendInt(text, old_ ? correlation : external_[static_cast<size_t>(parent) - first_span_]);
  text += ",      \"device\": ";
  AppendInt(text, device_);
  text += ", \"context\": 1,      \"stream\": ";
  AppendInt(text, StreamId(item.stream));
  text += ", \"correlation\": ";
  AppendInt(text, correlation);
  text += ",      \"bytes\": ";
  AppendInt(text, item.work.bytes);
  char rate[40];
  std::snprintf(rate, sizeof rate, "%.12g",
                static_cast<double>(item.work.bytes) / static_cast<double>(item.work.duration));
  text.append(", \"memory bandwidth (GB/s)\": ").append(rate);
}

int32_t RankWriter::SequenceOf(const Item& item) const {
  const Coll op = job_.details[static_cast<size_t>(item.work.detail)].op;
  if (op != Coll::kSend && op != Coll::kRecv) return item.instance + 1;
  return peer_number_[static_cast<size_t>(&item - record_.items.data())];
}

void RankWriter::CommsArgs(std::string& text, const CollectiveDetail& detail, int32_t sequence) {
  if (detail.group < 0) {  // the host notes that the current stream waits
    text +=
        ", \"Collective name\": \"wait\", \"dtype\": \"Byte\", \"Out split size\": \"[]\", \"In msg nelems\": 0, "
        "\"Group size\": 1, \"Process Group Ranks\": \"[]\", \"Out msg nelems\": 0, \"In split size\": \"[]\"";
    return;
  }
  const Group& group = job_.mesh.groups()[static_cast<size_t>(detail.group)];
  text.append(", \"Collective name\": \"").append(CollectiveName(detail.op)).append("\", \"In msg nelems\": ");
  AppendInt(text, detail.in_elements);
  text += ", \"Out msg nelems\": ";
  AppendInt(text, detail.out_elements);
  text += ", \"Group size\": ";
  AppendInt(text, static_cast<int64_t>(group.ranks.size()));
  text.append(", \"dtype\": ").append(detail.half ? "\"BFloat16\"" : "\"Float\"");
  text += ", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process Group Name\": \"" + group.name;
  text.append("\", \"Process Group Description\": \"").append(DimDescription(group.dim));
  text += "\", \"Process Group Ranks\": \"" + RankList(group.ranks) + "\"";
  if (detail.op == Coll::kSend) text += ", \"Dst Rank\": " + std::to_string(detail.peer);
  if (detail.op == Coll::kRecv) text += ", \"Src Rank\": " + std::to_string(detail.peer);
  if (job_.spec.args == ArgsEra::kSeq && sequence >= 0) {
    text += ", \"Seq\": ";
    AppendInt(text, sequence);
  }
}

const CollectiveDetail* RankWriter::DetailOf(const Span& span) const {
  if (span.category != kCpuOp || span.detail < 0) return nullptr;
  return &job_.details[static_cast<size_t>(span.detail)];
}

void RankWriter::ShapeArgs(std::string& text, const Span& span) {
  if (span.category == kAnnotation || span.category == kParamComms) return;
  const CollectiveDetail* detail = DetailOf(span);
  if (detail != nullptr && (detail->op == Coll::kSend || detail->op == Coll::kRecv)) {
    const std::vector<int>& ranks = job_.mesh.groups()[static_cast<size_t>(detail->group)].ranks;
    const auto peer = std::find(ranks.begin(), ranks.end(), detail->peer) - ranks.begin();
    text += ", \"Concrete Inputs\": [\"\", \"\", \"" + std::to_string(peer) +
            "\", \"0\"], \"Input type\": [\"TensorList\", \"\", \"Scalar\", \"Scalar\"], \"Input Strides\": [[[1]], "
            "[], [], []], "
            "\"Input Dims\": [[[" +
            std::to_string(detail->in_elements) + "]], [], [], []]";
    return;
  }
  const int64_t elements = detail != nullptr ? detail->in_elements : 4096;
  text +=
      ", \"Concrete Inputs\": [\"\", \"\"], \"Input type\": [\"float\", \"float\"], \"Input Strides\": [[1], [1]], "
      "\"Input Dims\": [[";
  AppendInt(text, elements);
  text += "], [";
  AppendInt(text, elements);
  text += "]]";
}

}  // namespace headway::synth
