// SPDX-License-Identifier: Apache-2.0
#include "trace/importers/kineto/token_window.h"

#include <algorithm>
#include <cstring>

namespace headway::trace::kineto {
namespace {
constexpr size_t kPadding = 2 * kBlock;
constexpr size_t kTokenSlack = 16;  // the scan may scribble over 8, the sentinels take 4
}  // namespace

TokenWindow::TokenWindow(ScanFunction scan, size_t slice) : scan_(scan) { Reserve(std::max(slice, 2 * kBlock)); }

void TokenWindow::Reserve(size_t capacity) {
  auto grown = std::make_unique<char[]>(capacity + kPadding);
  std::copy_n(text_.get(), end_, grown.get());
  text_ = std::move(grown);
  capacity_ = capacity;
  SetSentinels();
}

void TokenWindow::SetSentinels() {
  if (token_capacity_ < token_count_ + kTokenSlack) {
    const size_t capacity = token_count_ + token_count_ / 2 + 1024;
    std::unique_ptr<uint32_t[]> grown(new uint32_t[capacity]);
    std::copy_n(tokens_.get(), token_count_, grown.get());
    tokens_ = std::move(grown);
    token_capacity_ = capacity;
  }
  for (size_t i = 0; i < kSentinels; ++i) tokens_[token_count_ + i] = static_cast<uint32_t>(capacity_);
}

void TokenWindow::Compact() {
  const size_t shift = begin_;
  if (shift == 0) return;
  std::memmove(text_.get(), text_.get() + shift, end_ - shift);
  for (size_t i = token_; i < token_count_; ++i) tokens_[i - token_] = tokens_[i] - static_cast<uint32_t>(shift);
  token_count_ -= token_;
  token_ = 0;
  odd_.erase(odd_.begin(), odd_.begin() + static_cast<std::ptrdiff_t>(odd_head_));
  odd_head_ = 0;
  for (OddBlock& block : odd_) block.position -= static_cast<int64_t>(shift);
  offset_ += static_cast<int64_t>(shift);
  begin_ = 0;
  limit_ -= shift;
  end_ -= shift;
}

size_t TokenWindow::Fill(std::string_view bytes) {
  if (bytes.size() > capacity_ - end_) Compact();
  if (end_ == capacity_) Reserve(capacity_ * 2);
  const size_t taken = std::min(bytes.size(), capacity_ - end_);
  std::memcpy(text_.get() + end_, bytes.data(), taken);
  end_ += taken;
  IndexBlocks((end_ - limit_) / kBlock);
  return taken;
}

void TokenWindow::FillEnd() {
  if (end_ <= limit_) return;
  Reserve(std::max(capacity_, limit_ + kBlock));
  std::fill(text_.get() + end_, text_.get() + limit_ + kBlock, ' ');
  IndexBlocks(1);
}

void TokenWindow::IndexBlocks(size_t blocks) {
  if (blocks == 0) return;
  const size_t most = token_count_ + blocks * kBlock + kTokenSlack;
  if (token_capacity_ < most) {
    std::unique_ptr<uint32_t[]> grown(new uint32_t[most]);
    std::copy_n(tokens_.get() + token_, token_count_ - token_, grown.get() + token_);
    tokens_ = std::move(grown);
    token_capacity_ = most;
  }
  uint32_t* last =
      scan_(text_.get() + limit_, blocks, static_cast<uint32_t>(limit_), state_, tokens_.get() + token_count_, odd_);
  token_count_ = static_cast<size_t>(last - tokens_.get());
  limit_ += blocks * kBlock;
  SetSentinels();
}

void TokenWindow::Consume(size_t position, size_t token) {
  begin_ = position;
  token_ = token;
  const int64_t first = static_cast<int64_t>(position) - static_cast<int64_t>(kBlock);
  while (odd_head_ < odd_.size() && odd_[odd_head_].position <= first) ++odd_head_;
}

void TokenWindow::Restart(size_t position) {
  begin_ = position;
  limit_ = position;
  state_ = {};
  token_ = 0;
  token_count_ = 0;
  odd_.clear();
  odd_head_ = 0;
  SetSentinels();
  IndexBlocks((end_ - limit_) / kBlock);
}

TokenWindow::Oddity TokenWindow::OddIn(size_t from, size_t to) const {
  Oddity result;
  const auto begin = static_cast<int64_t>(from);
  const auto end = static_cast<int64_t>(to);
  constexpr auto kBits = static_cast<int64_t>(kBlock);
  for (size_t i = odd_head_; i < odd_.size() && odd_[i].position < end; ++i) {
    const OddBlock& block = odd_[i];
    uint64_t inside = ~uint64_t{0};
    if (block.position + kBits <= begin) continue;
    if (block.position < begin) inside &= ~uint64_t{0} << (begin - block.position);
    if (block.position + kBits > end) inside &= ~uint64_t{0} >> (block.position + kBits - end);
    result.control = result.control || (block.control & inside) != 0;
    result.high = result.high || (block.high & inside) != 0;
  }
  return result;
}

}  // namespace headway::trace::kineto
