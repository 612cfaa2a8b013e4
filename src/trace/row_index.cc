// SPDX-License-Identifier: Apache-2.0
#include "trace/row_index.h"

#include <algorithm>

namespace headway::trace {

bool IsPointToPoint(const RankComms& rank, const CommInstance& row) {
  if (row.op == CommOp::kSend || row.op == CommOp::kRecv) return true;
  return rank.groups[static_cast<size_t>(row.local_group)].is_p2p;
}

RowIndex::RowIndex(const std::vector<RankComms>& ranks, const GroupTable& table)
    : ranks_(ranks), rows_(ranks.size()), point_to_point_(ranks.size()), of_group_(table.groups.size()) {
  // Per rank: bucket 0 = unresolved or point to point, then one bucket per group in order of first local group.
  std::vector<int32_t> bucket_of_local, group_of_bucket, bucket, fill;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankComms& rank = ranks[r];
    const auto& of_local = table.of_local[r];
    bucket_of_local.assign(of_local.size(), 0);
    group_of_bucket.assign(1, -1);
    for (size_t l = 0; l < of_local.size(); ++l) {
      if (of_local[l] < 0) continue;
      const auto at = std::find(group_of_bucket.begin(), group_of_bucket.end(), of_local[l]);
      bucket_of_local[l] = static_cast<int32_t>(at - group_of_bucket.begin());
      if (at == group_of_bucket.end()) group_of_bucket.push_back(of_local[l]);
    }
    bucket.resize(rank.instances.size());
    fill.assign(group_of_bucket.size() + 1, 0);
    for (size_t i = 0; i < rank.instances.size(); ++i) {
      const CommInstance& row = rank.instances[i];
      const auto local = static_cast<size_t>(row.local_group);
      if (row.local_group < 0 || local >= of_local.size()) {
        bucket[i] = 0;
        ++unresolved_;
      } else if (IsPointToPoint(rank, row)) {
        bucket[i] = 0;
        point_to_point_[r].push_back(static_cast<int32_t>(i));
      } else {
        bucket[i] = bucket_of_local[local];
        unresolved_ += bucket[i] == 0 ? 1 : 0;
      }
      ++fill[static_cast<size_t>(bucket[i]) + 1];
    }
    for (size_t b = 1; b < fill.size(); ++b) fill[b] += fill[b - 1];
    for (size_t b = 1; b < group_of_bucket.size(); ++b) {
      const int32_t count = fill[b + 1] - fill[b];
      if (count > 0) {
        of_group_[static_cast<size_t>(group_of_bucket[b])].push_back({static_cast<int32_t>(r), fill[b] - fill[1], count});
      }
    }
    const int32_t skipped = fill[1];
    rows_[r].resize(rank.instances.size() - static_cast<size_t>(skipped));
    for (size_t i = 0; i < rank.instances.size(); ++i) {
      const auto b = static_cast<size_t>(bucket[i]);
      if (b > 0) rows_[r][static_cast<size_t>(fill[b]++ - skipped)] = static_cast<int32_t>(i);
    }
  }
}

std::vector<CommSequence> RowIndex::Members(int32_t group) const {
  std::vector<CommSequence> members;
  for (const Slice& slice : of_group_[static_cast<size_t>(group)]) {
    const auto r = static_cast<size_t>(slice.rank_index);
    members.push_back({&ranks_[r], slice.rank_index,
                       std::span<const int32_t>(rows_[r]).subspan(static_cast<size_t>(slice.begin),
                                                                  static_cast<size_t>(slice.count))});
  }
  return members;
}

}  // namespace headway::trace
