// SPDX-License-Identifier: Apache-2.0
// The arguments of an event that say something about time: links, sizes, geometry, collectives. The rest is skipped.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/importers/kineto/event_text.h"

namespace headway::trace::kineto {

// Arguments of record_param_comms and of the communication kernels it launches. Texts are raw.
struct CollectiveArgs {
  bool present = false;
  std::string_view collective;  // "allreduce"
  std::string_view dtype;
  std::string_view pg_name;
  std::string_view pg_desc;
  std::string_view pg_ranks;  // "[0, 1]", perhaps cut ("[0, 1, ...]")
  int64_t in_elements = -1;
  int64_t out_elements = -1;
  int64_t group_size = -1;
  int64_t source = -1;
  int64_t destination = -1;
  int64_t seq = -1;
  int64_t rank = -1;
  int64_t global_start = -1;
  int64_t global_stride = -1;
};

struct EventArgs {
  bool has_correlation = false;
  int64_t correlation = 0;
  int64_t bytes = -1;
  int64_t occupancy_milli = -1;  // estimated achieved occupancy in thousandths of a percent
  int64_t graph_id = 0;
  int64_t graph_node = -1;
  std::string_view grid;  // text between the brackets: "64, 1, 1"
  std::string_view block;
  std::string_view memory_kind;  // ROCm: "HtoD"
  std::string_view input_dims;   // text of the whole list: "[[397322], []]"
  std::string_view input_types;
  std::string_view concrete_inputs;
  std::string_view label;  // "name" or "labels" of metadata events
  CollectiveArgs comm;
};

// Reads the object whose opening brace `cursor` stands on.
[[nodiscard]] Outcome ReadArgs(TokenCursor& cursor, EventArgs* args, uint8_t* repairs);

}  // namespace headway::trace::kineto
