// SPDX-License-Identifier: Apache-2.0
#include "pattern/launch_front.h"

#include <algorithm>
#include <tuple>

namespace headway::pattern {

namespace {

constexpr int kBucketBits = 4;

}  // namespace

LaunchFront::Bucket& LaunchFront::At(uint32_t correlation, Last* last) {
  const uint32_t id = correlation >> kBucketBits;
  if (last->bucket == nullptr || last->id != id) *last = {id, &buckets_[id]};
  return *last->bucket;
}

void LaunchFront::OnLaunch(uint32_t correlation, Nanos start) {
  Bucket& bucket = At(correlation, &last_launch_);
  bucket.first_launch = std::min(bucket.first_launch, start);
  bucket.last_launch = std::max(bucket.last_launch, start);
}

void LaunchFront::OnKernel(uint32_t correlation, Nanos start, Nanos end) {
  Bucket& bucket = At(correlation, &last_kernel_);
  bucket.first_kernel = std::min(bucket.first_kernel, start);
  bucket.last_end = std::max(bucket.last_end, end);
}

void LaunchFront::OnCommKernel(uint32_t correlation, Nanos start) {
  Bucket& bucket = At(correlation, &last_kernel_);
  bucket.first_kernel = std::min(bucket.first_kernel, start);
}

void LaunchFront::OnDeviceWork(uint32_t correlation, Nanos start, Nanos end) {
  Work& work = work_of_bucket_[correlation >> kBucketBits];
  work.first_start = std::min(work.first_start, start);
  work.last_end = std::max(work.last_end, end);
}

void LaunchFront::Settle() {
  for (const auto& [id, work] : work_of_bucket_) {
    const auto at = buckets_.find(id);
    work_.emplace_back(at == buckets_.end() ? INT64_MIN : at->second.last_launch, work);
  }
  work_of_bucket_.clear();
  for (const auto& [id, bucket] : buckets_) {
    if (bucket.first_launch == INT64_MAX || bucket.first_kernel == INT64_MAX) continue;  // no launch, or no kernel
    if (bucket.last_end != INT64_MIN) done_.emplace_back(bucket.last_launch, bucket.last_end);
    next_.emplace_back(bucket.first_launch, bucket.first_kernel);
  }
  buckets_.clear();
  last_launch_ = last_kernel_ = {};
  std::sort(done_.begin(), done_.end());
  std::sort(next_.begin(), next_.end());
  std::sort(work_.begin(), work_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.first_start, a.second.last_end) <
           std::tie(b.first, b.second.first_start, b.second.last_end);
  });
  for (size_t i = 1; i < done_.size(); ++i) done_[i].second = std::max(done_[i].second, done_[i - 1].second);
  for (size_t i = next_.size(); i > 1; --i) next_[i - 2].second = std::min(next_[i - 2].second, next_[i - 1].second);
}

Nanos LaunchFront::DoneWithLaunchesBefore(Nanos host_time) const {
  const auto it = std::lower_bound(done_.begin(), done_.end(), std::pair(host_time, INT64_MIN));
  return it == done_.begin() ? INT64_MIN : std::prev(it)->second;
}

Nanos LaunchFront::FirstLaunchedFrom(Nanos host_time) const {
  const auto it = std::lower_bound(next_.begin(), next_.end(), std::pair(host_time, INT64_MIN));
  return it == next_.end() ? INT64_MAX : it->second;
}

LaunchFront::Work LaunchFront::LaunchedIn(Nanos from, Nanos to) const {
  Work out;
  const auto before = [](const auto& entry, Nanos time) { return entry.first < time; };
  for (auto it = std::lower_bound(work_.begin(), work_.end(), from, before); it != work_.end() && it->first < to;
       ++it) {
    out.first_start = std::min(out.first_start, it->second.first_start);
    out.last_end = std::max(out.last_end, it->second.last_end);
  }
  return out;
}

Nanos LaunchFront::EarlierWorkDone(Nanos host_time, Nanos by) const {
  Nanos done = INT64_MIN;
  for (const auto& [launch, work] : work_) {
    if (launch >= host_time) break;
    if (work.last_end <= by) done = std::max(done, work.last_end);
  }
  return done;
}

}  // namespace headway::pattern
