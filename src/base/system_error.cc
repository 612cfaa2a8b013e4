// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace headway {
namespace {

std::string_view Hint(int errno_value) {
  switch (errno_value) {
    case EACCES:
    case EPERM: return "; check the rights of the file and of the folders above it";
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another place";
    case EMFILE:
    case ENFILE: return "; raise the limit on open files (ulimit -n)";
    default: return "";
  }
}

}  // namespace

Error SystemError(std::string_view what, int errno_value, std::string where) {
  std::string message = "cannot ";
  message.append(what).append(": ").append(std::generic_category().message(errno_value)).append(Hint(errno_value));
  const bool absent = errno_value == ENOENT || errno_value == ENOTDIR;
  return Error{absent ? ErrorCode::kNotFound : ErrorCode::kIo, std::move(message), std::move(where)};
}

}  // namespace headway
