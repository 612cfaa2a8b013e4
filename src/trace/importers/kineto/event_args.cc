// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/event_args.h"

#include <cstring>

namespace headway::trace::kineto {
namespace {

struct ArgsReader {
  TokenCursor& cursor;
  EventArgs& args;
  uint8_t* repairs;

  Outcome Number(const char* value, int64_t* number, const char** after) {
    const char* p = value;
    if (ReadPlainInteger(&p, number) == NumberForm::kPlain) {
      *after = p;
      return Outcome::kDone;
    }
    FieldForm form = FieldForm::kAbsent;
    int64_t read = 0;
    const Outcome outcome = ReadNumber(cursor, value, 0, &form, &read, repairs, after);
    if (outcome == Outcome::kDone && form == FieldForm::kGood) *number = read;
    return outcome;
  }

  Outcome Comm(const char* value, int64_t* number, const char** after) {
    args.comm.present = true;
    return Number(value, number, after);
  }

  Outcome Text(const char* value, std::string_view* text, const char** after) {
    if (*value == '[') return List(value, text, after);
    if (*value != '"' || value != cursor.At()) return cursor.SkipValue(value, after);
    *text = cursor.String(after);
    return cursor.token > cursor.end ? Outcome::kIncomplete : Outcome::kDone;
  }

  Outcome CommText(const char* value, std::string_view* text, const char** after) {
    args.comm.present = true;
    return Text(value, text, after);
  }

  // The text of a list, brackets included.
  Outcome List(const char* value, std::string_view* text, const char** after) {
    const Outcome outcome = cursor.SkipValue(value, after);
    if (outcome == Outcome::kDone && *value == '[') *text = {value, static_cast<size_t>(*after - value)};
    return outcome;
  }

  Outcome Correlation(const char* value, const char** after) {
    args.has_correlation = true;
    return Number(value, &args.correlation, after);
  }

  Outcome Occupancy(const char* value, const char** after) {
    FieldForm form = FieldForm::kAbsent;
    int64_t read = 0;
    const Outcome outcome = ReadNumber(cursor, value, 3, &form, &read, repairs, after);
    if (outcome == Outcome::kDone && form == FieldForm::kGood) args.occupancy_milli = read;
    return outcome;
  }

  Outcome Read(const Member& member, const char** after);
};

Outcome ArgsReader::Read(const Member& member, const char** after) {
  const std::string_view key = member.key;
  const char* value = member.value;
  CollectiveArgs& comm = args.comm;
  switch (key.size()) {
    case 3:
      if (key == "Seq") return Comm(value, &comm.seq, after);
      break;
    case 4:
      if (key == "grid") return List(value, &args.grid, after);
      if (key == "Rank") return Comm(value, &comm.rank, after);
      if (key == "kind") return Text(value, &args.memory_kind, after);
      if (key == "name") return Text(value, &args.label, after);
      break;
    case 5:
      if (key == "bytes") return Number(value, &args.bytes, after);
      if (key == "block") return List(value, &args.block, after);
      if (key == "dtype") return CommText(value, &comm.dtype, after);
      break;
    case 6:
      if (key == "labels") return Text(value, &args.label, after);
      break;
    case 8:
      if (key == "graph id") return Number(value, &args.graph_id, after);
      if (key == "Src Rank") return Comm(value, &comm.source, after);
      if (key == "Dst Rank") return Comm(value, &comm.destination, after);
      break;
    case 10:
      if (key == "Group size") return Comm(value, &comm.group_size, after);
      if (key == "Input Dims") return List(value, &args.input_dims, after);
      if (key == "Input type") return List(value, &args.input_types, after);
      break;
    case 11:
      if (key == "correlation") return Correlation(value, after);
      break;
    case 13:
      if (key == "graph node id") return Number(value, &args.graph_node, after);
      if (key == "In msg nelems") return Comm(value, &comm.in_elements, after);
      break;
    case 14:
      if (key == "Out msg nelems") return Comm(value, &comm.out_elements, after);
      break;
    case 15:
      if (key == "Collective name") return CommText(value, &comm.collective, after);
      if (key == "Concrete Inputs") return List(value, &args.concrete_inputs, after);
      break;
    case 17:
      if (key == "Global rank start") return Comm(value, &comm.global_start, after);
      break;
    case 18:
      if (key == "Process Group Name") return CommText(value, &comm.pg_name, after);
      if (key == "Global rank stride") return Comm(value, &comm.global_stride, after);
      break;
    case 19:
      if (key == "Process Group Ranks") return CommText(value, &comm.pg_ranks, after);
      break;
    case 25:
      if (key == "est. achieved occupancy %") return Occupancy(value, after);
      if (key == "Process Group Description") return CommText(value, &comm.pg_desc, after);
      break;
    default: break;
  }
  return cursor.SkipValue(value, after);
}

}  // namespace

Outcome ReadArgs(TokenCursor& cursor, EventArgs* args, uint8_t* repairs) {
  ArgsReader reader{cursor, *args, repairs};
  bool trailing_comma = false;
  const char* after = nullptr;
  const Outcome outcome = ReadObject(cursor, &trailing_comma, &after, [&](const Member& member, const char** behind) {
    return reader.Read(member, behind);
  });
  if (trailing_comma) *repairs |= kSawTrailingComma;
  return outcome;
}

}  // namespace headway::trace::kineto
