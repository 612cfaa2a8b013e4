// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/comm_args.h"

#include <algorithm>
#include <vector>

namespace headway::trace::kineto {
namespace {

// The elements of a list's text, split at commas of its own level. Strings keep their quotes.
std::vector<std::string_view> SplitList(std::string_view list) {
  std::vector<std::string_view> parts;
  if (list.size() < 2 || !list.starts_with('[') || !list.ends_with(']')) return parts;
  list = list.substr(1, list.size() - 2);
  size_t begin = 0;
  int depth = 0;
  bool in_string = false;
  const auto add = [&](size_t end) {
    std::string_view part = list.substr(begin, end - begin);
    while (!part.empty() && IsSpace(part.front())) part.remove_prefix(1);
    while (!part.empty() && IsSpace(part.back())) part.remove_suffix(1);
    parts.push_back(part);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      add(i);
      begin = i + 1;
    }
  }
  add(list.size());
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::string_view Unquoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' ? text.substr(1, text.size() - 2) : text;
}

// Product of the numbers of "[8, 1024]"; 1 for "[]"; -1 for anything else, nested lists among it.
int64_t Elements(std::string_view dims) {
  if (!dims.starts_with('[')) return -1;
  int64_t product = 1;
  for (const std::string_view part : SplitList(dims)) {
    int64_t size = 0;
    if (!ParseDecimal(part, 0, &size) || size < 0 || __builtin_mul_overflow(product, size, &product)) return -1;
  }
  return product;
}

// The same for all tensors of a list: 10 for "[[2, 3], [4]]"; -1 for "[]", where the dimensions were not recorded.
int64_t ListElements(std::string_view dims) {
  int64_t total = -1;
  for (const std::string_view part : SplitList(dims)) {
    const int64_t elements = Elements(part);
    if (elements < 0 || __builtin_add_overflow(std::max<int64_t>(total, 0), elements, &total)) return -1;
  }
  return total;
}

struct Input {
  int64_t elements = -1;
  int size = 0;  // of an element, in bytes; 0 = unknown
  bool is_list = false;
};

// The tensors and lists of tensors among the inputs of a call.
std::vector<Input> Inputs(std::string_view dims, std::string_view types, const NameRules& rules) {
  const std::vector<std::string_view> shapes = SplitList(dims);
  const std::vector<std::string_view> kinds = SplitList(types);
  std::vector<Input> inputs;
  for (size_t i = 0; i < shapes.size() && i < kinds.size(); ++i) {
    const std::string_view kind = Unquoted(kinds[i]);
    Input input;
    input.is_list = kind == "TensorList";
    input.size = input.is_list ? 0 : rules.ElementSize(kind);
    if (!input.is_list && input.size == 0) continue;
    if (!input.is_list && shapes.size() > 1 && shapes[i] == "[]") continue;  // a plain number among tensors
    input.elements = input.is_list ? ListElements(shapes[i]) : Elements(shapes[i]);
    if (input.elements >= 0) inputs.push_back(input);
  }
  return inputs;
}

// The size that the elements of all tensors outside lists have; 0 where they differ or there are none.
int CommonSize(const std::vector<Input>& inputs) {
  int common = 0;
  for (const Input& input : inputs) {
    if (input.is_list) continue;
    if (common != 0 && common != input.size) return 0;
    common = input.size;
  }
  return common;
}

// The number behind `mark`, -1 if there is none.
int64_t NumberBehind(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return -1;
  std::string_view rest = text.substr(at + mark.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  size_t digits = 0;
  while (digits < rest.size() && IsDigit(rest[digits])) ++digits;
  int64_t number = -1;
  return digits > 0 && ParseDecimal(rest.substr(0, digits), 0, &number) ? number : -1;
}

}  // namespace

Bytes CollectiveBytes(const CollectiveArgs& comm, const NameRules& rules) {
  const int64_t elements = std::max(comm.in_elements, comm.out_elements);
  const int size = rules.ElementSize(comm.dtype);
  Bytes bytes = -1;
  if (elements < 0 || size == 0 || __builtin_mul_overflow(elements, size, &bytes)) return -1;
  return bytes;
}

Bytes TensorBytes(std::string_view dims, std::string_view types, std::string_view dtype, Tensors tensors,
                  const NameRules& rules) {
  const std::vector<Input> inputs = Inputs(dims, types, rules);
  const int named = rules.ElementSize(dtype);
  const int list_size = named != 0 ? named : CommonSize(inputs);
  Bytes total = -1;
  for (const Input& input : inputs) {
    const int size = input.is_list ? list_size : input.size;
    Bytes bytes = 0;
    if (size == 0 || __builtin_mul_overflow(input.elements, size, &bytes)) continue;
    if (tensors == Tensors::kLargest) {
      total = std::max(total, bytes);
    } else if (__builtin_add_overflow(std::max<Bytes>(total, 0), bytes, &total)) {
      return -1;
    }
  }
  return total;
}

int32_t PeerOf(CommOp op, const CollectiveArgs& comm, std::string_view name, std::string_view concrete_inputs) {
  const bool sends = op == CommOp::kSend;
  if (!sends && op != CommOp::kRecv) return -1;
  int64_t peer = sends ? comm.destination : comm.source;
  if (peer < 0) peer = NumberBehind(name, sends ? "->" : "<-");
  const bool is_any = name.find("any_source") != std::string_view::npos;  // its third input is the tag
  if (peer < 0 && !is_any) {
    const std::vector<std::string_view> inputs = SplitList(concrete_inputs);
    int64_t number = -1;
    if (inputs.size() > 2 && ParseDecimal(Unquoted(inputs[2]), 0, &number)) peer = number;
  }
  return ToInt32(peer);
}

}  // namespace headway::trace::kineto
