// SPDX-License-Identifier: Apache-2.0
#include "base/folder_walk.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "base/system_error.h"
#include "base/text.h"

namespace headway {
namespace {

class FolderWalk {
 public:
  FolderWalk(std::vector<FoundFile>* files, std::vector<Error>* problems) : files_(files), problems_(problems) {}

  void Visit(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
      AddProblem(path, errno);
    } else if (S_ISREG(status.st_mode)) {
      files_->push_back(FoundFile{.path = path, .size = status.st_size});
    } else if (S_ISDIR(status.st_mode) && seen_.emplace(status.st_dev, status.st_ino).second) {
      for (const std::string& name : Names(path)) Visit(path == "/" ? path + name : path + "/" + name);
    }
  }

 private:
  std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    if (folder == nullptr) {
      AddProblem(path, errno);
      return names;
    }
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
      errno = 0;
    }
    if (errno != 0) AddProblem(path, errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  void AddProblem(const std::string& path, int errno_value) {
    // The name was just read from the folder: its target is what is missing.
    problems_->push_back(errno_value == ENOENT ? Error{ErrorCode::kNotFound, "this link leads nowhere", Printable(path)}
                                               : SystemError("look into it", errno_value, Printable(path)));
  }

  std::vector<FoundFile>* files_;
  std::vector<Error>* problems_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

void WalkFolder(const std::string& folder, std::vector<FoundFile>* files, std::vector<Error>* problems) {
  FolderWalk(files, problems).Visit(folder);
}

}  // namespace headway
