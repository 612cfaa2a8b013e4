// SPDX-License-Identifier: Apache-2.0
#include "base/json_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace headway {
namespace {

JsonDocument Parse(std::string_view text) {
  auto document = JsonDocument::Parse(text, "file.json");
  EXPECT_TRUE(document) << document.error().ToString();
  return std::move(*document);
}

TEST(JsonCursor, ReadsEveryType) {
  const JsonDocument document = Parse(
      R"({"i": -5, "u": 18446744073709551615, "d": 2.5, "whole": 12.0, "s": "t\u00e4xt\n", "t": true, "n": null,
          "a": [1, [2, 3], {}], "o": {"k": "v"}})");
  const JsonCursor root = document.root();
  EXPECT_EQ(root.size(), 9u);
  EXPECT_EQ(*root.GetInt("i"), -5);
  EXPECT_EQ(*root.GetDouble("i"), -5.0);
  EXPECT_EQ(*root.GetDouble("u"), 18446744073709551615.0);
  EXPECT_EQ(*root.GetDouble("d"), 2.5);
  EXPECT_EQ(*root.GetInt("whole"), 12);
  EXPECT_EQ(*root.GetString("s"), "täxt\n");
  EXPECT_EQ(*root.GetBool("t"), true);
  EXPECT_TRUE(root.Get("n")->is_null());
  const JsonCursor array = *root.Get("a");
  ASSERT_EQ(array.size(), 3u);
  EXPECT_EQ(*array.Children()[0].AsInt(), 1);
  EXPECT_EQ(*array.Children()[1].Children()[1].AsInt(), 3);
  EXPECT_TRUE(array.Children()[2].is_object());
  EXPECT_EQ(root.Get("o")->Children()[0].key(), "k");
}

TEST(JsonCursor, FallsBackOnlyForAbsentAndNull) {
  const JsonDocument document = Parse(R"({"n": null, "s": "text", "i": 7})");
  const JsonCursor root = document.root();
  EXPECT_EQ(*root.GetIntOr("absent", 3), 3);
  EXPECT_EQ(*root.GetIntOr("n", 3), 3);
  EXPECT_EQ(*root.GetIntOr("i", 3), 7);
  EXPECT_FALSE(root.GetIntOr("s", 3));
  EXPECT_EQ(*root.GetStringOr("absent", "x"), "x");
  EXPECT_EQ(*root.GetDoubleOr("i", 0.5), 7.0);
  EXPECT_EQ(*root.GetBoolOr("absent", true), true);
}

TEST(JsonCursor, ErrorsSayWhereAndWhat) {
  const JsonDocument document =
      Parse(R"({"steps": [{}, {"name": 5, "f": 1.5, "big": 18446744073709551615}], "x": [[0, "y"]]})");
  const JsonCursor second = document.root().Get("steps")->Children()[1];
  EXPECT_EQ(second.GetString("name").error().ToString(), "file.json, steps[1].name: expected a string, found a number");
  EXPECT_EQ(second.GetInt("f").error().ToString(), "file.json, steps[1].f: expected a whole number that fits 64 bits");
  EXPECT_EQ(second.GetInt("big").error().ToString(),
            "file.json, steps[1].big: expected a whole number that fits 64 bits");
  EXPECT_EQ(second.Get("absent").error().ToString(), "file.json, steps[1]: \"absent\" is missing");
  EXPECT_EQ(document.root().Get("x")->Children()[0].Children()[1].AsInt().error().ToString(),
            "file.json, x[0][1]: expected a whole number, found a string");
  EXPECT_EQ(document.root().AsBool().error().ToString(), "file.json: expected true or false, found an object");
}

TEST(JsonCursor, FirstOfRepeatedKeysCounts) {
  const JsonDocument document = Parse(R"({"a": 1, "a": 2})");
  EXPECT_EQ(*document.root().GetInt("a"), 1);
  EXPECT_EQ(document.root().size(), 2u);
}

TEST(JsonCursor, SurvivesAMoveOfTheDocument) {
  JsonDocument document = Parse(R"({"a": "text"})");
  const JsonCursor root = document.root();
  const JsonDocument moved = std::move(document);
  EXPECT_EQ(*root.GetString("a"), "text");
}

TEST(JsonDocument, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":}", "nul", "\"\xff\"", "{} {}", "01", "[1e999]"}) {
    const auto document = JsonDocument::Parse(text, "bad.json");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(document.error().where, "bad.json");
  }
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_FALSE(JsonDocument::Parse(deep, "deep.json"));
  EXPECT_TRUE(JsonDocument::Parse(std::string(200, '[') + std::string(200, ']'), "ok.json"));
}

TEST(JsonDocument, TruncatedAtEveryLengthIsAnError) {
  const std::string text = R"({"a": [1, 2.5, "text", {"b": null}], "c": true})";
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(JsonDocument::Parse(text.substr(0, length), "cut.json")) << length;
  }
}

TEST(JsonDocument, RefusesMoreThanTheLimit) {
  const auto document = JsonDocument::Parse("[1, 2, 3]", "large.json", 8);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace headway
