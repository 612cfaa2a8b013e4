// SPDX-License-Identifier: Apache-2.0
// For tests: small traces as text.
#pragma once

#include <string>

namespace headway::trace::kineto {

inline std::string Trace(const std::string& events, const std::string& before = "", const std::string& after = "") {
  return "{\"schemaVersion\": 1" + (before.empty() ? "" : ", " + before) + ", \"traceEvents\": [" + events + "]" +
         (after.empty() ? "" : ", " + after) + "}";
}

inline std::string Row(const std::string& category, const std::string& name, const std::string& args = "",
                       const std::string& times = R"("ts": 100, "dur": 5)",
                       const std::string& lane = R"("pid": 10, "tid": 11)") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + "\", " + lane + ", " + times +
         (args.empty() ? "" : ", \"args\": {" + args + "}") + "}";
}

inline std::string KernelRow(const std::string& name, const std::string& args) {
  return Row("kernel", name, args, R"("ts": 100, "dur": 5)", R"("pid": 0, "tid": 7)");
}

}  // namespace headway::trace::kineto
