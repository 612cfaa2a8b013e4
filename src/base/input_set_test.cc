// SPDX-License-Identifier: Apache-2.0
#include "base/input_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/gzip_source.h"
#include "base/memory_source.h"
#include "base/packed_samples.h"
#include "base/test_folder.h"

namespace headway {
namespace {

// Display names with the test's folder cut off.
std::vector<std::string> Names(const InputSet& set, const TestFolder& folder) {
  std::vector<std::string> names;
  for (const InputItem& item : set.items) {
    names.push_back(item.display_name.starts_with(folder.path()) ? item.display_name.substr(folder.path().size() + 1)
                                                                 : item.display_name);
  }
  return names;
}

std::vector<std::string> Problems(const InputSet& set, const TestFolder& folder) {
  std::vector<std::string> problems;
  for (const Error& problem : set.problems) {
    const std::string text = problem.ToString();
    problems.push_back(text.starts_with(folder.path()) ? text.substr(folder.path().size() + 1) : text);
  }
  return problems;
}

InputSet List(std::vector<std::string> paths, int threads = 2) { return ListInputs(paths, threads); }

using Strings = std::vector<std::string>;

TEST(InputSet, SearchesFoldersInSortedOrder) {
  TestFolder folder;
  folder.Write("run/b/rank1.json", "{}");
  folder.Write("run/a/rank0.json", "{}");
  folder.Write("run/rank10", "no extension");
  folder.Write("run/rank2.json.gz", FromHex(kGzip));
  folder.Write("run/.hidden", "");
  folder.Write("run/.git/config", "");
  const InputSet set = List({folder.Path("run/")});
  EXPECT_EQ(Names(set, folder), (Strings{"run/a/rank0.json", "run/b/rank1.json", "run/rank10", "run/rank2.json.gz"}));
  EXPECT_EQ(Problems(set, folder), Strings{});
  EXPECT_EQ(set.items[0].size, 2);
  EXPECT_EQ(set.items[0].kind, InputKind::kFile);
  EXPECT_EQ(ReadAll(**set.items[3].Open()), SampleText());
}

TEST(InputSet, TheOrderOfThePathsAndTheThreadsDoNotMatter) {
  TestFolder folder;
  for (int i = 0; i < 50; ++i) folder.Write("run/rank" + std::to_string(i), "x");
  folder.Write("z.zip", FromHex(kZip));
  const InputSet one = List({folder.Path("run"), folder.Path("z.zip"), folder.Path("absent")}, 1);
  const InputSet two =
      List({folder.Path("absent"), folder.Path("z.zip"), folder.Path("run/rank7"), folder.Path("run")}, 4);
  EXPECT_EQ(Names(one, folder), Names(two, folder));
  EXPECT_EQ(Problems(one, folder), Problems(two, folder));
  EXPECT_EQ(one.items.size(), 52u);
}

TEST(InputSet, LooksIntoArchivesWhateverTheirNames) {
  TestFolder folder;
  folder.Write("in/one.dat", FromHex(kZip));
  folder.Write("in/two.dat", FromHex(kTarGzGnu));
  const InputSet set = List({folder.Path("in")});
  const Strings names = Names(set, folder);
  ASSERT_EQ(names.size(), 6u);
  EXPECT_EQ(names[0], "in/one.dat:run/rank0.json");
  EXPECT_EQ(names[1], "in/one.dat:run/rank1.txt");
  EXPECT_TRUE(names[2].starts_with("in/two.dat:folder_with_a_long_name/"));
  EXPECT_EQ(names[5], "in/two.dat:run/rank0.json");
  EXPECT_EQ(set.items[5].kind, InputKind::kTarMember);
  EXPECT_EQ(set.items[5].path, folder.Path("in/two.dat"));
  EXPECT_EQ(set.items[5].member, "./run/rank0.json");
  EXPECT_EQ(ReadAll(**set.items[0].Open()), SampleText());
  EXPECT_EQ(ReadAll(**set.items[5].Open({.chunk_size = 1})), SampleText());
}

TEST(InputSet, UnpacksAMemberThatIsPackedItself) {
  TestFolder folder;
  folder.Write("in/rank0.json.gz", FromHex(kGzip));
  ASSERT_EQ(std::system(("tar -C '" + folder.path() + "' -czf '" + folder.Path("a.tgz") + "' in").c_str()), 0);
  const InputSet set = List({folder.Path("a.tgz")});
  ASSERT_EQ(Names(set, folder), Strings{"a.tgz:in/rank0.json.gz"});
  EXPECT_EQ(ReadAll(**set.items[0].Open()), SampleText());
}

TEST(InputSet, TheLastOfEqualMembersCounts) {
  TestFolder folder;
  const std::string tar = "tar -C '" + folder.path() + "' -rf '" + folder.Path("a.tar") + "' x.json";
  folder.Write("x.json", "first");
  ASSERT_EQ(std::system(tar.c_str()), 0);
  folder.Write("x.json", "second");
  ASSERT_EQ(std::system(tar.c_str()), 0);
  const InputSet set = List({folder.Path("a.tar")});
  ASSERT_EQ(Names(set, folder), Strings{"a.tar:x.json"});
  EXPECT_EQ(ReadAll(**set.items[0].Open()), "second");
}

TEST(InputSet, SaysWhatIsMissingEmptyOrDamaged) {
  TestFolder folder;
  std::filesystem::create_directories(folder.Path("empty"));
  folder.Write("only_hidden/.x", "");
  folder.Write("cut.zip", FromHex(kZip).substr(0, 500));
  folder.Write("good", "text");
  const InputSet set = List({folder.Path("absent.json"), folder.Path("empty"), folder.Path("only_hidden"),
                             folder.Path("cut.zip"), folder.Path("good"), folder.Path("good/below")});
  EXPECT_EQ(Names(set, folder), Strings{"good"});
  EXPECT_EQ(
      Problems(set, folder),
      (Strings{"absent.json: there is no such file or folder",
               "cut.zip: the zip archive's directory is missing; is the archive complete? `zip -FF` may rescue what "
               "is in it",
               "empty: there are no files in this folder", "good/below: cannot look at it: Not a directory",
               "only_hidden: there are no files in this folder"}));
}

TEST(InputSet, LinksAreFollowedAndLoopsEnd) {
  TestFolder folder;
  folder.Write("run/rank0.json", "{}");
  folder.Write("other/rank1.json", "{}");
  std::filesystem::create_directory_symlink(folder.Path("run"), folder.Path("run/loop"));
  std::filesystem::create_directory_symlink(folder.Path("other"), folder.Path("run/other"));
  std::filesystem::create_symlink(folder.Path("run/rank0.json"), folder.Path("run/rank2.json"));
  std::filesystem::create_symlink(folder.Path("nowhere"), folder.Path("run/broken"));
  const InputSet set = List({folder.Path("run")});
  EXPECT_EQ(Names(set, folder), (Strings{"run/other/rank1.json", "run/rank0.json", "run/rank2.json"}));
  EXPECT_EQ(Problems(set, folder), Strings{"run/broken: this link leads nowhere"});
}

TEST(InputSet, UnreadableFilesAndFoldersAreProblems) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  TestFolder folder;
  folder.Write("run/secret.json", "{}");
  folder.Write("run/closed/a.json", "{}");
  folder.Write("run/open.json", "{}");
  ASSERT_EQ(::chmod(folder.Path("run/secret.json").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.Path("run/closed").c_str(), 0), 0);
  const InputSet set = List({folder.Path("run")});
  EXPECT_EQ(Names(set, folder), Strings{"run/open.json"});
  ASSERT_EQ(set.problems.size(), 2u);
  EXPECT_NE(set.problems[0].message.find("Permission denied"), std::string::npos);
  ASSERT_EQ(::chmod(folder.Path("run/closed").c_str(), 0700), 0);
}

TEST(InputSet, PipesAndStandardInputAreNotTouched) {
  TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  std::filesystem::create_directories(folder.Path("run"));
  ASSERT_EQ(::mkfifo(folder.Path("run/pipe").c_str(), 0600), 0);
  folder.Write("run/a", "x");
  const InputSet set = List({"-", folder.Path("pipe"), folder.Path("run"), "-"});  // would hang if it opened the pipes
  EXPECT_EQ(Names(set, folder), (Strings{"pipe", "run/a", "standard input"}));
  EXPECT_EQ(set.items[0].kind, InputKind::kPipe);
  EXPECT_EQ(set.items[2].kind, InputKind::kStandardInput);
}

// A pipe that nobody writes to ends in a sentence, however long one waits.
TEST(InputSet, APipeWithoutAWriterIsAProblem) {
  TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  const InputSet set = List({folder.Path("pipe")});
  const auto source = set.items.at(0).Open({.pipe_patience = std::chrono::milliseconds(30)});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().ToString(),
            folder.Path("pipe") + ": nobody writes to this pipe; start what writes to it together with headway");
}

TEST(InputSet, APipeIsReadWhenItsWriterComes) {
  TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.Path("pipe").c_str(), 0600), 0);
  const InputSet set = List({folder.Path("pipe")});
  // The writer comes late, is silent for longer than one waits for a writer, and writes more than a pipe holds.
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const int fd = ::open(folder.Path("pipe").c_str(), O_WRONLY | O_CLOEXEC);
    for (const int silence : {300, 30, 0}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(silence));
      const std::string text(100'000, static_cast<char>('a' + silence % 7));
      for (size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
        if (wrote <= 0) break;
        at += static_cast<size_t>(wrote);
      }
    }
    ::close(fd);
  });
  const auto source = set.items.at(0).Open({.pipe_patience = std::chrono::milliseconds(200)});
  EXPECT_TRUE(source);
  if (source) {
    EXPECT_EQ(ReadAll(**source), std::string(100'000, 'g') + std::string(100'000, 'c') + std::string(100'000, 'a'));
  }
  writer.join();
}

TEST(InputSet, DevicesAndSocketsAreRefused) {
  TestFolder folder;
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.Path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const InputSet set = List({"/dev/zero", "/dev/null", folder.Path("socket")});
  EXPECT_TRUE(set.items.empty());
  EXPECT_EQ(Problems(set, folder),
            (Strings{"/dev/null: this is a device, not a file", "/dev/zero: this is a device, not a file",
                     "socket: this is a socket, not a file"}));
  ::close(listener);
}

// Replaces standard input for the time of a test.
class StandardInputFrom {
 public:
  explicit StandardInputFrom(const std::string& path) : before_(::dup(STDIN_FILENO)) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::dup2(fd, STDIN_FILENO);
    ::close(fd);
  }
  ~StandardInputFrom() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

TEST(InputSet, StandardInputIsUnpackedButNoArchive) {
  TestFolder folder;
  const std::string packed = folder.Write("a.gz", FromHex(kGzip));
  const InputSet set = List({"-"});
  ASSERT_EQ(set.items.size(), 1u);
  for (const size_t chunk : {size_t{1}, size_t{1} << 20}) {
    const StandardInputFrom input(packed);
    auto source = set.items[0].Open({.chunk_size = chunk});
    ASSERT_TRUE(source) << source.error().ToString();
    EXPECT_EQ((*source)->name(), "standard input");
    EXPECT_EQ(ReadAll(**source), SampleText());
  }
  for (const std::string_view archive : {kZip, kTarGzGnu}) {
    const StandardInputFrom input(folder.Write("archive", FromHex(archive)));
    const auto source = set.items[0].Open();
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().ToString(),
              "standard input: an archive cannot be read from a pipe; give the archive file itself");
  }
}

TEST(InputSet, HostileNamesAreMadePrintable) {
  TestFolder folder;
  const std::string path = folder.Write("evil\x1b[2J\n.json", "{}");
  const InputSet set = List({folder.path()});
  ASSERT_EQ(Names(set, folder), Strings{"evil\\x1b[2J\\n.json"});
  EXPECT_EQ(set.items[0].path, path);
  EXPECT_EQ(ReadAll(**set.items[0].Open()), "{}");
}

}  // namespace
}  // namespace headway
