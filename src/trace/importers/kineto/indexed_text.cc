// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/indexed_text.h"

#include <algorithm>

namespace headway::trace::kineto {

IndexedText::IndexedText(std::string_view text) {
  const size_t blocks = (text.size() + kBlock - 1) / kBlock;
  size_ = blocks * kBlock;
  text_.reserve(size_ + 2 * kBlock);
  text_.assign(text.begin(), text.end());
  text_.resize(size_, ' ');
  text_.resize(size_ + 2 * kBlock, '\0');
  tokens_.resize(size_ + 16);
  ScanState state;
  std::vector<OddBlock> odd;
  const uint32_t* last = BestScan()(text_.data(), blocks, 0, state, tokens_.data(), odd);
  token_count_ = static_cast<size_t>(last - tokens_.data());
  for (size_t i = 0; i < 4; ++i) tokens_[token_count_ + i] = static_cast<uint32_t>(size_);
}

}  // namespace headway::trace::kineto
