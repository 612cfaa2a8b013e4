// SPDX-License-Identifier: Apache-2.0
#include "pattern/comm_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace headway::pattern {
namespace {

using trace::CommOp;

// Rows of a rank: `a` and `b` all-reduces of two groups, taking turns as long as both have some, and `messages` sends.
trace::RankComms Exported(int a, int b, int messages, size_t max_of_group, int64_t* thinned) {
  StringPool names;
  trace::RankMeta meta;
  const StringPool::Id name_a = names.Intern("group a"), name_b = names.Intern("group b");
  CommTracker tracker(names, meta, max_of_group);
  Nanos now = 0;
  const auto add = [&](StringPool::Id group, CommOp op) {
    trace::Event event;
    event.kind = trace::EventKind::kCommKernel;
    event.start = now += 10 * kMicrosecond;
    event.duration = 5 * kMicrosecond;
    trace::CommDetail detail;
    detail.op = op;
    detail.pg_name = group;
    tracker.End(tracker.Start(event, detail, false, false, 0));
  };
  for (int i = 0; i < std::max({a, b, messages}); ++i) {
    if (i < a) add(name_a, CommOp::kAllReduce);
    if (i < b) add(name_b, CommOp::kAllReduce);
    if (i < messages) add(name_b, CommOp::kSend);
  }
  trace::RankComms out;
  tracker.Export(0, 0, &out);
  *thinned = tracker.thinned();
  return out;
}

std::vector<int64_t> NumbersOf(const trace::RankComms& comms, const std::string& group) {
  std::vector<int64_t> out;
  for (const trace::CommInstance& row : comms.instances) {
    if (comms.groups[static_cast<size_t>(row.local_group)].name == group && row.op != CommOp::kSend)
      out.push_back(row.seq);
  }
  return out;
}

int64_t MessagesIn(const trace::RankComms& comms) {
  return std::count_if(comms.instances.begin(), comms.instances.end(),
                       [](const auto& r) { return r.op == CommOp::kSend; });
}

TEST(CommTracker, KeepsAllThatFits) {
  int64_t thinned = -1;
  const trace::RankComms comms = Exported(256, 100, 1000, 256, &thinned);
  EXPECT_EQ(thinned, 0);
  EXPECT_EQ(comms.instances.size(), 1356U);
  EXPECT_EQ(comms.instances[0].seq, -1);  // numbers are not made up where none are needed
}

TEST(CommTracker, MembersOfAGroupKeepTheSameOperations) {
  // Of 1000 rows every fourth stays where 256 may (500 would be too many), of 200 all. What else a rank does changes
  // nothing.
  int64_t thinned = 0;
  const trace::RankComms one = Exported(1000, 200, 0, 256, &thinned);
  EXPECT_EQ(thinned, 750);
  EXPECT_EQ(NumbersOf(one, "group a").size(), 250U);
  EXPECT_EQ(NumbersOf(one, "group b").size(), 200U);
  EXPECT_EQ(NumbersOf(one, "group a")[1], 4);
  for (const auto& [b, messages] : {std::pair(0, 0), std::pair(0, 600), std::pair(3000, 0)}) {
    const trace::RankComms other = Exported(1000, b, messages, 256, &thinned);
    EXPECT_EQ(NumbersOf(other, "group a"), NumbersOf(one, "group a"));
    EXPECT_EQ(MessagesIn(other), messages);
  }
}

}  // namespace
}  // namespace headway::pattern
