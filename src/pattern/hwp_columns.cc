// SPDX-License-Identifier: Apache-2.0
#include "pattern/hwp_columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace headway::pattern::hwp {
namespace {

// The smallest value is stored in units of a quarter of the span of the packed values: its lower bits would cost more
// than the bits they save.
constexpr int kBaseBits = 2;
constexpr uint8_t kHasOutliers = 0x80;

int BaseShift(int width) { return std::max(0, width - kBaseBits); }
uint64_t Mask(int width) { return (uint64_t{1} << width) - 1; }

struct PieceShape {
  int width = 0;
  int64_t base_units = 0;  // the base is this, shifted left by BaseShift(width)
};

uint64_t Base(const PieceShape& shape) { return static_cast<uint64_t>(shape.base_units) << BaseShift(shape.width); }

uint64_t VarintBytes(uint64_t value) { return static_cast<uint64_t>(std::bit_width(value | 1) + 6) / 7; }

// Estimated bits of a piece: outliers and the base go through zstd, which saves little of them.
uint64_t Cost(std::span<const uint64_t> values, const PieceShape& shape) {
  const uint64_t base = Base(shape);
  uint64_t outlier_bytes = 0;
  for (const uint64_t v : values) {
    const uint64_t high = (v - base) >> shape.width;
    if (high != 0) outlier_bytes += 1 + VarintBytes(high);
  }
  if (outlier_bytes > 0) ++outlier_bytes;
  const uint64_t base_bytes = VarintBytes(ZigZag(shape.base_units));
  return values.size() * static_cast<uint64_t>(shape.width) + 8 * (outlier_bytes + base_bytes);
}

PieceShape Choose(std::span<const uint64_t> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end(), [](uint64_t a, uint64_t b) {
    return static_cast<int64_t>(a) < static_cast<int64_t>(b);
  });
  const auto smallest = static_cast<int64_t>(*least);
  const int top = std::min(kMaxWidth, static_cast<int>(std::bit_width(*most - *least)) + 1);
  PieceShape best;
  uint64_t best_cost = std::numeric_limits<uint64_t>::max();
  for (int width = 0; width <= top; ++width) {
    const PieceShape shape{width, smallest >> BaseShift(width)};
    const uint64_t cost = Cost(values, shape);
    if (cost < best_cost) {
      best = shape;
      best_cost = cost;
    }
  }
  return best;
}

// Little-endian 8-byte load from any address.
uint64_t Load64(const char* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
  return value;
}

}  // namespace

int64_t ColumnWriter::PutScale(std::span<const int64_t> values) {
  uint64_t scale = 0;
  for (const int64_t v : values) {
    scale = std::gcd(scale, v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
    if (scale == 1) break;
  }
  if (scale == 0 || scale > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) scale = 1;
  AppendVarint(&out_.heads, scale);
  return static_cast<int64_t>(scale);
}

void ColumnWriter::Rows(std::span<const int64_t> values, std::span<const uint32_t> row_lengths) {
  if (values.empty()) return;
  const int64_t scale = PutScale(values);
  for (size_t length : row_lengths) {
    while (length > 0) {
      const size_t count = std::min(length, kPieceLength);
      PutPiece(values.first(count), scale);
      values = values.subspan(count);
      length -= count;
    }
  }
}

void ColumnWriter::Row(std::span<const int64_t> values) {
  const auto length = static_cast<uint32_t>(values.size());
  Rows(values, std::span(&length, 1));
}

void ColumnWriter::Plain(std::span<const int64_t> values) {
  if (values.empty()) return;
  const int64_t scale = PutScale(values);
  for (const int64_t v : values) AppendVarint(&out_.heads, ZigZag(v / scale));
}

void ColumnWriter::PutPiece(std::span<const int64_t> values, int64_t scale) {
  std::array<uint64_t, kPieceLength> buffer;
  std::transform(values.begin(), values.end(), buffer.begin(),
                 [scale](int64_t v) { return static_cast<uint64_t>(v / scale); });
  const std::span<const uint64_t> scaled(buffer.data(), values.size());
  const PieceShape shape = Choose(scaled);
  const uint64_t base = Base(shape);
  std::string outliers;
  uint64_t outlier_count = 0;
  std::array<uint64_t, kPieceLength> packed;
  for (size_t i = 0; i < scaled.size(); ++i) {
    const uint64_t offset = scaled[i] - base;
    packed[i] = offset & Mask(shape.width);
    if (offset >> shape.width == 0) continue;
    outliers.push_back(static_cast<char>(i));
    AppendVarint(&outliers, offset >> shape.width);
    ++outlier_count;
  }
  PutValues(std::span(packed).first(scaled.size()), shape.width);
  out_.widths.push_back(static_cast<char>(shape.width | (outlier_count > 0 ? kHasOutliers : 0)));
  AppendVarint(&out_.heads, ZigZag(shape.base_units));
  if (outlier_count == 0) return;
  AppendVarint(&out_.heads, outlier_count);
  out_.heads += outliers;
}

void ColumnWriter::PutValues(std::span<const uint64_t> values, int width) {
  const int low = width >= kSplitWidth ? width - kTopBits : width;
  for (const uint64_t v : values) PutBits(v & Mask(low), low);
  if (low == width) return;
  for (size_t i = 0; i < values.size(); i += 2) {
    const uint64_t second = i + 1 < values.size() ? values[i + 1] >> low : 0;
    out_.tops.push_back(static_cast<char>(values[i] >> low | second << kTopBits));
  }
}

void ColumnWriter::PutBits(uint64_t value, int width) {
  pending_ |= value << pending_bits_;  // width <= 56 and fewer than 8 bits pend
  pending_bits_ += width;
  while (pending_bits_ >= 8) {
    out_.bits.push_back(static_cast<char>(pending_));
    pending_ >>= 8;
    pending_bits_ -= 8;
  }
}

ColumnStreams ColumnWriter::Take() {
  if (pending_bits_ > 0) out_.bits.push_back(static_cast<char>(pending_));
  pending_ = 0;
  pending_bits_ = 0;
  out_.bits.append(kBitPadding, '\0');
  return std::exchange(out_, {});
}

ColumnReader::ColumnReader(std::string_view widths, std::string_view heads, std::string_view tops,
                           std::string_view bits)
    : widths_(widths), heads_(heads), tops_(tops), bits_(bits.data()) {
  failed_ = bits.size() < kBitPadding;
  if (!failed_) bit_end_ = (bits.size() - kBitPadding) * 8;
}

void ColumnReader::Rows(std::span<const uint32_t> row_lengths, std::span<int64_t> out) {
  if (out.empty() || failed()) return;
  const uint64_t scale = heads_.Varint();
  int64_t* next = out.data();
  for (size_t length : row_lengths) {
    while (length > 0) {
      const size_t count = std::min(length, kPieceLength);
      if (!Piece(count, next)) {
        failed_ = true;
        return;
      }
      next += count;
      length -= count;
    }
  }
  Multiply(out, static_cast<int64_t>(scale));
}

void ColumnReader::Row(std::span<int64_t> out) {
  const auto length = static_cast<uint32_t>(out.size());
  Rows(std::span(&length, 1), out);
}

void ColumnReader::Plain(std::span<int64_t> out) {
  if (out.empty() || failed()) return;
  const uint64_t scale = heads_.Varint();
  for (int64_t& v : out) v = heads_.SignedVarint();
  Multiply(out, static_cast<int64_t>(scale));
}

void ColumnReader::Multiply(std::span<int64_t> values, int64_t scale) {
  if (scale == 1) return;
  for (int64_t& v : values) v = static_cast<int64_t>(static_cast<uint64_t>(v) * static_cast<uint64_t>(scale));
}

bool ColumnReader::Piece(size_t count, int64_t* out) {
  if (widths_.empty()) return false;
  const auto head = static_cast<uint8_t>(widths_.front());
  widths_.remove_prefix(1);
  const int width = head & 0x7F;
  if (width > kMaxWidth) return false;
  const uint64_t base = static_cast<uint64_t>(heads_.SignedVarint()) << BaseShift(width);
  if (!Values(count, width, base, out)) return false;
  return (head & kHasOutliers) == 0 || Outliers(count, width, out);
}

bool ColumnReader::Values(size_t count, int width, uint64_t base, int64_t* out) {
  const int low = width >= kSplitWidth ? width - kTopBits : width;
  if (low == 0) {  // nothing varies
    std::fill_n(out, count, static_cast<int64_t>(base));
    return true;
  }
  if (bit_end_ - bit_ < count * static_cast<uint64_t>(low)) return false;
  const uint64_t mask = Mask(low);
  uint64_t bit = bit_;
  for (size_t i = 0; i < count; ++i, bit += static_cast<uint64_t>(low)) {
    out[i] = static_cast<int64_t>(base + ((Load64(bits_ + bit / 8) >> (bit % 8)) & mask));
  }
  bit_ = bit;
  if (low == width) return true;
  const size_t bytes = (count + 1) / 2;
  if (tops_.size() < bytes) return false;
  const std::string_view tops = tops_.substr(0, bytes);
  tops_.remove_prefix(bytes);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t top = static_cast<uint8_t>(tops[i / 2]) >> (i % 2 * kTopBits) & Mask(kTopBits);
    out[i] = static_cast<int64_t>(static_cast<uint64_t>(out[i]) + (top << low));
  }
  return true;
}

bool ColumnReader::Outliers(size_t count, int width, int64_t* out) {
  for (uint64_t left = heads_.Varint(); left > 0; --left) {
    const uint64_t at = heads_.Varint();
    const uint64_t high = heads_.Varint();
    if (!heads_.ok() || at >= count) return false;
    out[at] = static_cast<int64_t>(static_cast<uint64_t>(out[at]) + (high << width));
  }
  return true;
}

bool ColumnReader::AtEnd() const { return widths_.empty() && heads_.empty() && tops_.empty() && bit_end_ - bit_ < 8; }

}  // namespace headway::pattern::hwp
