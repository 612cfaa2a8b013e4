// SPDX-License-Identifier: Apache-2.0
// Traces put together at random from whole and broken pieces whose lengths lie around the limits: read in chunks of any
// size they give the same rows, counts and examples. What a fuzzer of bytes comes upon rarely is common here.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "trace/importers/kineto/recorded_rows.h"
#include "trace/importers/kineto/trace_text.h"

namespace headway::trace::kineto {
namespace {

constexpr size_t kLongest = 256;

class Pieces {
 public:
  explicit Pieces(uint64_t seed) : random_(seed) {}

  std::string Document() {
    std::string text = Below(4) == 0 ? "[" : "{" + Members() + "\"traceEvents\":" + Space() + "[";
    const size_t count = Below(12);
    for (size_t i = 0; i < count; ++i) text += Element() + Space() + (Below(8) == 0 ? "" : ",") + Space();
    text += Below(4) == 0 ? "" : "]";
    text += Below(3) == 0 ? ", " + Members() + "\"z\": 1}" : "}";
    if (Below(4) == 0) text.resize(Below(text.size()));
    if (Below(4) == 0) text += Document();
    return text;
  }
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  // Mostly short, sometimes around the longest that is allowed or beyond it.
  size_t Length() {
    switch (Below(6)) {
      case 0: return kLongest - 100 + Below(200);
      case 1: return Below(3 * kLongest);
      default: return Below(20);
    }
  }
  std::string Space() { return Below(3) == 0 ? std::string(Length(), ' ') : ""; }
  std::string Text() { return std::string(Length(), static_cast<char>('a' + Below(26))); }
  std::string Quoted() { return "\"" + Text() + (Below(12) == 0 ? "\"" : "") + (Below(12) == 0 ? "" : "\""); }

  std::string Value() {
    switch (Below(7)) {
      case 0: return std::string(1 + Length(), '1');
      case 1: return "[" + Space() + Quoted() + ", {\"k\": " + Quoted() + "}]";
      case 2: return "{\"a\": [1, 2" + Space() + "]}";
      case 3: return Below(4) == 0 ? "{]" : "{}";
      case 4: return "<" + Text() + ">";
      default: return Quoted();
    }
  }
  std::string Members() {
    std::string text;
    for (size_t i = Below(4); i > 0; --i) {
      text += Quoted() + Space() + (Below(10) == 0 ? "" : ":") + Space() + Value() + (Below(10) == 0 ? " " : ", ");
    }
    return text;
  }
  std::string Element() {
    switch (Below(10)) {
      case 0: return Quoted();
      case 1: return "[" + Value() + "," + Quoted() + "]";
      case 2: return Below(2) == 0 ? "}" : Text();
      case 3: return "{" + Members() + "}";
      default: break;
    }
    static constexpr const char* kPhases[] = {"X", "X", "X", "i", "s", "B", "E", "M"};
    return "{" + Space() + "\"ph\":" + Space() + "\"" + kPhases[Below(8)] + "\", \"name\": " + Quoted() +
           ", \"pid\": 1, \"tid\": 1, \"ts\": " + std::to_string(Below(1000)) +
           ", \"dur\": " + std::to_string(Below(9)) + (Below(2) == 0 ? ", \"args\": {" + Members() + "\"x\": 1}" : "") +
           (Below(15) == 0 ? "" : "}");
  }

  std::mt19937_64 random_;
};

TEST(KinetoRandom, WhateverTheChunks) {
  const auto rules = NameRules::BuiltIn();
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Pieces pieces(seed);
    const std::string text = pieces.Document();
    KinetoOptions options;
    options.rules = rules;
    options.walker.longest_element = kLongest;
    options.walker.slice = pieces.Below(2) == 0 ? 128 : kLongest;
    const auto digest = [&](size_t chunk) {
      const Recorded read = ReadTrace(text, chunk, options);
      return read.error ? read.error->ToString() : read.Digest();
    };
    const std::string expected = digest(size_t{1} << 20);
    for (const size_t chunk : {4096, 7, 1}) {
      ASSERT_EQ(digest(chunk), expected) << "seed " << seed << ", chunks of " << chunk << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace headway::trace::kineto
