// SPDX-License-Identifier: Apache-2.0
// Named pipes as input: opening one waits for its writer, and a writer that never comes must not hang the program.
#pragma once

#include <chrono>
#include <string>

namespace headway {

// Waits until the pipe whose reading end is `fd`, opened with O_NONBLOCK, has bytes or someone who may write some.
// False where neither comes for `patience`. A byte that had to be read to learn that goes to `ahead`.
[[nodiscard]] bool WaitForWriter(int fd, std::chrono::milliseconds patience, std::string* ahead);

}  // namespace headway
