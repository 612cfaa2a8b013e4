// SPDX-License-Identifier: Apache-2.0
// The regular files in a folder and in all folders below it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace headway {

struct FoundFile {
  std::string path;  // begins with the folder as given
  int64_t size = 0;
};

// Appends the files in sorted order, and a problem for each folder or entry that cannot be looked at. Names that begin
// with a dot, pipes, sockets and devices are passed over. Links are followed; a folder reached twice is read once, so
// loops end.
void WalkFolder(const std::string& folder, std::vector<FoundFile>* files, std::vector<Error>* problems);

}  // namespace headway
