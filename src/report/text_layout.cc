// SPDX-License-Identifier: Apache-2.0
#include "report/text_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace headway::report {
namespace {

constexpr int kNarrowest = 6;  // of a text column that gives way
constexpr std::string_view kColumnGap = "  ";

// The longest beginning of `text` of at most `width` columns, in bytes; at least one character.
size_t BytesThatFit(std::string_view text, int width) {
  size_t at = 0;
  int used = 0;
  while (at < text.size()) {
    const Utf8Step step = DecodeUtf8(text.substr(at));
    used += CodePointWidth(step.code);
    if (used > width && at > 0) break;
    at += step.length;
  }
  return at;
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

int LineWidth(const std::vector<int>& widths) {
  int total = -static_cast<int>(kColumnGap.size());
  for (const int wide : widths) total += wide + static_cast<int>(kColumnGap.size());
  return total;
}

void StripLineEnds(std::string* text) {
  while (!text->empty() && text->back() == ' ') text->pop_back();
}

}  // namespace

std::vector<std::string> WrapWords(std::string_view text, int width) {
  const std::string clean = Printable(text);
  std::vector<std::string> lines(1);
  int used = 0;
  for (std::string_view word : SplitWords(clean)) {
    while (!word.empty()) {
      const int wide = DisplayWidth(word);
      const int gap = lines.back().empty() ? 0 : 1;
      if (used + gap + wide <= width) {
        lines.back().append(static_cast<size_t>(gap), ' ').append(word);
        used += gap + wide;
        break;
      }
      if (!lines.back().empty()) {
        lines.emplace_back();
        used = 0;
        continue;
      }
      const size_t bytes = BytesThatFit(word, width);
      lines.back().append(word.substr(0, bytes));
      used = width;
      word.remove_prefix(bytes);
    }
  }
  return lines;
}

std::string Hanging(std::string_view first, std::string_view text, int width) {
  const int indent = DisplayWidth(first);
  std::string out;
  for (const std::string& line : WrapWords(text, std::max(10, width - indent))) {
    std::string whole = (out.empty() ? std::string(first) : std::string(static_cast<size_t>(indent), ' ')) + line;
    StripLineEnds(&whole);
    out.append(whole).append("\n");
  }
  return out;
}

std::string FlowPieces(std::string_view first, const std::vector<std::string>& pieces, std::string_view gap,
                       int width) {
  const int indent = DisplayWidth(first);
  std::string out(first);
  int used = indent;
  for (const std::string& piece : pieces) {
    const int wide = DisplayWidth(piece);
    const bool starts = used == indent;
    if (!starts && used + DisplayWidth(gap) + wide > width) {
      out.append("\n").append(static_cast<size_t>(indent), ' ');
      used = indent;
    } else if (!starts) {
      out.append(gap);
      used += DisplayWidth(gap);
    }
    if (wide <= width - indent) {
      out.append(piece);
      used += wide;
      continue;
    }
    // A piece that no line can hold is broken between its words.
    const std::vector<std::string> lines = WrapWords(piece, std::max(10, width - indent));
    for (const std::string& line : lines) {
      if (&line != &lines.front()) out.append("\n").append(static_cast<size_t>(indent), ' ');
      out.append(line);
    }
    used = indent + DisplayWidth(lines.back());
  }
  StripLineEnds(&out);
  return out + "\n";
}

std::string BlockBar(double share, int cells) {
  static constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0)) return {};
  const auto eighths = static_cast<size_t>(std::max(1.0, std::round(std::min(share, 1.0) * cells * 8)));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar.append(kEighths[eighths % 8]);
}

std::vector<int> TextTable::Widths(Titles titles) const {
  std::vector<int> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    int wide = columns[c].numeric && titles == Titles::kWrapped ? 0 : DisplayWidth(columns[c].title);
    for (std::string_view word : SplitWords(columns[c].title)) wide = std::max(wide, DisplayWidth(word));
    for (const auto& row : rows) wide = std::max(wide, DisplayWidth(row[c]));
    widths.push_back(wide);
  }
  return widths;
}

int TextTable::NaturalWidth() const { return LineWidth(Widths(Titles::kWhole)); }

std::vector<int> TextTable::FitWidths(int width) const {
  std::vector<int> widths = Widths(Titles::kWhole);
  if (LineWidth(widths) <= width) return widths;
  widths = Widths(Titles::kWrapped);
  for (int over = LineWidth(widths) - width; over > 0; --over) {
    size_t widest = columns.size();
    for (size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].numeric || widths[c] <= kNarrowest) continue;
      if (widest == columns.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns.size()) break;  // numbers are never cut
    --widths[widest];
  }
  return widths;
}

std::string TextTable::Records(int width, std::string_view indent) const {
  std::string out;
  for (const auto& row : rows) {
    std::vector<std::string> pieces;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (row[c].empty() || row[c] == "-") continue;
      const std::string title = pieces.empty() || columns[c].title.empty() ? "" : columns[c].title + " ";
      pieces.push_back(title + TruncateMiddle(row[c], 2 * width));
    }
    out += FlowPieces(std::string(indent) + "- ", pieces, kColumnGap, width);
  }
  return out;
}

std::string TextTable::Render(int width, std::string_view indent) const {
  const std::vector<int> widths = FitWidths(width - DisplayWidth(indent));
  if (LineWidth(widths) > width - DisplayWidth(indent)) return Records(width, indent);
  std::string out;
  const auto line = [&](auto cell) {
    std::string text(indent);
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text += kColumnGap;
      const std::string shown = columns[c].numeric ? cell(c) : TruncateMiddle(cell(c), std::max(1, widths[c]));
      text += columns[c].numeric ? PadLeft(shown, widths[c]) : PadRight(shown, widths[c]);
    }
    StripLineEnds(&text);
    out += text + "\n";
  };
  std::vector<std::vector<std::string>> titles;
  size_t lines = 1;
  for (size_t c = 0; c < columns.size(); ++c) {
    titles.push_back(columns[c].numeric ? WrapWords(columns[c].title, std::max(1, widths[c]))
                                        : std::vector{columns[c].title});
    lines = std::max(lines, titles.back().size());
  }
  // Titles of fewer lines stand on the last ones.
  for (size_t i = 0; i < lines; ++i) {
    line([&](size_t c) { return i + titles[c].size() < lines ? "" : titles[c][i + titles[c].size() - lines]; });
  }
  for (const auto& row : rows) line([&](size_t c) { return row[c]; });
  return out;
}

std::string ToAscii(std::string_view text) {
  static constexpr std::pair<char32_t, std::string_view> kLikeness[] = {
      {U'█', "#"}, {U'▉', "#"}, {U'▊', "#"}, {U'▋', "#"},  {U'▌', "#"},  {U'▍', " "}, {U'▎', " "},
      {U'▏', " "}, {U'░', "."}, {U'▒', "-"}, {U'▓', "="},  {U'…', "~"},  {U'–', "-"}, {U'—', "-"},
      {U'→', ">"}, {U'×', "x"}, {U'µ', "u"}, {U'·', "-"},  {U'▲', "^"},  {U'△', "v"}, {U'▽', "v"},
      {U'○', "o"}, {U'’', "'"}, {U'‘', "'"}, {U'“', "\""}, {U'”', "\""}, {U'−', "-"}, {U' ', " "},
  };
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    text.remove_prefix(step.length);
    if (step.code < 0x80) {
      out.push_back(static_cast<char>(step.code));
      if (step.code == '\n' && out.size() > 1) {
        out.pop_back();
        StripLineEnds(&out);
        out.push_back('\n');
      }
      continue;
    }
    const auto* known = std::ranges::find(kLikeness, step.code, &std::pair<char32_t, std::string_view>::first);
    out.append(known != std::end(kLikeness)
                   ? known->second
                   : std::string_view("?????", static_cast<size_t>(std::clamp(CodePointWidth(step.code), 0, 2))));
  }
  return out;
}

}  // namespace headway::report
