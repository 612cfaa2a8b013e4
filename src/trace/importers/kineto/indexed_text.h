// SPDX-License-Identifier: Apache-2.0
// A whole JSON text with its structural positions: for small texts that are at hand completely.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "trace/importers/kineto/structural_index.h"
#include "trace/importers/kineto/token_cursor.h"

namespace headway::trace::kineto {

class IndexedText {
 public:
  // Copies `text`.
  explicit IndexedText(std::string_view text);

  // Stands on the first structural character. Valid as long as this object.
  [[nodiscard]] TokenCursor Cursor() const {
    return {text_.data(), tokens_.data(), tokens_.data() + token_count_, size_};
  }

 private:
  size_t size_ = 0;
  std::vector<char> text_;  // padded
  std::vector<uint32_t> tokens_;
  size_t token_count_ = 0;
};

}  // namespace headway::trace::kineto
