// SPDX-License-Identifier: Apache-2.0
#include "report/html_renderer.h"

#include <gtest/gtest.h>

#include "report/embedded_page.h"
#include "report/gzip.h"
#include "report/page_json.h"

namespace headway::report {
namespace {

ReportDoc Hostile() {
  ReportDoc doc;
  doc.title = "run </title><script>alert(1)</script>";
  doc.headline.sentence = "@@HEADWAY_REPORT@@ & \"quotes\"";
  return doc;
}

TEST(EscapeHtml, LeavesNothingThatActs) {
  EXPECT_EQ(EscapeHtml("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
  EXPECT_EQ(EscapeHtml(std::string("a\0b\x7f", 4)), "a\ufffdb\ufffd");
  EXPECT_EQ(EscapeHtml("\xff é"), "\ufffd é");
}

TEST(FillPage, FillsEachHoleOnceAndDoesNotLookAtWhatItFilledIn) {
  const ReportDoc doc = Hostile();
  const std::string page = FillPage(
      "<title>@@HEADWAY_TITLE@@</title><h1>@@HEADWAY_SENTENCE@@</h1><i>@@HEADWAY_REPORT@@</i>@@HEADWAY_X@@", doc);
  EXPECT_EQ(page,
            "<title>run &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>"
            "<h1>@@HEADWAY_REPORT@@ &amp; &quot;quotes&quot;</h1><i>" +
                Base64(Gzip(PageJson(doc))) + "</i>@@HEADWAY_X@@");
}

TEST(FillPage, APageWithoutHolesStaysAsItIs) {
  EXPECT_EQ(FillPage("plain @@HEADWAY_ no end", {}), "plain @@HEADWAY_ no end");
  EXPECT_EQ(FillPage("", {}), "");
}

TEST(RenderHtml, IsOneFileOrSaysWhatIsMissing) {
  const Result<std::string> html = RenderHtml(Hostile());
  if (EmbeddedPage().empty()) {
    ASSERT_FALSE(html.has_value());
    EXPECT_EQ(html.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(html.error().message.find(EmbeddedPageProblem()), std::string::npos);
    GTEST_SKIP() << "no page in this build: " << EmbeddedPageProblem();
  }
  ASSERT_TRUE(html.has_value());
  EXPECT_TRUE(html->starts_with("<!doctype html>"));
  for (const char* hole : {"@@HEADWAY_TITLE@@", "@@HEADWAY_SENTENCE@@", "%%"})
    EXPECT_EQ(html->find(hole), std::string::npos) << hole;
  // The policy forbids every fetch; nothing in the file names a place to fetch from.
  EXPECT_NE(html->find("default-src 'none'"), std::string::npos);
  for (const char* reference : {"src=\"http", "href=\"http", "url(http", "@import"})
    EXPECT_EQ(html->find(reference), std::string::npos) << reference;
}

TEST(RenderHtml, SameReportSameBytes) {
  if (EmbeddedPage().empty()) GTEST_SKIP() << "no page in this build";
  EXPECT_EQ(*RenderHtml(Hostile()), *RenderHtml(Hostile()));
}

}  // namespace
}  // namespace headway::report
