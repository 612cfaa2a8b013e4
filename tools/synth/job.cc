// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "synth/draws.h"
#include "synth/emitter.h"

namespace headway::synth {

uint32_t NamePool::Intern(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const auto id = static_cast<uint32_t>(names_.size());
  ids_.emplace(name, id);
  names_.emplace_back(name);
  return id;
}

Job::Job(JobSpec job_spec)
    : spec(std::move(job_spec)),
      mesh(spec.dp, spec.tp, spec.pp, spec.ep, spec.ranks_per_host),
      faults(spec, mesh),
      forward_channel(static_cast<size_t>(mesh.world()), -1),
      backward_channel(static_cast<size_t>(mesh.world()), -1) {
  for (size_t g = 0; g < mesh.groups().size(); ++g) {
    channels.push_back(mesh.groups()[g].ranks);
    channel_group.push_back(static_cast<int>(g));
  }
  for (int r = 0; r < mesh.world(); ++r) {
    const Coordinate at = mesh.At(r);
    const auto add = [&](int stage, std::vector<int>& of) {
      of[static_cast<size_t>(r)] = static_cast<int>(channels.size());
      channels.push_back({r, mesh.RankAt(stage, at.dp, at.tp)});
      channel_group.push_back(mesh.GroupOf(r, Dim::kPp));
    };
    if (at.pp + 1 < spec.pp) add(at.pp + 1, forward_channel);
    if (at.pp > 0) add(at.pp - 1, backward_channel);
  }
}

int32_t Job::Detail(const CollectiveDetail& detail) {
  const auto found = std::find(details.begin(), details.end(), detail);
  if (found != details.end()) return static_cast<int32_t>(found - details.begin());
  details.push_back(detail);
  return static_cast<int32_t>(details.size()) - 1;
}

std::pair<int, int> Job::ShapesOf(std::string_view kind) {
  const auto found = shape_ranges_.find(kind);
  if (found != shape_ranges_.end()) return found->second;
  const std::vector<KernelShape>& recorded = Durations::Measured().Shapes(kind);
  const std::pair<int, int> range{static_cast<int>(shapes.size()), static_cast<int>(recorded.size())};
  shapes.insert(shapes.end(), recorded.begin(), recorded.end());
  shape_ranges_.emplace(kind, range);
  return range;
}

double Job::DeviceSpeed(int rank) const { return LogNormal(Key(spec.seed, 0xde5, rank), spec.rank_noise); }

double Job::HostSpeed(int rank) const {
  return LogNormal(Key(spec.seed, 0x0575, mesh.Host(rank)), spec.host_noise) *
         LogNormal(Key(spec.seed, 0x0576, rank), spec.host_noise / 2);
}

}  // namespace headway::synth
