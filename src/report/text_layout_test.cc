// SPDX-License-Identifier: Apache-2.0
#include "report/text_layout.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace headway::report {
namespace {

using Lines = std::vector<std::string>;

TEST(WrapWords, BreaksBetweenWords) {
  EXPECT_EQ(WrapWords("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(WrapWords("one two three", 13), (Lines{"one two three"}));  // exactly as wide as the line
  EXPECT_EQ(WrapWords("", 10), (Lines{""}));
  EXPECT_EQ(WrapWords("  spaces   go  ", 20), (Lines{"spaces go"}));
}

TEST(WrapWords, CutsAWordWiderThanALine) {
  EXPECT_EQ(WrapWords("ab abcdefghij k", 4), (Lines{"ab", "abcd", "efgh", "ij k"}));
}

TEST(WrapWords, CountsColumnsNotBytes) {
  // Each of these is three bytes and two columns wide: two fit into five columns.
  EXPECT_EQ(WrapWords("漢字漢字", 5), (Lines{"漢字", "漢字"}));
}

TEST(WrapWords, ControlCharactersBecomeVisible) { EXPECT_EQ(WrapWords("a\x1b[31m", 20), (Lines{"a\\x1b[31m"})); }

TEST(Hanging, FurtherLinesStandUnderTheFirst) {
  EXPECT_EQ(Hanging("data   ", "aaaa bbbb cccc dddd", 17), "data   aaaa bbbb\n       cccc dddd\n");
}

TEST(FlowPieces, PiecesStayWhole) {
  EXPECT_EQ(FlowPieces("x  ", {"aa bb", "cc dd", "ee"}, "   ", 16), "x  aa bb   cc dd\n   ee\n");
}

TEST(BlockBar, InEighths) {
  EXPECT_EQ(BlockBar(0, 10), "");
  EXPECT_EQ(BlockBar(1, 3), "███");
  EXPECT_EQ(BlockBar(0.5, 3), "█▌");    // 1.5 cells
  EXPECT_EQ(BlockBar(0.0001, 3), "▏");  // there is something
  EXPECT_EQ(BlockBar(7, 2), "██");      // never longer than its room
}

TextTable Functions() {
  TextTable table;
  table.columns = {{"function", false}, {"per step ms", true}};
  table.rows = {{"flash_fwd_kernel", "44.0"}, {"adam", "113.7"}};
  return table;
}

TEST(TextTable, AlignsBothWays) {
  EXPECT_EQ(Functions().Render(80, ""),
            "function          per step ms\n"
            "flash_fwd_kernel         44.0\n"
            "adam                    113.7\n");
}

TEST(TextTable, TitlesWrapBeforeTextIsCut) {
  // 16 + 2 + 11 = 29 columns do not fit into 24; with the title in three lines 16 + 2 + 5 = 23 do.
  EXPECT_EQ(Functions().Render(24, ""),
            "                    per\n"
            "                   step\n"
            "function             ms\n"
            "flash_fwd_kernel   44.0\n"
            "adam              113.7\n");
}

TEST(TextTable, TextGivesWayInTheMiddle) {
  // The numbers keep their 5 columns and the gap its 2: 10 are left for the name.
  EXPECT_EQ(Functions().Render(17, ""),
            "              per\n"
            "             step\n"
            "function       ms\n"
            "flash…rnel   44.0\n"
            "adam        113.7\n");
}

TEST(ToAscii, KeepsTheWidth) {
  for (const char* text : {"█▌ 61 %", "a…b", "n2 → n3", "漢", "é"}) {
    EXPECT_EQ(ToAscii(text).size(), static_cast<size_t>(DisplayWidth(text))) << text;
  }
  EXPECT_EQ(ToAscii("██▏\n"), "##\n");  // no blanks at a line's end
  EXPECT_EQ(ToAscii("µ"), "u");
}

}  // namespace
}  // namespace headway::report
