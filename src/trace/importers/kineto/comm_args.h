// SPDX-License-Identifier: Apache-2.0
// What the arguments of communication rows mean: payload, peer.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "trace/event.h"
#include "trace/importers/kineto/event_args.h"
#include "trace/name_rules.h"

namespace headway::trace::kineto {

// -1 where it does not fit.
[[nodiscard]] inline int32_t ToInt32(int64_t value) {
  return value < 0 || value > std::numeric_limits<int32_t>::max() ? -1 : static_cast<int32_t>(value);
}

// max(in, out) elements x element size; -1 where either is unknown.
[[nodiscard]] Bytes CollectiveBytes(const CollectiveArgs& comm, const NameRules& rules);

// Bytes of the tensors among the inputs: product of the dimensions x element size. `dims` and `types` are the texts of
// "Input Dims" and "Input type". -1 where no tensor's type is known. Lists are written without the type of their
// tensors
// ("TensorList"): it is `dtype`, where the row has one, else the type that all other tensors of the call have. Several
// tensors are one payload (a bucket), unless they are output and input of one call: then the larger counts.
enum class Tensors : uint8_t { kSummed, kLargest };
[[nodiscard]] Bytes TensorBytes(std::string_view dims, std::string_view types, std::string_view dtype, Tensors tensors,
                                const NameRules& rules);

// The other side of a p2p operation as written: Src/Dst Rank, "nccl:send 1->2", "nccl:recv 3<-0", or the third of the
// Concrete Inputs of c10d::send and recv_. -1 = not written (nobody in particular), or not p2p.
[[nodiscard]] int32_t PeerOf(CommOp op, const CollectiveArgs& comm, std::string_view name,
                             std::string_view concrete_inputs);

}  // namespace headway::trace::kineto
