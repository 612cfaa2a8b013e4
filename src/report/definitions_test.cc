// SPDX-License-Identifier: Apache-2.0
#include "report/definitions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace headway::report {
namespace {

TEST(Definitions, EachHasWords) {
  std::set<std::string_view> titles;
  for (const Definition& definition : Definitions()) {
    EXPECT_FALSE(definition.title.empty()) << definition.term;
    EXPECT_TRUE(definition.text.ends_with('.')) << definition.term;
    EXPECT_TRUE(titles.insert(definition.title).second) << "two definitions of " << definition.title;
  }
}

TEST(Definitions, FoundByKey) {
  ASSERT_NE(FindDefinition("own-time"), nullptr);
  EXPECT_EQ(FindDefinition("own-time")->title, "own time");
  EXPECT_EQ(FindDefinition("beta"), &Definitions()[1]);
  EXPECT_EQ(FindDefinition(""), nullptr);
  EXPECT_EQ(FindDefinition("own-tim"), nullptr);
}

TEST(Definitions, AReportBringsThoseItUses) {
  ReportDoc doc;
  EXPECT_TRUE(DefinitionsFor(doc).empty());
  doc.key_facts = {{"replay error", 0.01, Unit::kShare, "", "replay-error"},
                   {"x", 1.0, Unit::kShare, "", "no-such-term"}};
  const std::vector<Definition> found = DefinitionsFor(doc);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].term, "replay-error");
}

// `make_sample_report definitions OUT.md` writes what has to stand there.
TEST(Definitions, ReadingTheReportHasThemWordForWord) {
  std::ifstream file("docs/reading-the-report.md");
  if (!file) GTEST_SKIP() << "there is no docs/reading-the-report.md";
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(guide.find(DefinitionsMarkdown()), std::string::npos)
      << "the glossary in the guide is not that of definitions.inc";
}

TEST(Definitions, MarkdownHasAllOfThem) {
  const std::string text = DefinitionsMarkdown();
  for (const Definition& definition : Definitions()) {
    EXPECT_NE(text.find("**" + std::string(definition.title) + "**: "), std::string::npos);
  }
}

}  // namespace
}  // namespace headway::report
