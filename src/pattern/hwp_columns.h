// SPDX-License-Identifier: Apache-2.0
// Columns of integers as a .hwp file packs them: short rows of like numbers, each as its smallest value plus the rest
// in as few bits as the row needs, outliers apart (docs/hwp-format.md, "Columns"). Jitter cannot be predicted, only
// stored in no more bits than it has; a byte-wise code would waste half a byte of every number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/varint.h"

namespace headway::pattern::hwp {

// A row longer than this is cut into pieces of this length (the last one shorter).
inline constexpr size_t kPieceLength = 32;
inline constexpr int kMaxWidth = 56;  // bits of a packed value; the rest of a larger one is an outlier's
// The first four bits of values at least this wide go into a stream of their own, two in a byte: within the span of its
// row a jittering number is near the middle, which zstd turns into half a bit less.
inline constexpr int kSplitWidth = 5;
inline constexpr int kTopBits = 4;
inline constexpr size_t kBitPadding = 8;  // zero bytes behind the bits, so that any value is one 8-byte load

// The byte streams that all columns of a rank are written to, one after the other.
struct ColumnStreams {
  std::string widths;  // one byte a piece
  std::string heads;   // scales, smallest values, outliers
  std::string tops;    // first bits of wide values
  std::string bits;    // packed values, least significant bit first
};

class ColumnWriter {
 public:
  // Values row by row; the row lengths add up to values.size(). Differences may wrap: any int64 comes back.
  void Rows(std::span<const int64_t> values, std::span<const uint32_t> row_lengths);
  void Row(std::span<const int64_t> values);
  // One number after the other, for columns whose neighbours have nothing in common.
  void Plain(std::span<const int64_t> values);

  // Closes the bit stream. The writer is then empty.
  [[nodiscard]] ColumnStreams Take();

 private:
  int64_t PutScale(std::span<const int64_t> values);
  void PutPiece(std::span<const int64_t> values, int64_t scale);
  void PutValues(std::span<const uint64_t> values, int width);
  void PutBits(uint64_t value, int width);

  ColumnStreams out_;
  uint64_t pending_ = 0;  // bits not yet in out_.bits
  int pending_bits_ = 0;
};

// Reads columns back in the order they were written. Hostile streams end in failed(); nothing is read past their ends,
// and what has been written to `out` then means nothing.
class ColumnReader {
 public:
  ColumnReader(std::string_view widths, std::string_view heads, std::string_view tops, std::string_view bits);

  // out.size() is the sum of the row lengths.
  void Rows(std::span<const uint32_t> row_lengths, std::span<int64_t> out);
  void Row(std::span<int64_t> out);
  void Plain(std::span<int64_t> out);

  // Zero-bit pieces hold 32 values a byte: the most values that what is left of the streams can hold.
  [[nodiscard]] uint64_t MostValues() const { return widths_.size() * kPieceLength; }
  [[nodiscard]] bool failed() const { return failed_ || !heads_.ok(); }
  [[nodiscard]] bool AtEnd() const;

 private:
  bool Piece(size_t count, int64_t* out);
  bool Values(size_t count, int width, uint64_t base, int64_t* out);
  bool Outliers(size_t count, int width, int64_t* out);
  static void Multiply(std::span<int64_t> values, int64_t scale);

  std::string_view widths_;
  VarintReader heads_;
  std::string_view tops_;
  const char* bits_;
  uint64_t bit_ = 0;
  uint64_t bit_end_ = 0;
  bool failed_ = false;
};

}  // namespace headway::pattern::hwp
