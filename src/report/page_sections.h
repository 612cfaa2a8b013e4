// SPDX-License-Identifier: Apache-2.0
// The sections of a report in the page's JSON, and the small writers it shares. Internal to page_json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "report/report_doc.h"

namespace headway::report {

void WriteSection(const Section& section, JsonWriter* json);
void WriteFacts(std::string_view key, const std::vector<Fact>& facts, JsonWriter* json);
void WriteStrings(const std::vector<std::string>& values, JsonWriter* json);

// As a number where a page can hold it, else as a string.
void WriteInteger(int64_t value, JsonWriter* json);

template <typename T>
void WriteIntegers(const std::vector<T>& values, JsonWriter* json) {
  json->BeginArray();
  for (const T value : values) WriteInteger(static_cast<int64_t>(value), json);
  json->EndArray();
}

}  // namespace headway::report
