// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/varint.h"
#include "pattern/hwp_functions.h"

namespace headway::pattern::hwp {

std::string WriteFunctionTable(const FunctionTable& table) {
  std::string out;
  AppendVarint(&out, table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    const FunctionId parent = table[i].parent;
    AppendVarint(&out, parent < 0 ? 0 : i - static_cast<size_t>(parent));
  }
  for (const FunctionName& f : table) out.push_back(static_cast<char>(f.work_class));

  std::vector<std::string_view> resources = {""};
  std::string resource_of;
  for (const FunctionName& f : table) {
    auto it = std::find(resources.begin(), resources.end(), f.resource);
    if (it == resources.end()) it = resources.insert(it, f.resource);
    AppendVarint(&resource_of, static_cast<uint64_t>(it - resources.begin()));
  }
  AppendVarint(&out, resources.size() - 1);
  for (size_t i = 1; i < resources.size(); ++i) {
    AppendVarint(&out, resources[i].size());
    out += resources[i];
  }
  out += resource_of;

  for (const FunctionName& f : table) {
    AppendVarint(&out, f.name.size());
    out += f.name;
  }
  return out;
}

bool ReadFunctionTable(std::string_view bytes, DecodeBudget* budget, FunctionTable* table) {
  VarintReader in(bytes);
  const uint64_t count = in.Varint();
  if (!in.CanHold(count) || !budget->Take(count, sizeof(FunctionName))) return false;
  table->assign(static_cast<size_t>(count), FunctionName());
  for (size_t i = 0; i < count; ++i) {
    const uint64_t up = in.Varint();
    if (up > i) return false;
    (*table)[i].parent = up == 0 ? -1 : static_cast<FunctionId>(i - up);
  }
  for (FunctionName& f : *table) {
    const uint64_t work_class = in.Varint();
    if (work_class >= kWorkClasses) return false;
    f.work_class = static_cast<WorkClass>(work_class);
  }
  const uint64_t resource_count = in.Varint();
  if (!in.CanHold(resource_count) || !budget->Take(resource_count, sizeof(std::string_view))) return false;
  std::vector<std::string_view> resources(static_cast<size_t>(resource_count) + 1);
  for (size_t i = 1; i < resources.size(); ++i) resources[i] = in.Bytes(in.Varint());
  for (FunctionName& f : *table) {
    const uint64_t resource = in.Varint();
    if (resource >= resources.size() || !budget->Take(resources[resource].size())) return false;
    f.resource.assign(resources[resource]);
  }
  for (FunctionName& f : *table) {
    const std::string_view name = in.Bytes(in.Varint());
    if (!budget->Take(name.size())) return false;
    f.name.assign(name);
  }
  return in.ok() && in.empty();
}

}  // namespace headway::pattern::hwp
