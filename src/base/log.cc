// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/text.h"

namespace headway {
namespace {

std::string_view Prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return "headway: error: ";
    case LogLevel::kWarning: return "headway: warning: ";
    case LogLevel::kInfo: return "headway: ";
    case LogLevel::kDebug: return "headway: debug: ";
  }
  return "headway: ";
}

void WriteToStandardError(std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); }

}  // namespace

Log::Log(LogLevel level, Sink sink) : level_(level), sink_(sink ? std::move(sink) : Sink(WriteToStandardError)) {}

void Log::Write(LogLevel level, std::string_view message) {
  if (!Enabled(level)) return;
  const std::string line = std::string(Prefix(level)) + Printable(message) + "\n";
  const std::scoped_lock lock(mutex_);
  if (before_line_) before_line_();
  sink_(line);
}

void Log::SetBeforeLine(std::function<void()> before_line) {
  const std::scoped_lock lock(mutex_);
  before_line_ = std::move(before_line);
}

}  // namespace headway
