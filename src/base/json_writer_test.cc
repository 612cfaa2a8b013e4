// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/json_cursor.h"

namespace headway {
namespace {

std::string Quoted(std::string_view text, bool html_safe = false) {
  std::string out;
  JsonWriter(&out, {.html_safe = html_safe}).String(text);
  return out;
}

std::string Number(double value, int digits) {
  std::string out;
  JsonWriter(&out).Double(value, digits);
  return out;
}

void WriteSample(JsonWriter& json) {
  json.BeginObject();
  json.Field("rank", 19).Field("name", "n2").Field("ok", true).Field("bytes", uint64_t{18446744073709551615u});
  json.Field("share", 0.25, 3);
  json.Key("steps").BeginArray(JsonWriter::Layout::kInline).Int(-1).Int(2).EndArray();
  json.Key("links").BeginArray().BeginObject().Field("from", 2).EndObject().Null().EndArray();
  json.Key("empty").BeginObject().EndObject();
  json.EndObject();
}

TEST(JsonWriter, CompactByDefault) {
  std::string out;
  JsonWriter json(&out);
  WriteSample(json);
  EXPECT_TRUE(json.complete());
  EXPECT_EQ(out, R"({"rank":19,"name":"n2","ok":true,"bytes":18446744073709551615,"share":0.250,"steps":[-1,2],)"
                 R"("links":[{"from":2},null],"empty":{}})");
}

TEST(JsonWriter, IndentedOnRequest) {
  std::string out;
  JsonWriter json(&out, {.indent = 2});
  WriteSample(json);
  EXPECT_EQ(out, R"({
  "rank": 19,
  "name": "n2",
  "ok": true,
  "bytes": 18446744073709551615,
  "share": 0.250,
  "steps": [-1, 2],
  "links": [
    {
      "from": 2
    },
    null
  ],
  "empty": {}
})");
}

TEST(JsonWriter, MayBeDrainedAtAnyTime) {
  std::string part;
  std::string all;
  JsonWriter json(&part);
  json.BeginArray();
  for (int i = 0; i < 3; ++i) {
    json.Int(i);
    all += part;
    part.clear();
  }
  json.EndArray();
  EXPECT_EQ(all + part, "[0,1,2]");
}

TEST(JsonWriter, EscapesAsRfc8259Says) {
  EXPECT_EQ(Quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(Quoted("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(Quoted(std::string_view("\0\x01\x1f\x7f", 4)), R"("\u0000\u0001\u001f\u007f")");
  EXPECT_EQ(Quoted("µs 漢字 🙂"), "\"µs 漢字 🙂\"");
  EXPECT_EQ(Quoted("</script>&"), "\"</script>&\"");
  EXPECT_EQ(Quoted("</script>&", true), R"("\u003c/script\u003e\u0026")");
}

// Unicode 15, table 3-8: one U+FFFD for each maximal part of an ill-formed sequence.
TEST(JsonWriter, ReplacesInvalidUtf8) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(Quoted("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
            "\"a" + r + r + r + "b" + r + "c" + r + r + "d\"");
  EXPECT_EQ(Quoted("\xc0\xaf"), "\"" + r + r + "\"") << "overlong";
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "\"" + r + r + r + "\"") << "surrogate";
  EXPECT_EQ(Quoted("\xf4\x90\x80\x80"), "\"" + r + r + r + r + "\"") << "above U+10FFFF";
  EXPECT_EQ(Quoted("\xe2\x82"), "\"" + r + "\"") << "cut off";
}

TEST(JsonWriter, FixedDigits) {
  EXPECT_EQ(Number(1.0 / 3, 4), "0.3333");
  EXPECT_EQ(Number(2.0 / 3, 0), "1");
  EXPECT_EQ(Number(-0.0001, 2), "0.00");
  EXPECT_EQ(Number(-0.0, 1), "0.0");
  EXPECT_EQ(Number(1e21, 1), "1000000000000000000000.0");
  EXPECT_EQ(Number(std::numeric_limits<double>::max(), 0).size(), 309u);
  EXPECT_EQ(Number(std::nan(""), 3), "null");
  EXPECT_EQ(Number(std::numeric_limits<double>::infinity(), 3), "null");
}

// Whatever is written is valid JSON and reads back: every byte pair as a string.
TEST(JsonWriter, EverythingReadsBack) {
  std::string out;
  JsonWriter json(&out);
  json.BeginArray();
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) json.String(std::string{static_cast<char>(a), static_cast<char>(b)});
  }
  json.EndArray();
  const auto document = JsonDocument::Parse(out, "written");
  ASSERT_TRUE(document) << document.error().ToString();
  EXPECT_EQ(document->root().size(), 65536u);
  EXPECT_EQ(*document->root().Children()[static_cast<size_t>('a' * 256 + 'b')].AsString(), "ab");
  EXPECT_EQ(*document->root().Children()[10].AsString(), std::string_view("\0\n", 2));
}

TEST(JsonWriterDeathTest, MisuseIsABug) {
  std::string out;
  EXPECT_EXIT({ JsonWriter(&out).BeginObject().Int(1); }, testing::ExitedWithCode(4), "internal error");
  EXPECT_EXIT({ JsonWriter(&out).BeginArray().EndObject(); }, testing::ExitedWithCode(4), "internal error");
  EXPECT_EXIT({ JsonWriter(&out).Int(1).Int(2); }, testing::ExitedWithCode(4), "internal error");
}

}  // namespace
}  // namespace headway
