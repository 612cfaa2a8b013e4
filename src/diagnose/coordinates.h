// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "diagnose/job.h"

namespace headway::diagnose {

// Coordinates from the process groups' descriptions ("mesh_pp", "TENSOR_MODEL_PARALLEL_GROUP", …): a rank's coordinate
// is its position in its group. Without a described pp group the stages come from chains of point-to-point groups;
// where ranks are missing those have an order, but no number (stage_unnumbered), and chains share stages only if their
// ranks alternate. Result parallel to `ranks`.
[[nodiscard]] std::vector<Coordinate> InferCoordinates(std::span<const pattern::RankPattern> ranks,
                                                       const trace::JobComms& comms);

enum class GroupRole : uint8_t { kUnknown, kDp, kTp, kPp, kEp, kCp };
// By the words of a description; kUnknown when it says nothing.
[[nodiscard]] GroupRole RoleOfDescription(std::string_view desc);

}  // namespace headway::diagnose
