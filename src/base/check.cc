// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace headway {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "headway: internal error: %s is false (%s:%d)\n", condition, file, line);
  std::_Exit(4);  // the documented exit code of an internal error
}

}  // namespace headway
