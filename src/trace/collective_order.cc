// SPDX-License-Identifier: Apache-2.0
#include "trace/collective_order.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/radix_sort.h"

namespace headway::trace {
namespace {

constexpr size_t kBlock = 4096;

// Step and arrival as one number of the same order, with as many bits of the arrival as there is room for.
class OrderKey {
 public:
  OrderKey(const std::vector<Nanos>& arrivals, const std::vector<Collective>& collectives) {
    if (arrivals.empty()) return;
    const auto [first, last] = std::minmax_element(arrivals.begin(), arrivals.end());
    first_arrival_ = *first;
    const auto [lowest, highest] = std::minmax_element(collectives.begin(), collectives.end(),
                                                       [](const auto& a, const auto& b) { return a.step < b.step; });
    first_step_ = lowest->step;
    const auto width = [](int64_t from, int64_t to) { return static_cast<int>(std::bit_width(Distance(from, to))); };
    const int arrival_bits = width(*first, *last);
    kept_ = std::min(arrival_bits, 64 - width(first_step_, highest->step));
    dropped_ = arrival_bits - kept_;
  }

  [[nodiscard]] uint64_t Of(const Collective& collective, Nanos arrival) const {
    const uint64_t step = Distance(first_step_, collective.step);
    if (kept_ == 0) return step;
    const uint64_t high = kept_ == 64 ? 0 : step << kept_;
    return high | Distance(first_arrival_, arrival) >> dropped_;
  }

 private:
  static uint64_t Distance(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }

  Nanos first_arrival_ = 0;
  int64_t first_step_ = 0;
  int kept_ = 0;
  int dropped_ = 0;
};

}  // namespace

void SortCollectives(const std::vector<Nanos>& arrivals, int threads, std::vector<Collective>* collectives) {
  const size_t count = collectives->size();
  const OrderKey key(arrivals, *collectives);
  const auto key_at = [&](size_t i) { return key.Of((*collectives)[i], arrivals[i]); };
  const auto less_at = [&](uint64_t a, uint64_t b) {
    const Collective& x = (*collectives)[a];
    const Collective& y = (*collectives)[b];
    return std::tie(x.step, arrivals[a], x.group, x.ordinal) < std::tie(y.step, arrivals[b], y.group, y.ordinal);
  };
  std::vector<uint64_t> order(count), scratch(count);
  const uint64_t* sorted = OrderByKey(count, key_at, less_at, order.data(), scratch.data());
  std::vector<Collective> moved(count);
  ParallelBlocks(count, kBlock, threads, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) moved[i] = std::move((*collectives)[sorted[i]]);
  });
  *collectives = std::move(moved);
}

}  // namespace headway::trace
