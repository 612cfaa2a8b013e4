// SPDX-License-Identifier: Apache-2.0
// Where one chunk ends and the next begins must not show: not in the rows, not in the counts, not in the examples. Each
// test is a place where it once did. Lengths go past the limits byte by byte, since what is at hand grows in blocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/importers/kineto/recorded_rows.h"
#include "trace/importers/kineto/trace_text.h"

namespace headway::trace::kineto {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kLongest = 1024;

// Small limits, so that small texts reach them.
KinetoOptions Small(size_t longest = kLongest, size_t slice = 256) {
  static const auto rules = NameRules::BuiltIn();
  KinetoOptions options;
  options.rules = rules;
  options.walker.slice = slice;
  options.walker.longest_element = longest;
  return options;
}

// The text read whole; fails where it reads otherwise in smaller chunks.
Recorded ReadAnyChunks(const std::string& text, const std::string& what, const KinetoOptions& options = Small()) {
  const auto digest = [](const Recorded& read) { return read.error ? read.error->ToString() : read.Digest(); };
  Recorded whole = ReadTrace(text, size_t{1} << 20, options);
  const std::string expected = digest(whole);
  for (const size_t chunk : {4096, 7, 1}) {
    EXPECT_EQ(digest(ReadTrace(text, chunk, options)), expected) << what << ", chunks of " << chunk;
  }
  return whole;
}

std::string Event(const std::string& name) { return Row("cpu_op", name); }
// An event of `size` bytes with a quote too many.
std::string Damaged(size_t size) {
  const std::string head = R"({"ph": "X", "name": "q"q", "ts": 1, "dur": 1, "args": {"x": ")";
  return head + std::string(size - 3 - head.size(), 'x') + "\"}}";
}
std::string Spaces(size_t count) { return std::string(count, ' '); }

// A member that cannot be read is counted once, however long what lies between it and the events.
TEST(KinetoChunks, DamagedMembersCountOnce) {
  for (size_t length = 0; length < 5 * kLongest; length += 111) {
    const std::string junk(length, 'x');
    const std::string text = R"({"host_name" oops )" + junk + R"(, "more": 1, "traceEvents" : [)" + Event("a") + "]}";
    const Recorded read = ReadAnyChunks(text, std::to_string(length));
    EXPECT_EQ(read.Names(), Names{"a"});
    EXPECT_EQ(read.log.Count("metadata-unparsable"), 1);
    EXPECT_EQ(read.log.problems().at("metadata-unparsable").example, R"("host_name")");
    EXPECT_EQ(read.log.problems().at("metadata-unparsable").first_offset, 1);
  }
}

// Without events behind it, too.
TEST(KinetoChunks, DamagedMembersCountOnceAtTheEnd) {
  for (size_t length = 0; length < 3 * kLongest; length += 111) {
    const Recorded read =
        ReadAnyChunks(R"({"traceEvents": [], "a" b )" + std::string(length, 'x'), std::to_string(length));
    EXPECT_EQ(read.log.Count("metadata-unparsable"), 1) << length;
    EXPECT_EQ(read.log.Count("truncated-tail"), 0) << length;
  }
}

// The key of the events, a colon and their bracket belong together only over a short gap.
TEST(KinetoChunks, TheGapBehindTheKeyOfTheEvents) {
  for (size_t gap = 200; gap < 300; ++gap) {
    const std::string text =
        R"({"a" b, "traceEvents" :)" + Spaces(gap) + "[" + Event("lost") + R"(], "traceEvents": [)" + Event("a") + "]}";
    const Recorded read = ReadAnyChunks(text, std::to_string(gap));
    // From the opening quote to the bracket: 13 of the key, a space, the colon, the gap. At most 256.
    EXPECT_EQ(read.Names().front(), 13 + 2 + gap <= 256 ? "lost" : "a") << gap;
  }
}

// White space around a colon, and numbers, that make a member longer than allowed.
TEST(KinetoChunks, LongGapsAndNumbersInMembers) {
  for (size_t length = kLongest - 80; length < kLongest + 80; ++length) {
    const std::string events = R"(, "traceEvents": [)" + Event("a") + "]}";
    for (const std::string& member :
         {R"("k")" + Spaces(length) + ": 1", R"("k":)" + Spaces(length) + "1", R"("k": )" + std::string(length, '1')}) {
      const Recorded read = ReadAnyChunks("{" + member + events, std::to_string(length));
      EXPECT_EQ(read.Names(), Names{"a"});
      EXPECT_EQ(read.log.Count("metadata-unparsable"), member.size() > kLongest ? 1 : 0) << member.size();
    }
  }
}

// A key longer than a member may be.
TEST(KinetoChunks, LongKeys) {
  for (size_t length = kLongest - 80; length < kLongest + 80; ++length) {
    const std::string text =
        R"({"host_name": "h", ")" + std::string(length, 'k') + R"(": 1, "traceEvents": [)" + Event("a") + "]}";
    const Recorded read = ReadAnyChunks(text, std::to_string(length));
    EXPECT_EQ(read.log.Count("metadata-too-long"), length + 2 > kLongest ? 1 : 0) << length;
  }
}

// A damaged event nearly as long as allowed makes the window double; when the beginning of the next event, with much
// white space in it, ends the damage, more than the allowed length of that one is at hand.
TEST(KinetoChunks, LongEventsBehindDamage) {
  for (size_t length = kLongest - 200; length < kLongest; length += 20) {
    for (const size_t name : {kLongest - 300, kLongest - 250, kLongest - 200}) {
      std::string event = Event(std::string(name, 'n'));
      event.insert(1, Spaces(200));
      const std::string text = R"({"traceEvents": [)" + Damaged(length) + "," + event + "," + Event("c") + "]}";
      const Recorded read = ReadAnyChunks(text, std::to_string(length), Small(kLongest, kLongest));
      EXPECT_EQ(read.log.Count("event-too-long"), event.size() > kLongest ? 1 : 0) << event.size();
      EXPECT_EQ(read.rows.events.size(), event.size() > kLongest ? 2U : 3U) << event.size();
    }
  }
}

// A string where an event belongs, and the token behind it that tells whether it is one.
TEST(KinetoChunks, LongStringsAmongEvents) {
  for (size_t length = kLongest - 80; length < kLongest + 80; ++length) {
    for (const std::string& element : {"\"" + std::string(length, 's') + "\"", "\"s\"" + Spaces(length)}) {
      const std::string text = R"({"traceEvents": [)" + Event("a") + "," + element + "," + Event("b") + "]}";
      const Recorded read = ReadAnyChunks(text, std::to_string(length));
      EXPECT_EQ(read.Names().front(), "a");
    }
  }
}

// A boundary that tells that the damaged event in front of it is too long, and ends just where a block does.
TEST(KinetoChunks, TheBoundaryBehindALongDamagedEvent) {
  for (size_t longest = 400; longest < 464; ++longest) {
    for (const size_t more : {0, 24, 44, 56}) {
      const std::string text = R"({"traceEvents": [)" + Damaged(longest + more) + "," + Event("b") + "," +
                               Event(std::string(200, 'c')) + "]}";
      const Recorded read = ReadAnyChunks(text, std::to_string(longest), Small(longest, 128));
      EXPECT_EQ(read.log.Count("event-too-long"), more > 0 ? 1 : 0) << longest;
      EXPECT_EQ(read.rows.events.size(), more > 0 ? 2U : 3U) << longest << ' ' << more;
    }
  }
}

// Names and arguments of a megabyte, far longer than a slice: read, and names kept by their beginning and a hash.
TEST(KinetoChunks, NamesOfAMegabyte) {
  const std::string text =
      Trace(Event(std::string(1'000'000, 'n')) + "," + Event(std::string(1'000'000, 'n') + "m") + "," +
            Row("cpu_op", "c", R"("Call stack": ")" + std::string(1'000'000, 's') + "\"") + "," + Event("d"));
  const Recorded whole = ReadTrace(text);
  const Names names = whole.Names();
  ASSERT_EQ(names.size(), 4U);
  EXPECT_LE(names[0].size(), 4096U);
  EXPECT_TRUE(names[0].starts_with(std::string(4000, 'n')));
  EXPECT_NE(names[0], names[1]);
  EXPECT_EQ(names[3], "d");
  EXPECT_EQ(whole.log.Count("name-shortened"), 2);
  for (const size_t chunk : {4096, 7, 1}) EXPECT_EQ(ReadTrace(text, chunk).Digest(), whole.Digest()) << chunk;
}

// Sixty-four objects without a phase are no trace, whether or not an event follows in the same chunk.
TEST(KinetoChunks, WhatIsNoTraceIsJudgedByCount) {
  for (size_t count = 60; count < 70; ++count) {
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) text += R"({"x": 1},)";
    const Recorded read = ReadAnyChunks(text + Event("a") + Spaces(64) + "]", std::to_string(count));
    EXPECT_EQ(read.error.has_value(), count >= 64) << count;
  }
}

}  // namespace
}  // namespace headway::trace::kineto
