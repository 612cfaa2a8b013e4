// SPDX-License-Identifier: Apache-2.0
// For tests: an empty folder that vanishes with all it holds, and reading a source to its end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace headway {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "headway_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the folders above it, and returns its path.
  std::string Write(std::string_view name, std::string_view content) {
    const std::string path = Path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::remove(path);  // some file systems flush a file that is cut short before it is written anew
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::string path_;
};

// Everything a source gives. A failing Next() fails the test.
inline std::string ReadAll(ByteSource& source) {
  std::string all;
  while (true) {
    const auto chunk = source.Next();
    if (!chunk) {
      ADD_FAILURE() << chunk.error().ToString();
      return all;
    }
    if (chunk->empty()) return all;
    all.append(*chunk);
  }
}

// The folder of outside data (HEADWAY_SHARED_DATA, else ../shared/data), or empty where there is none.
inline std::string SharedData() {
  const char* given = std::getenv("HEADWAY_SHARED_DATA");
  const std::string path = given != nullptr ? given : "../shared/data";
  return std::filesystem::is_directory(path) ? path : std::string();
}

}  // namespace headway
