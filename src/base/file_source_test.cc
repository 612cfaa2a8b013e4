// SPDX-License-Identifier: Apache-2.0
#include "base/file_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/memory_source.h"
#include "base/peek_source.h"
#include "base/test_folder.h"

namespace headway {
namespace {

TEST(FileSource, GivesTheFileInChunksOfAnySize) {
  TestFolder folder;
  std::string content;
  for (int i = 0; i < 100'000; ++i) content.push_back(static_cast<char>(i * 7));
  const std::string path = folder.Write("data.bin", content);
  for (const size_t chunk : {size_t{1}, size_t{3}, size_t{4096}, size_t{1} << 20}) {
    auto source = FileSource::Open(path, "data.bin", {.chunk_size = chunk});
    ASSERT_TRUE(source) << source.error().ToString();
    EXPECT_EQ((*source)->compressed_size(), 100'000);
    EXPECT_EQ((*source)->compressed_position(), 0);
    EXPECT_EQ(ReadAll(**source), content) << "chunk " << chunk;
    EXPECT_EQ((*source)->compressed_position(), 100'000);
    EXPECT_FALSE((*source)->damage());
    EXPECT_TRUE((*source)->Next()->empty()) << "the end repeats";
  }
}

TEST(FileSource, EmptyFileEndsAtOnce) {
  TestFolder folder;
  auto source = FileSource::Open(folder.Write("empty", ""), "empty");
  ASSERT_TRUE(source);
  EXPECT_EQ(ReadAll(**source), "");
}

TEST(FileSource, SaysWhatIsWrong) {
  TestFolder folder;
  const auto missing = FileSource::Open(folder.Path("absent"), "absent");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().where, "absent");
  const auto directory = FileSource::Open(folder.path(), "the folder");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().ToString(), "the folder: this is a folder, not a file");
}

TEST(FileSource, GivesARange) {
  TestFolder folder;
  const std::string path = folder.Write("digits", "0123456789");
  auto source = FileSource::OpenRange(path, "part", 3, 4, {.chunk_size = 3});
  ASSERT_TRUE(source);
  EXPECT_EQ(ReadAll(**source), "3456");
  EXPECT_FALSE((*source)->damage());
}

TEST(FileSource, RangeBehindTheEndIsDamage) {
  TestFolder folder;
  const std::string path = folder.Write("digits", "0123456789");
  auto source = FileSource::OpenRange(path, "part", 8, int64_t{1} << 40);
  ASSERT_TRUE(source);
  EXPECT_EQ(ReadAll(**source), "89");
  ASSERT_TRUE((*source)->damage());
  EXPECT_EQ((*source)->damage()->code, ErrorCode::kCorrupt);
  EXPECT_EQ((*source)->damage()->where, "part");
}

TEST(FileSource, SkipsOnlyWhatIsThere) {
  TestFolder folder;
  auto source = FileSource::Open(folder.Write("digits", "0123456789"), "digits");
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->SkipAhead(7), 7);
  EXPECT_EQ(*(*source)->Next(), "789");
  EXPECT_EQ((*source)->SkipAhead(1), 0);
}

TEST(FileSource, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "through a pipe", 14), 14);
  ::close(ends[1]);
  auto source = FileSource::Open("/dev/fd/" + std::to_string(ends[0]), "pipe");
  ASSERT_TRUE(source) << source.error().ToString();
  EXPECT_EQ((*source)->compressed_size(), -1);
  EXPECT_EQ(ReadAll(**source), "through a pipe");
  ::close(ends[0]);
}

TEST(PeekFirst, LosesNothing) {
  const std::string text = "the first bytes and the rest";
  for (const size_t chunk : {size_t{1}, size_t{4}, size_t{5}, size_t{1000}}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{4}, size_t{9}, size_t{28}, size_t{500}}) {
      Peeked peeked = PeekFirst(std::make_unique<MemorySource>(text, SourceOptions{.chunk_size = chunk}), count);
      EXPECT_EQ(peeked.first, text.substr(0, count)) << chunk << " " << count;
      EXPECT_EQ(peeked.source->name(), "memory");
      EXPECT_EQ(ReadAll(*peeked.source), text) << chunk << " " << count;
    }
  }
}

// A disk that fails after some bytes.
class FailingSource final : public ByteSource {
 public:
  [[nodiscard]] Result<std::string_view> Next() override {
    if (calls_++ == 0) return "some";
    return MakeError(ErrorCode::kIo, "cannot read it: Input/output error", name_);
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_ = "disk";
  int calls_ = 0;
};

TEST(PeekFirst, KeepsAnErrorForLater) {
  Peeked peeked = PeekFirst(std::make_unique<FailingSource>(), 10);
  EXPECT_EQ(peeked.first, "some");
  EXPECT_EQ(*peeked.source->Next(), "some");
  const auto next = peeked.source->Next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace headway
