// SPDX-License-Identifier: Apache-2.0
// Lines of a terminal: wrapping, bars, tables that fit. Widths are terminal columns (base/text.h), not bytes. Input may
// be anything a trace holds; what goes through here comes out printable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headway::report {

// Words of `text` in lines of at most `width` columns, never empty. A word wider than a line is cut.
[[nodiscard]] std::vector<std::string> WrapWords(std::string_view text, int width);

// `text` wrapped behind `first` (a label) and, on further lines, as many spaces as `first` is wide.
[[nodiscard]] std::string Hanging(std::string_view first, std::string_view text, int width);

// Pieces that stay whole where a line can hold them, `gap` apart, over as many lines as needed, behind a label as in
// Hanging.
[[nodiscard]] std::string FlowPieces(std::string_view first, const std::vector<std::string>& pieces,
                                     std::string_view gap, int width);

// A bar of `share` (0..1) of `cells`, in eighths of a cell, without padding; at least a sliver where share > 0.
[[nodiscard]] std::string BlockBar(double share, int cells);

// A table of finished cells. Numeric columns end right, others start left. Where the lines would be wider than `width`,
// titles of numeric columns wrap; where that is not enough, the widest text columns give way, cut in the middle. Where
// even that is too wide, each row becomes a few lines in which every cell has its title before it.
struct TextTable {
  struct Column {
    std::string title;
    bool numeric = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;

  [[nodiscard]] std::string Render(int width, std::string_view indent) const;
  // Of its lines where nothing gives way.
  [[nodiscard]] int NaturalWidth() const;

 private:
  enum class Titles : uint8_t { kWhole, kWrapped };
  [[nodiscard]] std::vector<int> Widths(Titles titles) const;
  [[nodiscard]] std::vector<int> FitWidths(int width) const;
  [[nodiscard]] std::string Records(int width, std::string_view indent) const;
};

// What a terminal without UTF-8 can show: known signs by their likeness ("█" is "#", "…" is "..."), others "?".
[[nodiscard]] std::string ToAscii(std::string_view text);

}  // namespace headway::report
