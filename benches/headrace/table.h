// A table as wide as the terminal. Where columns do not fit, each row has lines of its own.
#pragma once

#include <string>
#include <vector>

#include "benches/headrace/terminal.h"

namespace headrace::cli {

class Table {
 public:
  struct Column {
    Text head = {};
    bool right = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// A cell for each column; the first names the row.
  void row(std::vector<Text> cells) { rows_.push_back({std::move(cells), {}}); }
  /// Below the row before, wrapped and moved right.
  void remark(const Text& text) { rows_.back().remarks.push_back(text); }

  Text text(const Terminal& terminal) const;

 private:
  struct Row {
    std::vector<Text> cells;
    std::vector<Text> remarks;
  };
  Text aligned(const Row& row, const std::vector<std::size_t>& widths) const;
  Text stacked(const Row& row, std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace headrace::cli
