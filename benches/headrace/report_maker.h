// Draws a page by the Python package that headrace ships.
#pragma once

#include <string>

namespace headrace::cli {

/// What came of drawing a page: the file, or why there is none.
struct Drawn {
  std::string file;  // "" = none
  std::string reason;
  bool bad_run = false;  // the data file is not good: the user's to mend
};

/// Runs the report maker on run.json, comparison.json... Never throws:
/// what was measured is good without its page.
Drawn draw_report(const std::string& data, const std::string& file);

/// The same for a line of output: the page, or "not drawn: " and why.
std::string drawn_or_told(const std::string& data, const std::string& file);

}  // namespace headrace::cli
