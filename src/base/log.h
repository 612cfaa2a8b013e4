// SPDX-License-Identifier: Apache-2.0
// Messages to the person at the terminal, by level. An object that is handed around; results never go through it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

namespace headway {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

class Log {
 public:
  using Sink = std::function<void(std::string_view line)>;  // receives one line with its newline

  // Writes messages up to `level` to standard error, or to `sink` where one is given.
  explicit Log(LogLevel level = LogLevel::kWarning, Sink sink = {});
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // One line each: "headway: warning: <message>". Control characters are escaped, so text from a trace may be part of
  // it. Safe to call from several threads; lines never mix.
  void Error(std::string_view message) { Write(LogLevel::kError, message); }
  void Warning(std::string_view message) { Write(LogLevel::kWarning, message); }
  void Info(std::string_view message) { Write(LogLevel::kInfo, message); }
  void Debug(std::string_view message) { Write(LogLevel::kDebug, message); }
  void Write(LogLevel level, std::string_view message);

  // For messages that are costly to make.
  [[nodiscard]] bool Enabled(LogLevel level) const { return level <= level_; }

  // Called before each line, with the lock held: a progress bar takes itself off the line there. Empty = nothing.
  void SetBeforeLine(std::function<void()> before_line);

 private:
  LogLevel level_;
  Sink sink_;
  std::mutex mutex_;
  std::function<void()> before_line_;
};

}  // namespace headway
