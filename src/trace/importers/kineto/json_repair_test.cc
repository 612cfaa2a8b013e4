// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/json_repair.h"

#include <gtest/gtest.h>

#include "trace/importers/kineto/boundary_scan.h"

namespace headway::trace::kineto {
namespace {

struct Case {
  const char* damaged;
  const char* repaired;
};

TEST(JsonRepair, WhatTheWriterMeant) {
  const Case cases[] = {
      // Sound text stays as it is, white space apart.
      {R"({"a": 1, "b": [1, [2], {"c": "d"}], "e": true})", R"({"a":1,"b":[1,[2],{"c":"d"}],"e":true})"},
      {R"({})", R"({})"},
      // Quotes inside a name: each is followed by something that cannot follow a string there.
      {R"({"name": "foo "bar" baz", "pid": 1})", R"({"name":"foo \"bar\" baz","pid":1})"},
      {R"~({"name": "f("a", "b")", "pid": 1})~", R"~({"name":"f(\"a\", \"b\")","pid":1})~"},
      {R"({"name": "end"", "pid": 1})", R"({"name":"end\"","pid":1})"},
      // A closing quote lost: the string ends with its line, or where a key of an event follows a comma.
      {"{\"name\": \"foo,\n  \"pid\": 1}", R"({"name":"foo","pid":1})"},
      {R"({"name": "foo, "cat": "kernel", "pid": 1})", R"({"name":"foo","cat":"kernel","pid":1})"},
      {"{\"pid\": 1, \"name\": \"foo\n}", R"({"pid":1,"name":"foo"})"},
      // Backslashes of Windows.
      {R"({"name": "C:\Users\x", "pid": 1})", R"({"name":"C:\\Users\\x","pid":1})"},
      {R"({"name": "C:\dir\", "pid": 1})", R"({"name":"C:\\dir\\","pid":1})"},
      // Literals that JSON does not know.
      {R"({"a": NaN, "b": -inf, "c": Infinity})", R"({"a":null,"b":null,"c":null})"},
      {R"({"a": bogus, "b": 1})", R"({"a":null,"b":1})"},
      // Commas.
      {R"({"a": 1, "b": 2,})", R"({"a":1,"b":2})"},
      {R"({"a": 1 "b": 2})", R"({"a":1,"b":2})"},
      {R"({"a": [1, 2,]})", R"({"a":[1,2]})"},
      // Left open.
      {R"({"a": {"b": 1)", R"({"a":{"b":1}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(RepairJson(c.damaged).json, c.repaired) << c.damaged;
}

TEST(JsonRepair, SaysWhatWasDone) {
  EXPECT_TRUE(RepairJson(R"({"name": "a "b" c", "pid": 1})").unescaped_quote);
  EXPECT_TRUE(RepairJson("{\"name\": \"foo,\n  \"pid\": 1}").missing_quote);
  EXPECT_TRUE(RepairJson(R"({"name": "C:\Users", "pid": 1})").bad_escape);
  EXPECT_TRUE(RepairJson("{\"name\": \"a\tb\", \"pid\": 1}").control);
  EXPECT_TRUE(RepairJson(R"({"a": NaN})").nan);
  EXPECT_TRUE(RepairJson(R"({"a": 1,})").trailing_comma);
  EXPECT_TRUE(RepairJson(R"({"a": 1 "b": 2})").missing_comma);
  const Repair sound = RepairJson(R"({"a": 10159970886766084423, "b": 1e5, "c": "\u00e4\n"}  ], "tail": 1)");
  EXPECT_FALSE(sound.unescaped_quote || sound.missing_quote || sound.bad_escape || sound.control || sound.nan ||
               sound.bad_literal || sound.trailing_comma || sound.missing_comma);
  EXPECT_TRUE(sound.complete);
  EXPECT_EQ(sound.consumed, std::string_view(R"({"a": 10159970886766084423, "b": 1e5, "c": "\u00e4\n"})").size());
  EXPECT_FALSE(RepairJson(R"({"a": "cut)").complete);
}

TEST(BoundaryScan, FindsTheNextEventAndTheEndOfTheList) {
  struct BoundaryCase {
    const char* text;
    int64_t brace;  // -1 = no boundary
  };
  const BoundaryCase cases[] = {
      {R"(x"}, {"ph": "X")", 2},      {"} \n,\n\t{ \n\"name\" : 1", 0},
      {R"(}, {"other": 1)", -1},      {R"(}, {\"ph\": 1)", -1},
      {R"(}}, {"cat":)", 1},          {R"(} ], "traceName": "x")", 0},
      {R"(} ], "other": "x")", -1},   {R"(}, {"ph)", -1},
      {R"(}, "a": {}, {"ts": 1)", 9},
  };
  for (const BoundaryCase& c : cases) {
    BoundaryScan whole(100);
    const bool found = whole.Feed(c.text);
    EXPECT_EQ(found, c.brace >= 0) << c.text;
    if (found) {
      EXPECT_EQ(whole.brace(), 100 + c.brace) << c.text;
    }
    BoundaryScan single(100);
    bool found_single = false;
    for (const char* p = c.text; *p != '\0' && !found_single; ++p) found_single = single.Feed({p, 1});
    EXPECT_EQ(found_single, found) << c.text;
  }
}

}  // namespace
}  // namespace headway::trace::kineto
