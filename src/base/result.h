// SPDX-License-Identifier: Apache-2.0
// How an operation says that the caller's request or a file is wrong. Odd data inside a readable file is not an
// error: it goes to trace::ImportLog and the work goes on. A bug in the program is a CHECK (base/check.h).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace headway {

enum class ErrorCode : uint8_t {
  kInvalidArgument,  // the request makes no sense (usage; exit code 2)
  kNotFound,         // a path or a name does not exist
  kCorrupt,          // the data are damaged beyond use
  kUnsupported,      // well-formed, but a format or version we cannot read
  kIo,               // the operating system refused (permissions, full disk)
  kTooLarge,         // a limit that protects memory was exceeded
};

// One sentence in the user's terms: what is wrong and what to do. `where` is a place in the *data*:
// a file, with a byte offset where one is known ("run/rank3.json.gz, byte 1034").
struct Error {
  ErrorCode code = ErrorCode::kCorrupt;
  std::string message;
  std::string where;

  // "where: message", or the message alone where no place is known.
  [[nodiscard]] std::string ToString() const { return where.empty() ? message : where + ": " + message; }
};

template <typename T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> MakeError(ErrorCode code, std::string message, std::string where = {}) {
  return std::unexpected<Error>(Error{code, std::move(message), std::move(where)});
}

}  // namespace headway
