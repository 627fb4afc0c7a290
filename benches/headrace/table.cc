#include "benches/headrace/table.h"

#include <algorithm>

namespace headrace::cli {
namespace {

constexpr std::size_t kTableIndent = 4;

std::size_t table_width(const Terminal& terminal) { return static_cast<std::size_t>(std::max(terminal.width(), 30)); }

}  // namespace

Text Table::text(const Terminal& terminal) const {
  const std::size_t width = table_width(terminal);
  std::vector<std::size_t> widths;
  Row heads;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = columns(columns_[c].head);
    for (const Row& row : rows_) widest = std::max(widest, columns(row.cells[c]));
    widths.push_back(widest);
    heads.cells.push_back(columns_[c].head);
  }
  std::size_t all = 2 * (widths.size() - 1);
  for (const std::size_t one : widths) all += one;
  const bool fits = all <= width;
  Text out;
  if (fits) out += terminal.paint(aligned(heads, widths), Ink::strong) + "\n";
  for (const Row& row : rows_) {
    out += fits ? aligned(row, widths) + "\n" : stacked(row, width);
    for (const Text& remark : row.remarks)
      out +=
          pad("", kTableIndent) + terminal.paint(wrap(remark, width - kTableIndent, kTableIndent), Ink::faint) + "\n";
  }
  return out;
}

Text Table::aligned(const Row& row, const std::vector<std::size_t>& widths) const {
  Text line;
  std::size_t reported = row.cells.size();
  while (reported > 1 && row.cells[reported - 1].empty()) --reported;
  for (std::size_t c = 0; c < reported; ++c) {
    if (c > 0) line += "  ";
    const bool last = c + 1 == reported && !columns_[c].right;  // no blanks at the end of a line
    line += last ? row.cells[c] : pad(row.cells[c], widths[c], columns_[c].right);
  }
  return line;
}

Text Table::stacked(const Row& row, std::size_t width) const {
  Text out = row.cells.front() + "\n", line;
  const auto end_line = [&] {
    const std::size_t room = width - kTableIndent;
    out += pad("", kTableIndent) + (columns(line) > room ? wrap(line, room, kTableIndent + 2) : line) + "\n";
  };
  for (std::size_t c = 1; c < row.cells.size(); ++c) {
    if (row.cells[c].empty()) continue;
    const Text pair = columns_[c].head.empty() ? row.cells[c] : columns_[c].head + " " + row.cells[c];
    if (!line.empty() && kTableIndent + columns(line) + 2 + columns(pair) > width) {
      end_line();
      line = "";
    }
    line += line.empty() ? pair : "  " + pair;
  }
  if (!line.empty()) end_line();
  return out;
}

}  // namespace headrace::cli
