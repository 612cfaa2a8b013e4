// SPDX-License-Identifier: Apache-2.0
#include "base/file_io.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/test_folder.h"

namespace headway {
namespace {

size_t CountFiles(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ReadSmallFile, WholeOrNothing) {
  TestFolder folder;
  const std::string path = folder.Write("a", "content");
  EXPECT_EQ(*ReadSmallFile(path), "content");
  EXPECT_EQ(*ReadSmallFile(path, 7), "content");
  EXPECT_EQ(ReadSmallFile(path, 6).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(ReadSmallFile(folder.Path("absent")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadSmallFile("/dev/zero", 1000).error().code, ErrorCode::kTooLarge);
}

TEST(WriteFileAtomically, MakesAndReplaces) {
  TestFolder folder;
  const std::string path = folder.Path("out.json");
  ASSERT_TRUE(WriteFileAtomically(path, "one"));
  EXPECT_EQ(*ReadSmallFile(path), "one");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(WriteFileAtomically(path, "two"));
  EXPECT_EQ(*ReadSmallFile(path), "two");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u) << "rights are kept";
  EXPECT_EQ(CountFiles(folder.path()), 1u);
}

TEST(WriteFileAtomically, FollowsLinks) {
  TestFolder folder;
  folder.Write("real/file", "old");
  std::filesystem::create_symlink(folder.Path("real/file"), folder.Path("link"));
  ASSERT_TRUE(WriteFileAtomically(folder.Path("link"), "new"));
  EXPECT_EQ(*ReadSmallFile(folder.Path("real/file")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
}

TEST(WriteFileAtomicallyFault, FullDisk) {
  const auto written = WriteFileAtomically("/dev/full", "content");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(written.error().ToString(),
            "/dev/full: cannot write it: No space left on device; free some space or choose another place");
}

// The system's limit on file sizes makes the write fail half way: the old content stays and no new file is left.
TEST(WriteFileAtomicallyFault, AFailedWriteChangesNothing) {
  TestFolder folder;
  const std::string path = folder.Write("out", "old content");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  auto* action = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto written = WriteFileAtomically(path, std::string(100'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, action);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kIo);
  EXPECT_EQ(*ReadSmallFile(path), "old content");
  EXPECT_EQ(CountFiles(folder.path()), 1u);
}

TEST(WriteFileAtomicallyFault, SaysWhereItCannotWrite) {
  TestFolder folder;
  EXPECT_EQ(WriteFileAtomically(folder.Path("absent/out"), "x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(WriteFileAtomically(folder.path(), "x").error().message, "cannot write it: Is a directory");
}

TEST(AtomicFile, PiecesAppearOnlyAfterCommit) {
  TestFolder folder;
  const std::string path = folder.Path("out");
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file);
    AtomicFile moved = std::move(*file);
    ASSERT_TRUE(moved.Write("a"));
    ASSERT_TRUE(moved.Write("b"));
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(moved.Commit());
  }
  EXPECT_EQ(*ReadSmallFile(path), "ab");
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file->Write("never committed"));
  }
  EXPECT_EQ(*ReadSmallFile(path), "ab");
  EXPECT_EQ(CountFiles(folder.path()), 1u);
}

TEST(EnsureFolder, MakesAllOfThem) {
  TestFolder folder;
  ASSERT_TRUE(EnsureFolder(folder.Path("a/b/c")));
  ASSERT_TRUE(EnsureFolder(folder.Path("a/b/c")));
  EXPECT_TRUE(std::filesystem::is_directory(folder.Path("a/b/c")));
  folder.Write("file", "");
  const auto made = EnsureFolder(folder.Path("file/below"));
  ASSERT_FALSE(made);
  EXPECT_FALSE(EnsureFolder(folder.Path("file")));
}

}  // namespace
}  // namespace headway
