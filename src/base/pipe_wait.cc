// SPDX-License-Identifier: Apache-2.0
#include "base/pipe_wait.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headway {
namespace {

constexpr std::chrono::milliseconds kTick{20};

// True for bytes, for an end of which the system knows, and for a writer that is silent so far. poll() alone does not
// tell the latter from no writer at all: only reading does.
bool HasWriter(int fd, std::chrono::milliseconds tick, std::string* ahead) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, static_cast<int>(tick.count())) > 0) return true;
  char byte = 0;
  const ssize_t got = ::read(fd, &byte, 1);
  if (got > 0) ahead->push_back(byte);
  return got > 0 || (got < 0 && errno == EAGAIN);
}

}  // namespace

bool WaitForWriter(int fd, std::chrono::milliseconds patience, std::string* ahead) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!HasWriter(fd, std::min(kTick, patience), ahead)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace headway
